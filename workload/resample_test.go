package workload_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/trace"
)

// resampled reads all that a trace in parts sends.
func resampled(t testkit.Test, config workload.Config) ([]sim.Request, error) {
	source, err := workload.Open(config)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	var list []sim.Request
	for source.NextArrival() != sim.Never {
		var q sim.Request
		source.Next(&q)
		q.Content = slices.Clone(q.Content)
		list = append(list, q)
	}
	if counts := source.Counts(); counts.Requests != int64(len(list)) {
		t.Fatal("counted", counts.Requests, "requests of", len(list))
	}
	return list, source.Err()
}

// Each part of a resampled trace is one that was recorded, at its time within the part; as many are
// played as there are, the same ones for the same seed, and the texts of a part that is played
// again are new.
func TestPartsAreThoseRecorded(t *testing.T) {
	const part = 100 // seconds
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "parts")
		file := &strings.Builder{}
		file.WriteString("arrival_s,prompt_tokens,output_tokens,prefix,prefix_tokens\n")
		recorded := make([][]int, n) // arrivals within each part
		for k := range n {
			at := rapid.SliceOfN(rapid.IntRange(0, part-1), 0, 5).Draw(t, "arrivals")
			if k == 0 || k == n-1 { // the trace begins and ends in them
				at = append(at, 0, part-1)
			}
			slices.Sort(at)
			recorded[k] = at
			for _, s := range at { // the prompt tells the part, the output the time
				fmt.Fprintf(file, "%d,%d,%d,%d,1\n", k*part+s, k+1, s+1, k+1)
			}
		}
		config := workload.Config{Seed: rapid.Uint64().Draw(t, "seed"),
			Trace: &workload.Trace{Path: "t.csv", Part: part * sim.Second,
				Options: trace.Options{FS: fstest.MapFS{"t.csv": {Data: []byte(file.String())}},
					Speed: rapid.SampledFrom([]float64{0, 2}).Draw(t, "speed")}}}
		list, err := resampled(t, config)
		if errors.Is(err, trace.ErrNoneLeft) && len(list) == 0 {
			return // only empty parts were drawn
		}
		testkit.OK(t, err)
		speed := sim.Time(max(1, config.Trace.Speed))
		played := make([][]sim.Request, n)
		for _, q := range list {
			place := int(q.Arrival * speed / (part * sim.Second))
			played[place] = append(played[place], q)
		}
		texts := map[uint64]int{}
		for place, requests := range played {
			if len(requests) == 0 {
				continue
			}
			k := requests[0].Prompt - 1
			var at []int
			for _, q := range requests {
				if q.Prompt != k+1 ||
					q.Arrival*speed != sim.Time(place*part+q.Output-1)*sim.Second {
					t.Fatalf("%v is not of part %d, which plays %d-th", q, k, place)
				}
				at = append(at, q.Output-1)
				if before, known := texts[q.Content[0].ID]; known && before != place {
					t.Fatalf("text %d is in the %d-th and in the %d-th part", q.Content[0].ID,
						before, place)
				}
				texts[q.Content[0].ID] = place
			}
			if !slices.Equal(at, recorded[k]) {
				t.Fatalf("part %d has requests at %v, played were %v", k, recorded[k], at)
			}
		}
		again, err := resampled(t, config)
		if fmt.Sprint(list) != fmt.Sprint(again) || err != nil {
			t.Fatalf("the same seed sends other requests: %v", err)
		}
	})
}

// Every part is drawn as often as others, over seeds.
func TestPartsAreDrawnEvenly(t *testing.T) {
	file := "arrival_s,prompt_tokens,output_tokens\n0,1,1\n150,2,1\n299,3,1\n"
	drawn := [4]float64{}
	const seeds = 600
	for seed := range uint64(seeds) {
		list, err := resampled(t, workload.Config{Seed: seed, Trace: &workload.Trace{Path: "t.csv",
			Part:    100 * sim.Second,
			Options: trace.Options{FS: fstest.MapFS{"t.csv": {Data: []byte(file)}}}}})
		if err != nil || len(list) != 3 {
			t.Fatal(list, err)
		}
		for _, q := range list {
			drawn[q.Prompt]++
		}
	}
	for k := 1; k <= 3; k++ { // binomial: 1800 draws, a third each
		if math.Abs(drawn[k]-seeds) > 5*math.Sqrt(1800*2.0/9) {
			t.Errorf("part %d is drawn %g times of 1800", k, drawn[k])
		}
	}
}

// Parts that cannot be drawn are refused with what is allowed.
func TestPartsThatCannotBeDrawn(t *testing.T) {
	file := "arrival_s,prompt_tokens,output_tokens\n0,1,1\n150,2,1\n299,3,1\n"
	for _, c := range []struct {
		part sim.Time
		want string
	}{
		{-1, "above 0"},
		{200 * sim.Second, "choose shorter parts"},
		{sim.Second / 10, "choose longer parts"},
	} {
		_, err := workload.Open(workload.Config{Trace: &workload.Trace{Path: "t.csv", Part: c.part,
			Options: trace.Options{FS: fstest.MapFS{"t.csv": {Data: []byte(file)}}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("parts of %v: error %v, want %q in it", c.part, err, c.want)
		}
	}
}

// The parts of a slice of a trace are the parts of a trace that holds the slice alone.
func TestPartsOfASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, length := rapid.IntRange(0, 200).Draw(t, "from"), rapid.IntRange(200,
			500).Draw(t, "length")
		write := func(from, until int) string {
			text := "arrival_s,prompt_tokens,output_tokens\n"
			for at := from; at < until; at += 7 {
				text += fmt.Sprintf("%d,%d,1\n", at-from, at+1000)
			}
			return text
		}
		before := rapid.IntRange(0, 28).Draw(t, "rows before") * 7
		files := fstest.MapFS{"slice": {Data: []byte(write(from, from+length))},
			"whole": {Data: []byte(write(from-before, from+length+70))}}
		seed := rapid.Uint64().Draw(t, "seed")
		read := func(o trace.Options, path string) []sim.Request {
			o.FS = files
			list, err := resampled(t, workload.Config{Seed: seed, Trace: &workload.Trace{Path: path,
				Part: 70 * sim.Second, Options: o}})
			testkit.OK(t, err)
			return list
		}
		alone := read(trace.Options{}, "slice")
		cut := read(trace.Options{From: sim.Time(before) * sim.Second,
			For: sim.Time(length) * sim.Second}, "whole")
		if fmt.Sprint(alone) != fmt.Sprint(cut) {
			t.Fatalf("alone %v\ncut %v", alone, cut)
		}
	})
}
