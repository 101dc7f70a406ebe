package calibration

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
)

// invented returns times of a machine whose constants are known, each off by up to noise.
func invented(t *testing.T, noise float64) (*Measurement, *hardware.Constants) {
	t.Helper()
	m := &Measurement{Noise: Noise{Rates: Rates{Bandwidth: 40e9, FLOPRate: 250e9}}}
	for _, s := range Grid(1024) {
		m.Points = append(m.Points, Point{Shape: s, Seconds: 1, Samples: 1})
	}
	truth := constantsAt([]float64{1.5, 2, 1.2, math.Log(2e-5), -1, 1, 0.5, 1, 2})
	a := entry("host", m, 1, 4<<30)
	seconds, err := predict(&a, truth, Architecture("gpt2", gpt2.DefaultConfig()), m.Points)
	testkit.OK(t, err)
	random := rand.New(rand.NewPCG(1, 0))
	for i := range m.Points {
		m.Points[i].Seconds = seconds[i] * (1 + noise*(2*random.Float64()-1))
	}
	m.once()
	return m, truth
}

// once makes the points a single round.
func (m *Measurement) once() {
	m.Rounds = []Round{{Rates: m.Noise.Rates}}
	for i := range m.Points {
		m.Rounds[0].Seconds = append(m.Rounds[0].Seconds, m.Points[i].Seconds)
	}
}

