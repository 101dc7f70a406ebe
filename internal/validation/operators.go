package validation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Tables of single kernels are in files GPU__OPERATOR.csv, or have a column gpu, the same in all
// rows. A kernel is predicted as the operator of
// a model of one layer that is made of it, so that the prediction is the one that servers get.

// operator is a kernel of one shape, measured with several loads. One step clock predicts them all.
type operator struct {
	deployment
	allReduce allReduceKind
	// names begin the names of the step's operators that make up the kernel; runs is how many of it
	// a step has, 0 counts as 1.
	names []string
	runs  int
	// shape and variant tell it from others of its GPU; the variant is named in its group.
	shape, variant string
}

// predict returns the times of the kernel in steps.
func (o *operator) predict(p *accuracy.Physics) (func(*part) map[string]float64, error) {
	k, err := o.kernels(p, o.allReduce)
	return func(x *part) map[string]float64 {
		sum := 0.0
		for name, ms := range k.times(x.step) {
			if slices.ContainsFunc(o.names, func(begin string) bool {
				return strings.HasPrefix(name, begin)
			}) {
				sum += ms
			}
		}
		return map[string]float64{"time": sum / float64(max(1, o.runs))}
	}, err
}

// kernelOf says which kernel a row is about, and with which step it runs; nil leaves the row out.
type kernelOf func(r *row) (*operator, *sim.Step)

// operators returns what reads a table of kernels.
func operators(describe kernelOf) func(c *catalogs, t *table) []*trial {
	return func(c *catalogs, t *table) []*trial {
		if len(t.rows) == 0 {
			return nil
		}
		accelerator, err := c.accelerator(t.rows[0].value(t.kind.GPU))
		if err != nil {
			t.skip("%v", err)
			return nil
		}
		scaleUp, network, err := c.links(t.kind.Name, &accelerator)
		if err != nil {
			t.skip("%v", err)
			return nil
		}
		known := map[string]*trial{}
		var list []*trial
		t.each(func(r *row) {
			o, step := describe(r)
			measured := r.figures()
			if r.err == nil && len(measured) == 0 {
				r.fail(fmt.Errorf("latency: found %q, want a time above 0", r.text("latency")))
			}
			if r.err != nil || o == nil {
				return
			}
			o.accelerator, o.scaleUp, o.network = accelerator, scaleUp, network
			o.Parallelism.Tensor = max(1, o.Parallelism.Tensor)
			at := accuracy.Place{Group: accuracy.Group{GPU: accelerator.Name, Model: o.variant,
				TP: o.Parallelism.Tensor}, File: t.file, Line: r.line,
				Name: o.shape + ", " + loadOf(step)}
			x := known[o.shape+"|"+o.variant]
			if x == nil {
				x = &trial{deployment: o.deployment, part: part{place: at}, steps: o.predict}
				known[o.shape+"|"+o.variant] = x
				list = append(list, x)
			}
			x.parts = append(x.parts, part{place: at, measured: measured, step: step})
		})
		return list
	}
}

// oneLayer returns a model of one layer with the given width and heads.
func oneLayer(name string, hidden, heads, kvHeads, headDim int) *models.Architecture {
	attention := &models.Softmax{Heads: heads, KVHeads: kvHeads, HeadDim: headDim}
	return &models.Architecture{Name: name, Hidden: hidden,
		Groups: models.Uniform(1, attention, &models.Dense{Intermediate: heads}), Vocab: heads,
		DType: hardware.BF16}
}

// format reads the column of a number format.
func (r *row) format(column string) hardware.DType {
	d, err := parseDType(r.required(column))
	if err != nil {
		r.fail(err)
	}
	return d
}
