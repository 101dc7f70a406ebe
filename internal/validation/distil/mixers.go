package distil

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// MixerError is how far predictions are from the kernels of one kind, engine and accelerator.
type MixerError struct {
	// Kind is the mixer, Phase "prefill" or "decode".
	Kind, Phase, Accelerator, Engine string
	// Kernels is the number of measured times.
	Kernels int
	// Error is the median of |predicted/measured − 1|, Ratio the median of predicted/measured.
	Error, Ratio float64
}

// kernel is what was measured: a layer, or a part of one, in one step.
type mixerKernel struct {
	// shape distinguishes kernels that one clock cannot predict; layer makes the model, for a new
	// shape only.
	shape string
	layer func() *models.Architecture
	step  *sim.Step
	// parts begin the names of the operators that make up the kernel.
	parts       []string
	weights, kv hardware.DType
}

// reading is a kernel with the sum of what was measured of it, in seconds.
type reading struct {
	mixerKernel
	seconds float64
}

// CompareMixers predicts the kernels of the tables of a folder that are about mixers, for all
// accelerators of the catalogue and all engines that were measured.
func CompareMixers(dir fs.FS, catalog hardware.Catalog) ([]MixerError, error) {
	var results []MixerError
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		for _, engine := range []string{"vllm", "sglang", "trtllm"} {
			tables, err := measured.Select(dir,
				measured.Wanted{Accelerator: append([]string{a.Name}, a.Aliases...),
					Engine: engine})
			if err != nil {
				break // the accelerator was not measured
			}
			for _, t := range tables {
				if t.Engine != engine || kinds()[t.Name].kind == "" {
					continue
				}
				list, err := compare(dir, a, t)
				if err != nil {
					return nil, err
				}
				results = append(results, list...)
			}
		}
	}
	slices.SortStableFunc(results, func(a, b MixerError) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Phase, b.Phase))
	})
	return results, nil
}

// compare predicts the kernels of one table.
func compare(dir fs.FS, a *hardware.Accelerator, t measured.Table) ([]MixerError, error) {
	of := kinds()[t.Name]
	readings := map[string]*reading{}
	err := t.Each(dir, func(r *measured.Row) {
		k, ok := of.read(r)
		if !ok || r.Err() != nil {
			return
		}
		key := fmt.Sprint(k.shape, k.weights, k.kv, k.step.Decodes, k.step.Context,
			len(k.step.Prefill), first(k.step),
			r.Text("model_name"))
		if of.whole { // each row is a time of its own
			key = fmt.Sprint(key, len(readings))
		}
		if readings[key] == nil {
			readings[key] = &reading{mixerKernel: k}
		}
		readings[key].seconds += r.Number("latency", 0) / 1000
	})
	if err != nil {
		return nil, err
	}
	return summarise(readings, a, t, of.kind)
}

// first describes the first chunk of a step.
func first(s *sim.Step) string {
	if len(s.Prefill) == 0 {
		return ""
	}
	return fmt.Sprint(s.Prefill[0].New, "+", s.Prefill[0].Cached)
}

// summarise predicts what was read, and returns the errors in prefill and decode.
func summarise(readings map[string]*reading, a *hardware.Accelerator, t measured.Table,
	kind string) ([]MixerError, error) {
	clocks := map[string]*steptime.Clock{}
	ratios := map[string][]float64{}
	for _, r := range readings {
		key := fmt.Sprint(r.shape, r.weights, r.kv)
		if clocks[key] == nil {
			c, err := clock(&r.mixerKernel, a, t.Engine)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", t.Path, r.shape, err)
			}
			clocks[key] = c
		}
		predicted := 0.0
		for _, o := range clocks[key].Breakdown(r.step) {
			if slices.ContainsFunc(r.parts,
				func(p string) bool { return strings.HasPrefix(o.Name, p) }) {
				predicted += o.Time.Seconds()
			}
		}
		phase := "prefill"
		if r.step.Decodes > 0 {
			phase = "decode"
		}
		if r.seconds > 0 && predicted > 0 {
			ratios[phase] = append(ratios[phase], predicted/r.seconds)
		}
	}
	var results []MixerError
	for _, phase := range []string{"prefill", "decode"} {
		if list := ratios[phase]; len(list) > 0 {
			results = append(results, MixerError{
				Kind: kind, Phase: phase, Accelerator: a.Name, Engine: t.Engine, Kernels: len(list),
				Error: medianOf(list, func(x float64) float64 { return math.Abs(x - 1) }),
				Ratio: medianOf(list, func(x float64) float64 { return x }),
			})
		}
	}
	return results, nil
}

// clock returns a step clock whose engine adds nothing of its own to the kernels.
func clock(k *mixerKernel, a *hardware.Accelerator, engine string) (*steptime.Clock, error) {
	return steptime.New(steptime.Config{
		Model: k.layer(), Accelerator: a, Weights: k.weights, KV: k.kv, Activations: hardware.BF16,
		Engine: steptime.Engine{Name: "kernels", Kernels: engine, Graph: math.MaxInt},
	})
}

// median returns the median of f over the list.
func medianOf(list []float64, f func(float64) float64) float64 {
	values := make([]float64, len(list))
	for i, x := range list {
		values[i] = f(x)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// WriteMixers writes the results as a table.
func WriteMixers(w io.Writer, results []MixerError) error {
	_, err := fmt.Fprintf(w, "\n%-38s %-8s %-14s %-7s %8s %7s %20s\n", "mixer", "phase",
		"accelerator", "engine", "kernels", "error", "predicted/measured")
	for i := range results {
		r := &results[i]
		if err == nil {
			_, err = fmt.Fprintf(w, "%-38s %-8s %-14s %-7s %8d %5.1f %% %20.2f\n", r.Kind, r.Phase,
				r.Accelerator, r.Engine, r.Kernels, 100*r.Error, r.Ratio)
		}
	}
	return err
}
