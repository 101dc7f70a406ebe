package validation

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// Whole iterations without output head, sampling and host: kernels measured apart and summed. The
// file's name states the rest: iteration_GPU_MODEL_tpN.csv.
var iterationColumns = []string{"phase", "batch", "tokens", "kv", "iter_ms"}

var iterationFigures = []figure{{"linear_ms", "linear", "ms", 1}, {"attn_ms", "attention", "ms", 1},
	{"allreduce_ms", "all-reduce", "ms", 1}, {"iter_ms", "iteration", "ms", 1}}

type iteration struct {
	deployment
	place
	step     *sim.Step
	measured []measurement
}

func readIterations(c *catalogs, t *table) []experiment {
	base := strings.TrimSuffix(path.Base(t.file), path.Ext(t.file))
	rest, last := splitLast(strings.TrimPrefix(strings.ToLower(base), "iteration_"), "_tp")
	gpu, model, _ := strings.Cut(rest, "_")
	tp, err := strconv.Atoi(last)
	if err != nil || tp < 1 {
		t.skip("the file name does not tell GPU, model and TP, as iteration_GPU_MODEL_tpN.csv does")
		return nil
	}
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, model, gpu, orElse(r.text("dtype"), "fp16"), tp)
		phase, batch, tokens, kv := r.required("phase"), r.batch("batch"), r.count("tokens"),
			r.whole("kv", 0)
		i := &iteration{deployment: d, measured: r.measured(iterationFigures)}
		switch phase {
		case "decode":
			i.step = decode(batch, kv)
		case "prefill":
			i.step = prefill(batch, max(1, tokens/max(1, batch)), kv)
		default:
			r.fail(fmt.Errorf("phase: found %q, want decode or prefill", phase))
		}
		if r.err != nil {
			return
		}
		i.place = place{Group: d.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%s batch %d, %d tokens, %d cached", phase, batch, tokens, kv)}
		list = append(list, i)
	})
	return list
}

func (i *iteration) at() place { return i.place }

// compare implements experiment.
func (i *iteration) compare(_ context.Context, p *Physics) ([]Comparison, error) {
	k, err := i.kernels(p, launchedAllReduce)
	if err != nil {
		return nil, err
	}
	t := k.times(i.step)
	linear, attention, allReduce := t.layerLinear()+t.elementwise(), t.attention(),
		t.allReduces(i.model)
	return i.place.compare(i.measured, map[string]float64{"linear": linear, "attention": attention,
		"all-reduce": allReduce, "iteration": linear + attention + allReduce}), nil
}
