package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity"
	planned "github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// What a plan says of the fleet that it chooses is what `llmsim scenario` gives for the scenario
// file of that fleet: the shares of requests that keep the SLO, with the spares down too, the limit
// that binds, the energy, and the price, which is that of the catalogue for the accelerators.
func TestPlansAreOfScenarios(t *testing.T) {
	registry, n, from := policies.Default(), testkit.Cases(5), firstSeed()
	kinds := map[string]int{}
	for kind, plan := range rarePlans() {
		if testing.Short() && kind != "scaled" {
			continue
		}
		l := &laws{}
		err := l.plan(plainJSON([]byte(plan)), kinds)
		l.that(err == nil, "%v", err)
		if l.that(kinds[kind] > 0, "another fleet was chosen"); len(l.wrong) > 0 {
			t.Errorf("%s: %s", kind, strings.Join(l.wrong, "\n"))
		}
	}
	for seed := from; seed < from+uint64(n); seed++ {
		d := &drawer{seed, registry}
		plan := drawPlan(d)
		l := &laws{}
		if err := l.plan(plan, kinds); err != nil {
			l.that(false, "%v", err)
		}
		if len(l.wrong) > 0 {
			t.Errorf("plan %d: %s\n%s", seed, text(plan), strings.Join(l.wrong, "\n"))
		}
	}
	t.Logf("of %d plans: %v", n, kinds)
	if kinds["answered"] < n/2 {
		t.Errorf("of %d plans: %v", n, kinds)
	}
}

// rarePlans are plans whose answers are fleets of kinds that are seldom chosen.
func rarePlans() map[string]string {
	return map[string]string{
		"base": `{"model": "llama-3.1-8b", "workload": {"rate": "240/s", "prompt": 300,
			"output": 40}, "slo": {"ttft": "1s", "tpot": "80ms", "percentile": 99},
			"menu": {"hardware": [{"accelerator": "l40s", "term": "on-demand", "price": "$1.5/h"},
				{"accelerator": "l40s", "term": "spot", "price": "$1/h", "interruptions": "0.1/h",
				"together": 0.05, "notice": "2m", "return": "15m"}], "tensor": [1],
				"tune": "none"}, "effort": {"requests": 200, "most-requests": 400}}`,
		"scaled": `{"model": "llama-3.1-8b", "workload": {"rate": {"pattern": "wave",
			"average": "8/s", "swing": 0.9, "period": "4m", "peak": "2m"}, "prompt": 900,
			"output": 60}, "slo": {"ttft": "1s", "tpot": "40ms", "percentile": 95},
			"fleet": {"spare": 1}, "menu": {"hardware": ["l40s"], "tensor": [1], "scaling":
				[{"policy": "outstanding", "target": 4, "keep": "30s"}], "tune": "none"},
			"effort": {"requests": 100, "most-requests": 200}}`,
	}
}

