package validation

import (
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// allReduceKind says which all-reduce was measured.
type allReduceKind int

const (
	// engineAllReduce is a serving engine's, libraryAllReduce the collective library's,
	// launchedAllReduce the latter where the host launches each by itself.
	engineAllReduce allReduceKind = iota
	libraryAllReduce
	launchedAllReduce
)

// kernels prices single kernels: the step clock of an engine that adds nothing of its own.
type kernels struct{ clock *steptime.Clock }

func (d *deployment) kernels(p *accuracy.Physics, allReduce allReduceKind) (kernels, error) {
	bare := steptime.Engine{Name: "kernels", Graph: math.MaxInt,
		CustomAllReduce: allReduce == engineAllReduce}
	if allReduce == launchedAllReduce {
		eager, err := p.Preset("eager-2023")
		if err != nil {
			return kernels{}, err
		}
		bare.Graph, bare.AllReduce = 0, eager.AllReduce
	}
	parallel := steptime.Parallelism{Tensor: d.Parallelism.Tensor, Expert: d.Parallelism.Expert}
	c := servers.Config{Model: d.model, Accelerator: &d.accelerator, ScaleUp: d.scaleUp,
		Network: d.network, Parallel: parallel, Weights: d.weights, KV: d.kv,
		Engine:  bare,
		Release: engines.Release{Engine: &engines.Engine{}},
		Physics: servers.Physics{
			Constants: p.ConstantsOf(&d.accelerator, d.scaleUp, d.network)}}
	clock, err := c.NewClock()
	return kernels{clock}, err
}

// kernelTimes are the times in ms of the operators of a step, by name.
type kernelTimes map[string]float64

func (k kernels) times(s *sim.Step) kernelTimes {
	t := kernelTimes{}
	for _, o := range k.clock.Breakdown(s) {
		t[o.Name] += o.Time.Milliseconds()
	}
	return t
}

// layerProducts are the operators that are matrix products of layers.
var layerProducts = []string{"qkv", "q", "q_a", "q_b", "kv_a", "kv_b", "out", "gate_up", "up",
	"down", "router", "expert_gate_up", "expert_up", "expert_down", "shared_gate_up", "shared_up",
	"shared_down"}

// figures returns the times that tables of layers have, of all layers and of one.
func (t kernelTimes) figures(m *models.Architecture, attends bool) map[string]float64 {
	layers, products, attention := float64(m.Layers()), 0.0, 0.0
	for _, name := range layerProducts {
		products += t[name]
	}
	for name, ms := range t {
		if strings.HasPrefix(name, "attention_") {
			attention += ms
		}
	}
	all := m.AllReduces() // with the embedding's, which is no layer's
	allReduces, linear := t["all_reduce"]*float64(all-1)/float64(all), products+t["elementwise"]
	figures := map[string]float64{"linear": linear, "GEMMs": products, "attention": attention,
		"all-reduce": allReduces, "all-reduces": allReduces,
		"one all-reduce": allReduces / float64(all-1), "iteration": linear + allReduces,
		"GEMMs a layer": products / layers, "element-wise a layer": t["elementwise"] / layers}
	if attends {
		figures["iteration"] = linear + attention + allReduces
	}
	for _, name := range []string{"qkv", "out", "gate_up", "down"} {
		if ms := t[name]; ms > 0 {
			figures[name] = ms / layers
		}
	}
	return figures
}
