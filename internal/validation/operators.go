package validation

import (
	"context"
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
	loads          []load
}

// load is one row: the step that makes the kernel do what was measured.
type load struct {
	accuracy.Place
	step     *sim.Step
	measured []accuracy.Measurement
}

func (o *operator) at() accuracy.Place { return o.loads[0].Place }

func (o *operator) rows() []accuracy.Place {
	list := make([]accuracy.Place, len(o.loads))
	for i := range o.loads {
		list[i] = o.loads[i].Place
	}
	return list
}

// emit returns nothing, since a kernel is no server.
func (o *operator) emit(int) emission { return emission{} }

// compare implements experiment.
func (o *operator) compare(_ context.Context, p *accuracy.Physics) ([]accuracy.Comparison, error) {
	k, err := o.kernels(p, o.allReduce)
	if err != nil {
		return nil, err
	}
	var list []accuracy.Comparison
	for i := range o.loads {
		l := &o.loads[i]
		sum := 0.0
		for name, ms := range k.times(l.step) {
			if slices.ContainsFunc(o.names, func(begin string) bool {
				return strings.HasPrefix(name, begin)
			}) {
				sum += ms
			}
		}
		list = append(list, l.Place.Compare(l.measured,
			map[string]float64{"time": sum / float64(max(1, o.runs))})...)
	}
	return list, nil
}

// readOperators reads the rows of a table of kernels: describe says which kernel a row is about,
// and with which step it runs. It returns nil for rows that it leaves out.
func readOperators(c *catalogs, t *table,
	describe func(r *row) (*operator, *sim.Step)) []experiment {
	gpu := nameParts(t.file)[0]
	if t.has("gpu") && len(t.rows) > 0 {
		gpu = t.rows[0].text("gpu")
	}
	accelerator, err := c.accelerator(gpu)
	if err != nil {
		t.skip("%v", err)
		return nil
	}
	scaleUp, network, err := c.links(t.kind.Name, &accelerator)
	if err != nil {
		t.skip("%v", err)
		return nil
	}
	known := map[string]*operator{}
	var list []experiment
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
		key := o.shape + "|" + o.variant
		if known[key] == nil {
			known[key] = o
			list = append(list, o)
		}
		at := accuracy.Place{Group: accuracy.Group{GPU: accelerator.Name, Model: o.variant,
			TP: o.Parallelism.Tensor}, File: t.file, Line: r.line,
			Name: o.shape + ", " + loadOf(step)}
		known[key].loads = append(known[key].loads, load{at, step, measured})
	})
	return list
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
