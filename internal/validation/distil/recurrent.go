package distil

import (
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/sim"
)

// recurrentTables are the tables of linear attention, by name, with the kind that is in them.
func recurrentTables() map[string]models.RecurrentKind {
	return map[string]models.RecurrentKind{"gdn": models.GatedDeltaNet, "kda": models.KimiDelta}
}

// Recurrent distils the tables of linear attention of a folder in the published layout.
func Recurrent(dir fs.FS, catalog hardware.Catalog, date time.Time) ([]hardware.RecurrentKernel,
	error) {
	var list []hardware.RecurrentKernel
	for _, engine := range engines() {
		for i := range catalog.Accelerators {
			a := &catalog.Accelerators[i]
			for _, t := range tablesOf(dir, engine, a) {
				kind, known := recurrentTables()[t.Name]
				if !known || t.Engine != engine {
					continue
				}
				k, err := recurrent(dir, t, kind, a)
				if err != nil {
					return nil, err
				}
				if k.Kind != "" {
					k.Source, k.Date = source(t.String()), date.Format(time.DateOnly)
					list = append(list, k)
				}
			}
		}
	}
	return list, nil
}

// recurrence is a step of one layer, whose kernels add up.
type recurrence struct {
	models.Attention
	shape         string
	batch, length int
	prefill       bool
	seconds       float64
}

// recurrent distils one table; the result is empty where prompts or decoding were not measured.
func recurrent(dir fs.FS, t measured.Table, kind models.RecurrentKind,
	a *hardware.Accelerator) (hardware.RecurrentKernel, error) {
	k := hardware.RecurrentKernel{Engine: t.Engine, Accelerator: a.Name, Kind: string(kind)}
	steps := map[string]*recurrence{}
	var order []string
	err := t.Each(dir, func(r *measured.Row) {
		step := recurrentStep(r)
		if step == nil {
			return
		}
		s := readRecurrence(r, kind, step)
		key := fmt.Sprint(r.Text("model_name"), s.shape, s.batch, s.length, s.prefill)
		if steps[key] == nil {
			steps[key] = s
			order = append(order, key)
		}
		steps[key].seconds += r.Number("latency", 0) / 1000
	})
	if err != nil {
		return k, err
	}
	peak, bandwidth := a.Peak[hardware.BF16], a.Bandwidth
	var prompts, decodes []kernel
	for _, key := range order {
		s := steps[key]
		tokens, state := float64(s.batch*s.length), 2*float64(s.batch)*s.StateBytes
		switch {
		case s.prefill && s.length >= 64: // shorter ones are computed as a chunk of 64
			prompts = append(prompts,
				kernel{seconds: s.seconds, shape: s.shape, form: func(p []float64) float64 {
					return p[2] + tokens*s.TokenFLOPs/(peak*p[0]) + float64(s.length)*p[1]
				}})
		case !s.prefill:
			decodes = append(decodes,
				kernel{seconds: s.seconds, shape: s.shape, form: func(p []float64) float64 {
					return p[1] + state/(bandwidth*p[0])
				}})
		}
	}
	if len(prompts) < 20 || len(decodes) < 20 { // a phase was not measured
		return hardware.RecurrentKernel{}, nil
	}
	p, fitted := fit(1, prompts, []parameter{{0.1, 0.005, 1}, {2e-8, 1e-10, 1e-6},
		{30e-6, 1e-6, 500e-6}})
	k.Compute, k.Serial, k.Prefill, k.PrefillFit = rounded(p[0]), hardware.Seconds(rounded(p[1])),
		hardware.Seconds(rounded(p[2])), fitted[0]
	p, fitted = fit(1, decodes, []parameter{{0.5, 0.02, 1}, {8e-6, 1e-6, 100e-6}})
	k.Memory, k.Decode, k.DecodeFit = rounded(p[0]), hardware.Seconds(rounded(p[1])), fitted[0]
	return k, nil
}

// readRecurrence reads a row.
func readRecurrence(r *measured.Row, kind models.RecurrentKind, step *sim.Step) *recurrence {
	m := deltaMixer(kind, r)
	s := &recurrence{shape: fmt.Sprint(m.Heads, m.KeyHeads), batch: r.Count("batch_size"),
		length: 1, prefill: step.Decodes == 0}
	if s.prefill {
		s.length = r.Count("seq_len")
	}
	if r.Err() == nil {
		s.Attention = oneLayer(r.Count("d_model"), m).AttentionLayers(1, hardware.BF16)[0]
	}
	return s
}

// WriteRecurrent writes a table of the errors of the forms for linear attention.
func WriteRecurrent(w io.Writer, list []hardware.RecurrentKernel) error {
	_, err := fmt.Fprintf(w, "\n%-8s %-14s %-21s %-8s %7s %7s %9s\n", "engine", "accelerator",
		"linear attention", "phase", "rows", "error", "left out")
	for i := range list {
		k := &list[i]
		for _, phase := range []struct {
			name string
			fit  hardware.KernelFit
		}{{"prefill", k.PrefillFit}, {"decode", k.DecodeFit}} {
			if err == nil {
				_, err = fmt.Fprintf(w, "%-8s %-14s %-21s %-8s %7d %5.1f %% %7.1f %%\n", k.Engine,
					k.Accelerator, k.Kind, phase.name,
					phase.fit.Rows, 100*phase.fit.Error, 100*phase.fit.LeftOut)
			}
		}
	}
	return err
}
