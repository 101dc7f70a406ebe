package metrics

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// finished is a request with the given times in milliseconds.
func finished(class int, arrival, scheduled, first, last float64, prompt,
	output int) *sim.Sequence {
	ms := func(x float64) sim.Time { return sim.Seconds(x / 1000) }
	return &sim.Sequence{
		Request:   sim.Request{Class: class, Arrival: ms(arrival), Prompt: prompt, Output: output},
		Scheduled: ms(scheduled), FirstToken: ms(first), LastToken: ms(last), Generated: output,
		Latency: ms(1),
	}
}

// Two requests and a rejected one, by hand.
func TestSummaryByHand(t *testing.T) {
	slo := SLO{TTFT: 30 * sim.Millisecond, Share: 0.5}
	strict := SLO{TPOT: 5 * sim.Millisecond, Share: 0.9}
	c, err := New(Config{Classes: []Class{{Name: "chat"}, {Name: "code", SLO: strict, Tenant: 1}},
		Tenants: []string{"anna", "bert"}, SLO: slo})
	testkit.OK(t, err)
	c.Finished(finished(0, 0, 10, 19, 99, 100, 9)) // TTFT 20, TPOT 10, E2E 100
	code := finished(1, 100, 110, 139, 199, 50, 7) // TTFT 40, TPOT 10, E2E 100
	code.Tenant = 1
	c.Finished(code)
	c.Rejected(&sim.Request{Class: 1, Tenant: 1, Arrival: 150 * sim.Millisecond}, sim.TooLong)
	// of chat, sent by the other tenant
	c.Rejected(&sim.Request{Tenant: 1, Arrival: 160 * sim.Millisecond}, sim.Cancelled)
	end := 200 * sim.Millisecond
	got := c.Summary(&sim.Result{Ended: end, End: end, Replicas: []sim.ReplicaResult{{
		Busy: 100 * sim.Millisecond, Steps: 10, DecodeTokens: 14, Preemptions: 3, KVCapacity: 10,
	}, {Busy: 40 * sim.Millisecond}}})
	want := Summary{
		Service: Service{
			Endings: Endings{Completed: 2, Rejected: 1, Cancelled: 1}, TotalInputTokens: 150,
			TotalOutputTokens: 16, Duration: 0.2,
			Window: "from the start until the last request ended", OfferedRate: 3 / 0.16,
			RequestThroughput: 10, OutputThroughput: 80, TotalTokenThroughput: 830,
			Goodput: 5, // of chat: the other misses 5 ms a token
			Attainment: Attainment{TTFT: 2. / 4, TPOT: 1. / 4, E2E: 2. / 4, All: 1. / 4,
				Target: 0.5},
			Binds: "code: p90 TPOT", // 10 ms of 5, where chat has 20 ms of 30
		},
		KVHeld:      KVHeld{Input: 150 * 0.089, Output: 4.5*0.08 + 3.5*0.06},
		Phases:      &Phases{10, 19, 1, 70},
		Preemptions: 3, Steps: 10, MeanDecodeBatch: 1.4, Busy: 0.35,
	}
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"mean TTFT", got.MeanTTFT, 30}, {"median TTFT", got.MedianTTFT, 30},
		{"P99 TTFT", got.P99TTFT, 39.8}, {"std TTFT", *got.StdTTFT, 10},
		{"mean TPOT", got.MeanTPOT, 10}, {"mean E2E", got.MeanE2EL, 100},
		{"chat TTFT", got.Classes["chat"].MeanTTFT, 20},
	} {
		if math.Abs(f.got/f.want-1) > 2*requestAccuracy {
			t.Errorf("%s is %g ms, want %g", f.name, f.got, f.want)
		}
	}
	if strictly := got.Classes["code"]; strictly.Rejected != 1 || strictly.SLOMet ||
		!got.Classes["chat"].SLOMet || got.SLOMet {
		t.Errorf("classes: %+v", got.Classes)
	}
	anna, bert := got.Tenants["anna"], got.Tenants["bert"]
	if anna.Completed != 1 || anna.SLOMet != got.Classes["chat"].SLOMet ||
		anna.MeanTTFT != got.Classes["chat"].MeanTTFT || bert.SLOMet ||
		bert.Endings != (Endings{Completed: 1, Rejected: 1, Cancelled: 1}) ||
		bert.Attainment.Target != 0.9 {
		t.Errorf("tenants: %+v", got.Tenants)
	}
	got.Latencies, got.Classes, got.Tenants = Latencies{}, nil, nil
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	if n := c.Rejections()[sim.TooLong]; n != 1 {
		t.Errorf("%d requests rejected as too long, want 1", n)
	}
}

// The series is bounded, evenly spaced from the first moment on, and covers the run.
func TestSeriesIsBoundedAndEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 9).Draw(t, "limit")
		moments := rapid.IntRange(1, 200).Draw(t, "moments")
		s := newSeries(limit)
		for i := range moments {
			s.add(sim.Time(i), 0, sim.State{Waiting: i, Used: 1, Capacity: 4})
			s.add(sim.Time(i), 1, sim.State{Waiting: i, Used: 3, Capacity: 4})
		}
		s.close()
		if len(s.points) > limit || s.points[0].At != 0 {
			t.Fatalf("%d points of at most %d, from %d", len(s.points), limit, s.points[0].At)
		}
		for i, p := range s.points {
			if p.At != sim.Time(i*s.stride) || p.Waiting != 2*int(p.At) || p.KVUsage != 0.5 {
				t.Fatalf("stride %d, point %d: %+v", s.stride, i, p)
			}
		}
		if last := int(s.points[len(s.points)-1].At); moments-1-last >= s.stride {
			t.Fatalf("%d moments, stride %d, last point at %d", moments, s.stride, last)
		}
	})
}
