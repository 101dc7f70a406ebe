package calibration

import (
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// TestShapesRoundTrip takes every published size to the cost model and back, and counts its weights
// both ways. The catalogue's entry describes the same model.
func TestShapesRoundTrip(t *testing.T) {
	catalog, err := models.Load()
	testkit.OK(t, err)
	for _, shape := range gpt2.Shapes() {
		c, err := gpt2.ShapeConfig(shape)
		testkit.OK(t, err)
		back, err := GPT2(Architecture(shape, c))
		if err != nil || back != c {
			t.Errorf("%s: %v, %+v", shape, err, back)
		}
		if shape == "1558M" {
			shape = "1.5b"
		}
		known, err := catalog.Lookup("gpt-2-" + strings.ToLower(shape))
		testkit.OK(t, err)
		if back, err := GPT2(known); err != nil || back != c {
			t.Errorf("%s of the catalogue: %v, %+v", shape, err, back)
		}
	}
	llama, err := catalog.Lookup("llama-2-7b")
	testkit.OK(t, err)
	if _, err := GPT2(llama); err == nil || !strings.Contains(err.Error(), "is no GPT-2") {
		t.Errorf("llama: %v", err)
	}
	if _, err := Format(hardware.FP8); err == nil {
		t.Error("the engine has no fp8")
	}
}

// TestWatch measures rates with both stopwatches, and loads a model once.
func TestWatch(t *testing.T) {
	for threads := 1; threads <= 2; threads++ {
		m, err := NewMachine(threads, 1<<24)
		testkit.OK(t, err)
		before := m.Now()
		n := m.Watch().Stop()
		if m.Now() <= before {
			t.Error("the stopwatch stands still")
		}
		for _, r := range []Rates{n.Rates, n.Before, n.After} {
			if !(r.Bandwidth > 0 && r.FLOPRate > 0) {
				t.Errorf("rates %+v", n)
			}
		}
		if !(n.Others >= 0 && n.Others <= 1 && n.Stolen >= 0 && n.Stolen <= 1) {
			t.Errorf("%d threads: others had %g of the processors, a hypervisor %g", threads,
				n.Others, n.Stolen)
		}
		c := gpt2.DefaultConfig()
		c.Layers, c.Width, c.Heads, c.Inner, c.Vocab, c.Context = 1, 32, 2, 64, 97, 64
		first, err := m.Model(t.Context(), c, kernels.F32)
		testkit.OK(t, err)
		if again, err := m.Model(t.Context(), c, kernels.F32); err != nil || again != first {
			t.Errorf("loaded twice: %v", err)
		}
		testkit.OK(t, m.Close())
	}
}

// TestStolen reads the system's count.
func TestStolen(t *testing.T) {
	before := parseTicks("cpu  100 10 20 500 5 0 2 3 7 9\ncpu0 1 2 3\n")
	if before != (ticks{640, 505, 3}) {
		t.Errorf("%+v", before)
	}
	if stolen, used := parseTicks("cpu 160 10 20 515 10 0 2 23 7 9\n").since(
		before); stolen != 0.2 || math.Abs(used-0.6) > 1e-12 {
		t.Errorf("%g stolen and %g used, want 0.2 and 0.6", stolen, used)
	}
	for _, text := range []string{"", "cpu 1 2 3\n", "cpu a b c d e f g h\n",
		"cpux 1 2 3 4 5 6 7 8\n"} {
		got := parseTicks(text)
		if stolen, used := got.since(before); got != (ticks{}) || stolen != 0 || used != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestDrift is the larger of the two changes, the same up and down.
func TestDrift(t *testing.T) {
	up := Noise{Before: Rates{1, 1}, After: Rates{1.1, 1.02}}
	down := Noise{Before: Rates{1.1, 1.02}, After: Rates{1, 1}}
	if math.Abs(up.Drift()-math.Log(1.1)) > 1e-12 || math.Abs(up.Drift()-down.Drift()) > 1e-12 {
		t.Errorf("%g up, %g down", up.Drift(), down.Drift())
	}
	if got := Median([]float64{5, 1, 3, 2}); got != 2.5 {
		t.Errorf("median %g, want 2.5", got)
	}
}
