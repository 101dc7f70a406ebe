package scaling_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/sim"
)

// day sends requests whose rate follows a sine between 0 and peak requests a second, evenly.
type day struct {
	peak   float64
	length sim.Time
	at     sim.Time
	phase  float64
}

func (d *day) NextArrival() sim.Time {
	if d.at >= d.length {
		return sim.Never
	}
	return d.at
}

func (d *day) Next(r *sim.Request) {
	r.Arrival, r.Prompt, r.Output = d.at, 100, 1
	for due := math.Floor(d.phase) + 1; d.phase < due; d.at += sim.Millisecond {
		x := math.Sin(math.Pi * float64(d.at) / float64(d.length))
		d.phase += d.peak * x * x / 1000
		if d.at >= d.length {
			return
		}
	}
}

func (*day) Done(*sim.Request, sim.Time) {}
func (*day) Err() error                  { return nil }

type second struct{}

func (second) Duration(s *sim.Step) sim.Time { return sim.Second / 100 * sim.Time(s.Tokens()) }

// waits adds up the times to first token.
type waits struct {
	sim.NopObserver
	sum sim.Time
}

func (w *waits) Finished(s *sim.Sequence) { w.sum += s.TTFT() }

// serve runs a day on up to 20 replicas that each serve a request a second, and returns their time
// up and the mean wait, both in seconds.
func serve(t *testing.T, scaler sim.Scaler, cold sim.Time) (up, wait float64) {
	t.Helper()
	var seen waits
	c := sim.Config{Source: &day{peak: 12, length: 2000 * sim.Second},
		Router: routing.LeastRequests{}, Observer: &seen}
	for i := range 20 {
		s, err := batching.NewVLLMV1(1, 1000, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(1000, 16)
		testkit.OK(t, err)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: second{},
			ColdStart: cold, Off: scaler != nil && i > 0})
	}
	if scaler != nil {
		c.Scalings = []sim.Scaling{{Scaler: scaler, Every: 10 * sim.Second, Min: 1}}
	}
	r, err := sim.Run(context.Background(), c)
	testkit.OK(t, err)
	if r.Completed != r.Arrived || r.Arrived < 10000 {
		t.Fatalf("%+v", r)
	}
	for i := range r.Replicas {
		up += r.Replicas[i].Up.Seconds()
	}
	return up, seen.sum.Seconds() / float64(r.Completed)
}

// Through a day every scaler needs far fewer replicas than the peak, and still serves; and looking
// ahead by the cold start makes users wait less than reacting does.
func TestScalersFollowTheDay(t *testing.T) {
	made := func(s sim.Scaler, err error) sim.Scaler {
		testkit.OK(t, err)
		return s
	}
	const cold, keep = 120 * sim.Second, 60 * sim.Second
	fixed, _ := serve(t, nil, cold)
	reactive := func() sim.Scaler { return made(scaling.NewOutstanding(1.2, keep)) }
	for name, s := range map[string]sim.Scaler{
		"outstanding": reactive(), "queue": made(scaling.NewQueue(3, keep)),
		"utilization": made(scaling.NewUtilization(0.7, keep)),
		"forecast":    made(scaling.NewForecast(0.8, cold, keep, 0.3, 0.1)),
	} {
		if up, wait := serve(t, s, cold); up > 0.75*fixed || wait > 300 {
			t.Errorf("%s: %.0f replica-seconds, %.0f where all always run; mean wait %.1f s", name,
				up, fixed, wait)
		}
	}
	_, reacts := serve(t, reactive(), cold)
	_, foresees := serve(t, made(scaling.NewForecast(0.8, cold, keep, 0.3, 0.1)), cold)
	if foresees > reacts/2 {
		t.Errorf("mean wait %.1f s with a forecast, %.1f s without; want half at most", foresees,
			reacts)
	}
	if _, warm := serve(t, reactive(), 0); warm > reacts/2 {
		t.Errorf("mean wait %.1f s without cold starts, %.1f s with; want half at most", warm,
			reacts)
	}
}

// The slowest part of the way sets the pace of a cold start; without a source of weights there is
// none.
func TestColdStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bandwidth := rapid.Float64Range(1e6, 1e12)
		c := scaling.ColdStart{
			Boot:    sim.Time(rapid.Int64Range(0, 1e14).Draw(t, "boot")),
			Weights: rapid.Float64Range(1e6, 1e12).Draw(t, "weights"),
			Disk:    bandwidth.Draw(t, "disk"), Network: bandwidth.Draw(t, "network"),
			PCIe: bandwidth.Draw(t, "pcie"),
		}
		got, err := c.Time()
		if want := c.Boot + sim.Seconds(c.Weights/min(c.Disk, c.Network, c.PCIe)); err != nil ||
			got != want {
			t.Fatalf("%+v takes %v (%v), want %v", c, got, err, want)
		}
		for _, without := range []*float64{&c.Network, &c.Disk} { // one source is enough
			was := *without
			*without = 0
			if got, err := c.Time(); err != nil || got != c.Boot+
				sim.Seconds(c.Weights/min(max(c.Disk, c.Network), c.PCIe)) {
				t.Fatalf("%+v takes %v (%v)", c, got, err)
			}
			*without = was
		}
		c.Disk, c.Network = 0, 0
		if _, err := c.Time(); err == nil {
			t.Fatalf("%+v has no source of weights", c)
		}
	})
}

// The slowest part may be as slow as it likes.
func TestSlowColdStart(t *testing.T) {
	got, err := scaling.ColdStart{Boot: 5 * sim.Second, Weights: 3, Disk: 0.5, PCIe: 2}.Time()
	if err != nil || got != 11*sim.Second {
		t.Errorf("3 bytes at half a byte a second take %v (%v)", got, err)
	}
}

// A scaler refuses a target that is no positive finite number, and takes the smallest that is.
func TestTargetsArePositiveAndFinite(t *testing.T) {
	scalers := map[string]func(target float64) error{
		"outstanding": func(x float64) error { _, err := scaling.NewOutstanding(x, 0); return err },
		"queue":       func(x float64) error { _, err := scaling.NewQueue(x, 0); return err },
		"utilization": func(x float64) error { _, err := scaling.NewUtilization(x, 0); return err },
		"forecast": func(x float64) error {
			_, err := scaling.NewForecast(x, 0, 0, 1, 1)
			return err
		},
	}
	if scalers["utilization"](math.Nextafter(1, 2)) == nil {
		t.Error("a utilization above 1 is taken")
	}
	for name, scaler := range scalers {
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			if scaler(bad) == nil {
				t.Errorf("%s takes a target of %g", name, bad)
			}
		}
		for _, good := range []float64{math.SmallestNonzeroFloat64, 0.5, 1} {
			if err := scaler(good); err != nil {
				t.Errorf("%s refuses a target of %g: %v", name, good, err)
			}
		}
	}
}