// drawPlan draws a plan that is answered in about a second.
func drawPlan(d *drawer) object {
	offer := func(key, accelerator string) any {
		o := object{"accelerator": accelerator}
		if d.chance(key+" price", 0.3) {
			o["price"] = pick(d, key+" price", []string{"$1.1/h", "$2.5/h"})
		}
		if d.chance(key+" spot", 0.2) {
			o["term"], o["interruptions"], o["return"] = "spot", "0.05/h", "5m"
		}
		return o
	}
	gpus := []string{"h100-sxm", "a100-80gb-sxm", "l40s", "h200-sxm"}
	first := pick(d, "first", gpus)
	second := pick(d, "second", slices.DeleteFunc(slices.Clone(gpus),
		func(name string) bool { return name == first }))
	if d.chance("terms", 0.25) {
		second = first
	}
	menu := object{"tensor": []any{1}, "tune": "none",
		"hardware": []any{offer("a", first), offer("b", second)}}
	options := map[string][]any{
		"tensor": {1, 2}, "pipeline": {1, 2}, "routing": {"round-robin", "least-requests"},
		"batching":    {object{"token-budget": 2048}, "sarathi"},
		"memory":      {"prefix-cache", "paged"},
		"speculation": {object{"method": "n-gram", "acceptance": 0.6}},
	}
	for _, name := range sortedKeys(options) {
		if d.chance(name, 0.2) {
			menu[name] = options[name]
		}
	}
	if d.chance("apart", 0.2) {
		menu["disaggregated"] = []any{object{"prefill": 1, "decode": "1..2"}}
	}
	work := object{"rate": pick(d, "rate", []string{"4/s", "20/s", "40/s"}),
		"prompt": pick(d, "prompt", []string{"100", "700"}), "output": 40}
	switch {
	case d.chance("lengths", 0.5):
		work["prompt"] = object{"distribution": "lognormal", "mean": 500, "cv": 1}
	case d.chance("classes", 0.4):
		work["classes"] = []any{object{"name": "a"}, object{"name": "b", "share": 0.3,
			"output": 90, "slo": object{"e2e": "4s"}}}
	}
	if d.chance("scaled", 0.15) {
		work["rate"] = object{"pattern": "wave", "average": "8/s", "swing": 0.9, "period": "2m"}
		menu["scaling"] = []any{"outstanding"}
		for _, key := range []string{"term", "interruptions", "return"} {
			delete(menu["hardware"].([]any)[0].(object), key) // spot ones alone are refused
		}
	}
	plan := object{"model": pick(d, "model", []string{"llama-3.1-8b", "mistral-7b-v0.3",
		"qwen3-30b-a3b"}), "workload": work, "menu": menu,
		"slo": object{"ttft": "1s", "tpot": pick(d, "tpot", []string{"25ms", "60ms"}),
			"percentile": 95},
		"effort": object{"requests": 100, "most-requests": 200}}
	if d.chance("spare", 0.4) {
		plan["fleet"] = object{"spare": 1 + d.random("spare").IntN(2)}
	}
	spot := strings.Contains(string(text(menu)), "spot")
	if menu["scaling"] == nil && !spot && d.chance("goal", 0.3) {
		plan["goal"] = object{"find": pick(d, "goal", []string{"throughput", "latency", "front"}),
			"budget": "$25/h"}
	}
	return plan
}

// plan answers a plan, and holds what it says of its fleet against a scenario.
func (l *laws) plan(plan object, kinds map[string]int) (err error) {
	defer panics(&err)
	file, err := asked.Parse("plan.json", text(plan))
	if err != nil {
		return err
	}
	all, err := capacity.Solve(context.Background(), file, capacity.Options{
		Queue: queue.Config{Workers: 1}})
	if err != nil {
		return err
	}
	for how, level := range map[string]planned.Level{"details": planned.Whole,
		"brief": planned.Brief, "page": planned.Short} {
		var out bytes.Buffer
		l.that(all.Write(&out, level) == nil, "the %s of the plan are not printed", how)
		l.words(how, out.String())
		d := all.Models[0].Chosen
		l.that(d != nil && (d.Grade == evidence.Measured || d.Grade == evidence.Here) ||
			!strings.Contains(out.String(), "more than 98%"), "the %s say what is not known", how)
	}
	text, err := json.Marshal(all.Models[0])
	if err != nil {
		return err
	}
	l.figures("plan", plainJSON(text))
	a := all.Models[0]
	if a.Chosen == nil {
		return nil
	}
	kinds["answered"]++
	return l.chosen(a, kinds)
}

