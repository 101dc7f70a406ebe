package validation

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

var moeColumns = []string{"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk",
	"num_experts", "moe_tp_size", "moe_ep_size", "latency"}

// readMoE reads the fused kernels of routed experts on one GPU, whose share of them follows from
// the two ways to spread them.
func readMoE(c *catalogs, t *table) []experiment {
	return readOperators(c, t, func(r *row) (*operator, *sim.Step) {
		tokens, hidden, intermediate := r.count("num_tokens"), r.count("hidden_size"),
			r.count("inter_size")
		active, experts, tp, ep := r.count("topk"), r.count("num_experts"), r.batch("moe_tp_size"),
			r.batch("moe_ep_size")
		o := &operator{
			names: []string{"expert_"},
			shape: fmt.Sprintf("%d of %d experts of %d × %d, TP %d, EP %d", active, experts,
				hidden, intermediate, tp, ep),
			variant: r.text("moe_dtype") + " " + r.value("distribution|=balanced"),
		}
		o.weights = r.format("moe_dtype")
		o.tensor, o.expert = tp*ep, ep
		o.model = oneLayer("experts", hidden, tp*ep, tp*ep, 1)
		o.model.Groups[0].MLP = &models.MoE{Experts: experts, Active: active,
			Intermediate: intermediate, Gated: true}
		return o, prefill(1, tokens, 0)
	})
}
