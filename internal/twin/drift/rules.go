package drift

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// ruleRequests is the number of requests from which the rules' limits are simulated.
const ruleRequests = 2000

// Rules returns alerting rules for Prometheus: what vLLM's counters may show under the traffic of
// the fit, by the twin. They are rougher than Run, which follows the traffic: they hold as long as
// the traffic's own rules are silent.
func Rules(ctx context.Context, server *fit.Server, d *scenarios.Fitted) (string, error) {
	t := &d.Traffic
	if t.Rate == 0 || t.Prompt == 0 || t.Output == 0 {
		return "", fmt.Errorf("the deployment does not say to which traffic it was fitted, " +
			"without which there are no limits; fit it to requests or to metrics")
	}
	run := observed.Run{Name: "rules"}
	rng := rand.New(rand.NewPCG(0, 2))
	at := 0.0
	for range ruleRequests {
		at += rng.ExpFloat64() / t.Rate
		run.Requests = append(run.Requests, observed.Request{Arrival: at,
			Prompt: max(1, int(t.Prompt+0.5)), Output: max(1, int(t.Output+0.5)), TTFT: 1, E2E: 1})
	}
	pairs, err := server.Compare(ctx, d.Factors, &run)
	if err != nil {
		return "", err
	}
	all := joined(pairs, float64(len(pairs)))
	var b strings.Builder
	fmt.Fprintf(&b, "# Limits of %s on %s, by llmsim twin drift --rules.\ngroups:\n"+
		"  - name: llmsim-twin\n    rules:\n", d.Model, d.Accelerator)
	mean := func(name string) string {
		return fmt.Sprintf("sum(rate(vllm:%s_sum[10m])) / "+
			"sum(rate(vllm:%s_count[10m]))", name, name)
	}
	rule := func(alert, expr string, value, tolerance float64, summary string) {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: abs(%s / %.6g - 1) > %.3g\n        "+
			"for: 30m\n"+
			"        labels: {severity: warning}\n        annotations:\n          summary: "+
			"%s\n", alert, expr, value, tolerance, summary)
	}
	e := &d.Errors
	rule("TwinMachineTPOT", mean("inter_token_latency_seconds"), all.TPOT[1],
		max(machineTolerance, 2*e.TPOT)+0.05, "The time of a token is not what the twin says.")
	rule("TwinMachineTTFT", mean("time_to_first_token_seconds"), all.TTFT[1],
		max(machineTolerance, 2*e.TTFT)+0.15, "The time to the first token is not what the "+
			"twin says.")
	rule("TwinTrafficPrompt", mean("request_prompt_tokens"), t.Prompt, 2*trafficTolerance,
		"Prompts have another length than those of the fit; limits of the machine do not hold.")
	rule("TwinTrafficOutput", mean("request_generation_tokens"), t.Output, 2*trafficTolerance,
		"Answers have another length than those of the fit; limits of the machine do not hold.")
	rule("TwinTrafficRate", "sum(rate(vllm:time_to_first_token_seconds_count[10m]))", t.Rate,
		2*trafficTolerance, "The rate is not that of the fit; limits of the machine do not hold.")
	return b.String(), nil
}