// chosen holds the fleet of an answer against its scenario file.
func (l *laws) chosen(a *planned.Answer, kinds map[string]int) error {
	d := a.Chosen
	r, simulation, err := runOf(d.Scenario, nil)
	if err != nil {
		return err
	}
	for kind, is := range map[string]bool{"spare": a.Spare > 0, "scaled": d.Scaled != nil,
		"apart": d.Base == nil && len(r.Pools) > 1, "base": d.Base != nil, "law": d.Law != nil,
		"spot":              d.Interrupted != nil,
		string(a.Goal.Find): true, "classes": len(d.Classes) > 1} {
		if is {
			kinds[kind]++
		}
	}
	if d.Law == nil {
		l.same("kept", d.Kept, r.Attainment.All, 0)
		l.that(d.Binds == r.Binds, "%s binds by the plan, %s by the scenario", d.Binds, r.Binds)
		l.same("energy", d.EnergyPerMillion, r.EnergyPerMillion, 0)
		for _, c := range d.Classes {
			l.same("kept of "+c.Name, c.Kept, r.Classes[c.Name].Attainment.All, 0)
		}
	}
	if d.Law == nil && d.JobHours == 0 {
		diff := gocmp.Diff(d.Insights, diagnosis.Of(r))
		l.that(diff == "", "insights of the plan (-) and of the scenario (+): %s", diff)
	}
	l.that(d.Accelerators == r.Accelerators, "%d accelerators by the plan, %d by the scenario",
		d.Accelerators, r.Accelerators)
	hours := r.Duration / 3600
	several := 0.0 // the plan's mean is over several seeds where replicas start and stop
	if d.Scaled != nil {
		several = 0.05
	}
	l.same("accelerators on average", d.MeanAccelerators(), r.AcceleratorHours/hours,
		several*d.MeanAccelerators())
	l.same("price of an hour", d.Hourly, r.Cost/hours, several*d.Hourly)
	if d.Scaled == nil {
		l.same("price by the catalogue", d.Hourly, listed(&simulation.Scenario), 0)
	}
	// The plan counts the tokens that the load asks for on average, the scenario drawn ones.
	l.same("price of a million tokens", d.PerMillion, r.CostPerMillion,
		(several+4/math.Sqrt(float64(r.Completed)))*d.PerMillion)
	l.same("GPU-hours of a million tokens", d.GPUHours,
		d.PerMillion*d.MeanAccelerators()/d.Hourly, 0)
	most, record := d.Grade.Supported(1, false)
	for _, c := range d.Chances {
		l.that(max(c.Probability, c.High) <= most, "%d of %d such cases came true, and a chance "+
			"is %+v", record.Kept, record.Cases, c)
	}
	if a.Spare > 0 && d.Law == nil {
		less, _, err := runOf(d.Scenario, func(s *scenarios.Scenario) {
			if len(s.Fleet.Pools) == 0 {
				s.Replicas -= a.Spare
			}
			for i := range s.Fleet.Pools {
				p, each := &s.Fleet.Pools[i], s.Fleet.Pools[i].Replicas/d.Replicas
				if d.Base != nil { // spot replicas are spare
					each = 1 - i
				}
				p.Replicas -= each * a.Spare
				if p.Scaling.Policy != "" {
					least := p.Scaling.Least() - each*a.Spare
					p.Scaling.Min = &least
				}
			}
		})
		if err != nil {
			return err
		}
		l.same("kept without spares", d.KeptWithoutSpares, less.Attainment.All, 0)
	}
	return nil
}

// runOf runs the scenario of a fleet with a change.
func runOf(text string, change func(*scenarios.Scenario)) (*scenarios.Result, *scenarios.Simulation,
	error) {
	file, err := scenarios.Parse("fleet.yaml", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	if change != nil {
		change(&file.Scenario)
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	r, err := simulation.Run(context.Background())
	return r, simulation, err
}

// listed returns the price of an hour of a fleet, by the catalogue where it has no price of its
// own.
func listed(s *scenarios.Scenario) float64 {
	catalog, err := hardware.Load()
	fatal(err)
	price := func(h *scenarios.Hardware) float64 {
		if h.Price.Amount > 0 {
			return h.Price.Amount
		}
		a, err := catalog.Accelerator(h.Accelerator)
		fatal(err)
		return a.Price
	}
	if len(s.Fleet.Pools) == 0 {
		return float64(max(1, s.Replicas)*s.Parallelism.Accelerators()) * price(&s.Hardware)
	}
	sum := 0.0
	for i := range s.Fleet.Pools {
		p := &s.Fleet.Pools[i]
		h, each := &p.Hardware, &p.Parallelism
		if h.Accelerator == "" {
			h = &s.Hardware
		}
		if each.Accelerators() == 0 || *each == (scenarios.Parallelism{}) {
			each = &s.Parallelism
		}
		sum += float64(p.Replicas*each.Accelerators()) * price(h)
	}
	return sum
}