// TestFitFindsConstants recovers the times of a machine made up from constants: exactly where
// nothing is noisy, and to less than the noise where a tenth of the points is far off.
func TestFitFindsConstants(t *testing.T) {
	model := Architecture("gpt2", gpt2.DefaultConfig())
	noises := []float64{0, 0.03}
	if testing.Short() {
		noises = testkit.DrawCases(t, 1, noises)
	}
	for _, noise := range noises {
		m, truth := invented(t, noise)
		if noise > 0 {
			for i := 0; i < len(m.Points); i += 10 {
				m.Points[i].Seconds *= 2
			}
			m.once()
		}
		f, err := Calibrate("host", m, model, 1, 4<<30, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
		testkit.OK(t, err)
		right, err := predict(&f.Accelerator, truth, model, m.Points)
		testkit.OK(t, err)
		for i := range right {
			if off := math.Abs(f.Predicted[i]/right[i] - 1); off > 0.01+2*noise {
				t.Errorf("noise %g: %v is predicted %.1f %% off", noise, m.Points[i].Shape, 100*off)
			}
		}
		if f.Error > 0.005+noise || f.LeftOutError > 0.01+noise {
			t.Errorf("noise %g: error %g, left out %g", noise, f.Error, f.LeftOutError)
		}
	}
}

// TestSlowRoundsCount doubles the speed of the machine in a second round: constants are shares of
// what it reached at that time, and stay the same.
func TestSlowRoundsCount(t *testing.T) {
	model := Architecture("gpt2", gpt2.DefaultConfig())
	m, truth := invented(t, 0)
	twice := Round{Rates: Rates{Bandwidth: 2 * m.Noise.Rates.Bandwidth,
		FLOPRate: 2 * m.Noise.Rates.FLOPRate}}
	fast := entry("host", m, 1, 4<<30)
	fast.Bandwidth, fast.Peak = twice.Rates.Bandwidth, map[hardware.DType]float64{
		hardware.FP32: twice.Rates.FLOPRate}
	var err error
	if twice.Seconds, err = predict(&fast, truth, model, m.Points); err != nil {
		t.Fatal(err)
	}
	m.Rounds = append(m.Rounds, twice)
	changing, err := Calibrate("host", m, model, 1, 4<<30, time.Now())
	testkit.OK(t, err)
	for i := range m.Points {
		if off := math.Abs(changing.Predicted[i]/m.Points[i].Seconds - 1); off > 0.01 {
			t.Errorf("%v: %.1f %% off after a faster round", m.Points[i].Shape, 100*off)
		}
	}
}

// TestWrittenHostsAreRead writes a host and reads it back with the catalogue.
func TestWrittenHostsAreRead(t *testing.T) {
	m, _ := invented(t, 0)
	model := Architecture("gpt2", gpt2.DefaultConfig())
	f, err := Calibrate("host", m, model, 2, 4<<30, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	testkit.OK(t, err)
	var text, points bytes.Buffer
	other := *f
	other.Accelerator.Name = "host-4"
	testkit.OK(t, Write(&text, []*Fit{f, &other}, "some processor"))
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	if catalog, err = catalog.With("host.yaml", text.Bytes()); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	a, err := catalog.Accelerator("host")
	testkit.OK(t, err)
	if a.SMs != 2 || a.Title != "some processor, threads: 2" {
		t.Errorf("%q with %d threads", a.Title, a.SMs)
	}
	constants, warnings := hardware.FittedConstants(&a, nil, nil)
	if len(warnings) > 0 || constants.Fit.Rows != len(m.Points) {
		t.Errorf("warnings %q, %d rows", warnings, constants.Fit.Rows)
	}
	read, err := predict(&a, &constants, model, m.Points)
	testkit.OK(t, err)
	for i := range read {
		if math.Abs(read[i]/f.Predicted[i]-1) > 1e-3 {
			t.Errorf("%v: %g s before writing, %g s after", m.Points[i].Shape, f.Predicted[i],
				read[i])
		}
	}
	if _, err := catalog.Accelerator("host-4"); err != nil {
		t.Error(err)
	}
	testkit.OK(t, WritePoints(&points, []*Fit{f}))
	if n := strings.Count(points.String(), "\n"); n != len(m.Points)+1 {
		t.Errorf("%d lines for %d points", n, len(m.Points))
	}
}

// TestMeasure times the grid of a small model once: every step gets a time, and progress is told.
func TestMeasure(t *testing.T) {
	m, err := NewMachine(1, 1<<24)
	testkit.OK(t, err)
	defer m.Close()
	c := gpt2.DefaultConfig()
	c.Layers, c.Width, c.Heads, c.Inner, c.Vocab, c.Context = 1, 32, 2, 64, 97, 256
	model, err := m.Model(t.Context(), c, kernels.F32)
	testkit.OK(t, err)
	rounds := 0
	got, err := Measure(context.Background(), m, model, 2, func(round int) { rounds = round })
	testkit.OK(t, err)
	if rounds != 2 || len(got.Points) != len(Grid(256)) {
		t.Errorf("%d rounds, %d points", rounds, len(got.Points))
	}
	for _, p := range got.Points {
		if !(p.Seconds > 0) || p.Samples != 2 {
			t.Errorf("%v: %g s from %d samples", p.Shape, p.Seconds, p.Samples)
		}
	}
	if !(got.Noise.Rates.Bandwidth > 0 && got.Noise.Rates.FLOPRate > 0) {
		t.Errorf("noise %+v", got.Noise)
	}
}

// TestNoiseIsRefused checks each limit.
func TestNoiseIsRefused(t *testing.T) {
	same := Rates{Bandwidth: 1, FLOPRate: 1}
	for want, m := range map[string]Measurement{
		"varied by ±7.0 %": {Points: []Point{{Spread: 0.07}},
			Noise: Noise{Before: same, After: same}},
		"changed by 69": {Points: []Point{{}},
			Noise: Noise{Before: same, After: Rates{Bandwidth: 2, FLOPRate: 1}}},
		"took 50 % of": {Points: []Point{{}}, Noise: Noise{Before: same, After: same,
			Others: 0.5}},
	} {
		if err := m.Quiet(2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	alone := Measurement{Points: []Point{{}}, Noise: Noise{Before: same, After: same,
		Others: 0.5}}
	if err := alone.Quiet(1); err != nil {
		t.Errorf("with one thread, other programs do not count: %v", err)
	}
}
