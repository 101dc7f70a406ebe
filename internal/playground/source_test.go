package playground_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/testkit"
)

// frames returns all frames of a run from the given time on.
func frames(t *testing.T, settings []string, past []playground.Phase,
	from float64) []playground.Frame {
	t.Helper()
	stage, err := playground.NewStage(settings, past)
	testkit.OK(t, err)
	testkit.OK(t, stage.Skip(from))
	all, err := stage.Next(1 << 20)
	testkit.OK(t, err)
	return all
}

// A stage that begins in the middle shows the same steps as one that begins at the start.
func TestSkippedStageShowsTheSameSteps(t *testing.T) {
	settings := []string{"workload.rate=30/s", "workload.duration=10s", "memory.tokens=6000"}
	past := []playground.Phase{{Until: 2000, Settings: []string{"workload.rate=2/s",
		"workload.duration=10s"}}}
	whole := frames(t, settings, past, 0)
	part := frames(t, settings, past, 5000)
	if len(part) == 0 || part[0].To < 5000 || len(part) > len(whole) {
		t.Fatalf("%d of %d frames are left", len(part), len(whole))
	}
	if d := cmp.Diff(whole[len(whole)-len(part):], part); d != "" {
		t.Error(d)
	}
	if end := whole[len(whole)-len(part)-1].To; end >= 5000 {
		t.Errorf("a frame that ends at %v ms is left out", end)
	}
}

// Until a phase ends, requests come by its settings, to the tick; afterwards they come by the
// settings that follow, and the run is no longer than the scenario says.
func TestPhasesFollowEachOther(t *testing.T) {
	slow := []string{"workload.rate=2/s", "workload.duration=10s"}
	fast := []string{"workload.rate=40/s", "workload.duration=10s"}
	arrived := func(list []playground.Frame) map[int64]float64 {
		all := map[int64]float64{}
		for _, f := range list {
			for _, r := range f.Running {
				all[r.ID] = r.Arrived
			}
		}
		return all
	}
	before := arrived(frames(t, slow, nil, 0))
	both := arrived(frames(t, fast, []playground.Phase{{Until: 4000, Settings: slow}}, 0))
	early, late := 0, 0
	for id, at := range both {
		switch {
		case at <= 4000:
			early++
			if before[id] != at {
				t.Errorf("request %d comes at %v ms, and at %v without the change", id, at,
					before[id])
			}
		case at > 10000:
			t.Errorf("request %d comes at %v ms, after the end", id, at)
		default:
			late++
		}
	}
	if early < 2 || late < 20*early {
		t.Errorf("%d requests come in 4 s at 2/s, and %d in 6 s at 40/s", early, late)
	}
	again := arrived(frames(t, slow, []playground.Phase{{Until: 4000, Settings: slow}}, 0))
	if len(again) < 8 {
		t.Errorf("%d requests in 10 s at 2/s", len(again))
	}
	_, err := playground.NewStage(fast, []playground.Phase{{Until: 2, Settings: slow}, {Until: 2}})
	if err == nil {
		t.Error("two phases end at the same time")
	}
}

// The overview has the length of the run, and shows the queue of a server that is asked for more
// than it can do.
func TestOverviewShowsTheWholeRun(t *testing.T) {
	settings := []string{"workload.rate=100/s", "batching.max-sequences=16"}
	o, err := playground.NewOverview(t.Context(), settings, nil)
	testkit.OK(t, err)
	all := frames(t, settings, nil, o.Ends-1000)
	if last := all[len(all)-1].To; last != o.Ends {
		t.Errorf("the run ends at %v ms, the overview at %v", last, o.Ends)
	}
	if n := len(o.Points); n < 100 || n > 480 {
		t.Errorf("%d points", n)
	}
	most := playground.Point{}
	for i, p := range o.Points {
		if i > 0 && p.At <= o.Points[i-1].At {
			t.Fatalf("%v ms comes after %v", p.At, o.Points[i-1].At)
		}
		if p.Waiting > most.Waiting {
			most = p
		}
	}
	if most.Running != 16 || most.Waiting < 1000 {
		t.Errorf("the queue is longest at %+v", most)
	}
}
