package validation

import (
	"context"
	"fmt"
	"strings"
)

// MLPerf Inference, closed division, data centre: tokens a second of whole systems.
var mlperfColumns = []string{"submitter", "model", "scenario", "accelerator", "gpus_per_node",
	"nodes", "weights", "result", "unit"}

// benchmark is a workload of MLPerf Inference v5.1: the model, the samples of the data set, and
// mean lengths (mlcommons/inference, language/*/README.md and user.conf; the output lengths are
// TOKENS_PER_SAMPLE of the submission checker).
type benchmark struct {
	architecture            string
	samples, prompt, output int
}

var benchmarks = map[string]benchmark{
	"llama2-70b-99": {"llama-2-70b", 24576, 294, 294},
	"llama3.1-8b":   {"llama-3.1-8b", 13368, 778, 128},
	"llama3.1-405b": {"llama-3.1-405b", 8313, 9428, 685},
	"mixtral-8x7b":  {"mixtral-8x7b", 15000, 430, 145},
	"deepseek-r1":   {"deepseek-v3", 4388, 800, 3886},
}

// system is what tells one measured system from another.
type mlperfSystem struct{ model, accelerator, weights, nodes string }

// mlperf is the best submission of one system: submitters tune, and the best shows what the
// hardware does.
type mlperf struct {
	deployment
	place
	benchmark
	replicas int
	measured []measurement
}

func readMLPerf(c *catalogs, t *table) []experiment {
	best := map[mlperfSystem]*row{}
	var order []mlperfSystem
	t.each(func(r *row) {
		if r.text("scenario") != "Offline" {
			t.skip("scenario %s, whose limits on latency set the result", r.text("scenario"))
			return
		}
		result := r.number("result")
		s := mlperfSystem{r.text("model"), r.text("accelerator"), r.text("weights"),
			r.text("nodes")}
		if r.err != nil {
			return
		}
		if best[s] == nil {
			order = append(order, s)
			best[s] = r
			return
		}
		t.skip("another submission of the same system did better")
		if result > best[s].figure("result") {
			best[s] = r
		}
	})
	chosen := map[int]bool{}
	for _, s := range order {
		chosen[best[s].line] = true
	}
	var list []experiment
	t.each(func(r *row) {
		if !chosen[r.line] {
			return
		}
		if m := c.mlperf(r); m != nil {
			list = append(list, m)
		}
	})
	return list
}

func (c *catalogs) mlperf(r *row) *mlperf {
	name := strings.TrimSuffix(r.text("model"), ".9")
	b, ok := benchmarks[name]
	if !ok {
		r.fail(&unknownName{"benchmark", name})
		return nil
	}
	m := &mlperf{benchmark: b,
		measured: r.measured([]figure{{"result", "output rate", "tokens/s", 1}})}
	gpus := r.batch("gpus_per_node") * r.batch("nodes")
	m.deployment = c.deploy(r, b.architecture, strings.ReplaceAll(r.required("accelerator"),
		" Instinct", ""), r.required("weights"), 1)
	if r.err != nil {
		return nil
	}
	m.engine = "trtllm"
	if strings.HasPrefix(m.accelerator.Generation, "cdna") { // AMD's
		m.engine = "vllm-v1"
	}
	m.setDefaults()
	m.narrowCache()
	m.divide(min(gpus, max(1, m.accelerator.PerNode)))
	m.limitRanks()
	m.replicas = max(1, gpus/m.parallel().GPUs())
	m.place = place{Group: m.group(), file: r.table.file, line: r.line}
	m.name = fmt.Sprintf("%d × %s, best of all submitters", gpus, m.accelerator.Name)
	return m
}

// divide spreads the model over as few accelerators as leave at least half of their memory to the
// cache, as submitters do: experts and data-parallel attention over all, other models by tensor
// parallelism.
func (m *mlperf) divide(gpus int) {
	weights := float64(m.model.WeightBytes(m.weights))
	for m.tensor < gpus && weights/float64(m.tensor) > m.accelerator.Memory/2 {
		m.tensor *= 2
	}
	if m.model.Experts() != nil && m.tensor > 1 {
		m.data, m.tensor = gpus, 1
	}
}

func (m *mlperf) at() place { return m.place }

// compare implements experiment. The samples are shared out evenly; one replica is simulated.
func (m *mlperf) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	load, err := offlineLoad(max(1, m.samples/m.replicas), m.prompt, m.output)
	if err != nil {
		return nil, err
	}
	all, err := m.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	return rehearsable(m.place.compare(m.measured,
			map[string]float64{"output rate": float64(m.replicas) * all.outputRate()}),
			all.rehearsal),
		nil
}
