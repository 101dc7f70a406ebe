package asked_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

const steady = `
model: llama-3.1-8b
workload: {rate: 95/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu: {hardware: [h100-sxm], tensor: [1, 2]}
`

const several = `
models:
- {name: first, model: llama-3.1-8b, workload: {rate: 8/s, prompt: 9, output: 9}, slo: {ttft: 1s}}
- {model: llama-2-70b, workload: {rate: 8/s, prompt: 9, output: 9}, slo: {ttft: 1s}}
menu: {hardware: [h100-sxm]}
`

const job = `
model: llama-3.1-8b
workload: {prompt: 300, output: 40}
job: {within: 8h, requests: 1000}
menu: {hardware: [h100-sxm]}
`

// waves are loads of which a fleet can be scaled.
const waves = "workload={rate: {pattern: wave, average: 9/s, swing: 0.5}, prompt: 9, output: 9}"

// parsed reads a plan.
func parsed(t *testing.T, text string, overrides ...string) *asked.Plan {
	t.Helper()
	f, err := asked.Parse("plan.yaml", []byte(text), overrides...)
	testkit.OK(t, err)
	return &f.Plan
}

// What contradicts itself in a plan is refused at its key, and what only comes near is not.
func TestContradictionsInPlans(t *testing.T) {
	spot := "term: spot, price: $1/h, interruptions: 1/h, return: 10m}"
	for _, c := range []struct {
		text, set, want string // of what is refused
	}{
		{steady, "", ""}, {several, "", ""}, {job, "", ""},
		{steady, "workload={prompt: 9, output: 9}", "workload: a plan needs a load"},
		{steady, "workload={classes: [{name: a, rate: 1/s, prompt: 9, output: 9}, " +
			"{name: b, rate: 2/s, prompt: 9, output: 9}]}", ""},
		{steady, "workload={arrivals: {process: closed-loop, users: 9}, prompt: 9, output: 9}", ""},
		{steady, "workload={users: 9, think: 10s, prompt: 9, output: 9}", ""},
		{steady, "workload={users: 9, rate: 1/s, prompt: 9, output: 9}",
			"workload.rate: has no meaning beside users"},
		{steady, "workload={users: 9, arrivals: poisson, prompt: 9, output: 9}",
			"workload.arrivals: has no meaning beside users"},
		{steady, "workload={rate: 9/s, think: 1s, prompt: 9, output: 9}",
			"workload.think: applies only to users"},
		{steady, "workload={user: 9, prompt: 9, output: 9}", "did you mean users?"},
		{steady, "workload={rate: 1/s, arrivals: at-once, prompt: 9, output: 9}", "at-once"},
		{steady, "workload.requests=500", "workload.requests: the length of simulations follows"},
		{steady, "workload.duration=5s", "workload.duration: the length of simulations follows"},
		{steady, "workload={rate: {pattern: phases, phases: [{rate: 5/s, for: 60s}]}, prompt: 9, " +
			"output: 9, requests: 9}", ""},
		{steady, "slo={ttft: 1s, e2e: 999ms}", "slo.e2e: the whole request within"},
		{steady, "slo={ttft: 1s, e2e: 1s}", ""}, {steady, "slo={ttft: 1s}", ""},
		{steady, "model=", "model"}, {several, "model=llama-3.1-8b", "model: has no meaning"},
		{several, "slo={ttft: 1s}", "slo: has no meaning together with models"},
		{several, "workload.prompt=9", "workload: has no meaning together with models"},
		{several, "max-model-len=99", "max-model-len: has no meaning together with models"},
		{several, "models.1.name=first", `models.1.name: found "first"; the names`},
		{several, "models.0.name=llama-2-70b", "models.1.name"},
		{several, "models.0.name=a/b", `models.0.name: found "a/b"`},
		{several, "models.1.model=org/model", ""},
		{several, "models.1.workload={prompt: 9, output: 9}", "models.1.workload: a plan needs"},
		{several, "models.1.escalated={from: first, share: 0.5}",
			"models.1.workload: has no meaning beside escalated"},
		{steady, "engine.slowdown=1.5", "engine.slowdown: a plan tries slower steps"},
		{steady, "effort={requests: 200, most-requests: 199}",
			"found 199, which is less than the 200"},
		{steady, "effort={requests: 200, most-requests: 200}", ""},
		{steady, "effort.most-requests=999", "found 999, which is less than the 1000"},
		{steady, "effort.most-requests=1000", ""}, {steady, "effort.requests=20000", ""},
		{steady, "goal=throughput", "goal: nothing bounds the fleet"},
		{steady, "goal=latency", ""}, {steady, "goal=front", ""},
		{steady, "goal={find: throughput, budget: $40/h}", ""},
		{steady, "goal={find: throughput, power: 10kW}", ""},
		{several, "goal={find: throughput, power: 10kW}", "goal: found throughput together with"},
		{steady, "goal.find=throughput menu.hardware=[{accelerator: h100-sxm, count: 4}]", ""},
		{steady, "goal.find=throughput menu.hardware=[{accelerator: h100-sxm, count: 4}] " +
			"menu.disaggregated=[{prefill: 1, decode: {replicas: 1, hardware: [l4]}}]",
			"goal: nothing bounds the fleet"},
		{steady, "goal={find: latency, power: 1kW} fleet.growth=2", "fleet.growth: has a meaning"},
		{steady, "goal={find: latency, power: 1kW} fleet.autoscaling=true",
			"fleet.autoscaling: has a meaning"},
		{steady, "goal.find=cheapest fleet.growth=2", ""},
		{steady, "goal={find: throughput, power: 1kW} workload={arrivals: {process: closed-loop, " +
			"users: 9}, prompt: 9, output: 9}", "goal: this goal raises a steady rate"},
		{steady, "goal={find: latency, power: 1kW} workload={arrivals: {process: closed-loop, " +
			"users: 9}, prompt: 9, output: 9}", ""},
		{steady, "horizon={months: 24, growth: 0.1, commitments: [{months: 12, saves: 0.3}]}", ""},
		{steady, "horizon.months=1", "horizon.months"},
		{steady, "horizon={months: 9, growth: 8}", "horizon.growth"},
		{steady, "horizon={months: 12, growth: 0.51}", ""},
		{steady, "horizon={months: 13, growth: 0.5}", "horizon.growth: found 0.5 for 13 months, " +
			"whose last has 130 times the load of the first; want at most 100 times, so at most " +
			"0.46, or fewer months"},
		{steady, "horizon={months: 9, commitments: [{months: 3, saves: 1}]}", "0.saves"},
		{steady, "horizon={months: 9, commitments: [{months: 3, saves: 0.1}, {months: 3, " +
			"saves: 0.2}]}", "horizon.commitments.1.months: found a second commitment of 3 months"},
		{steady, "horizon={months: 9, start: 10m}", ""},
		{steady, "horizon={months: 9, start: 59s}", "horizon.start: found 59s; want 1m to 1d"},
		{steady, "horizon={months: 9, start: 25h}", "horizon.start: found 25h"},
		{steady, "horizon={months: 9, growth: 8%}", "want a number: as a share, 8% is 0.08"},
		{steady, "horizon={months: 9, commitments: [{months: 6, saves: 0.25}, {months: 3, " +
			"saves: 0.4}]}", "horizon.commitments.0.saves: found 0.25 for 6 months, and 3 months"},
		{steady, "horizon={months: 9, commitments: [{months: 3, saves: 0.1}]} menu.hardware=[" +
			"{accelerator: h100-sxm, term: reserved, price: $2/h}]",
			"horizon.commitments: found no accelerator on demand"},
		{steady, "horizon={months: 9, change: €50}", "horizon.change: found EUR"},
		{steady, "horizon.months=9 goal=front goal.budget=$9/h", "horizon: found together with"},
		{several, "horizon.months=9", "horizon: found together with several models"},
		{job, "horizon.months=9", "horizon: found together with a job"},
		{job, "job.tokens=9", "job: give either requests or tokens"},
		{job, "job={within: 8h}", "job: give either requests or tokens"},
		{job, "job={within: 8h, tokens: 99}", ""}, {job, "slo={ttft: 1s}",
			"slo: has no meaning for"},
		{job, "workload.rate=9/s", "workload.rate: has no meaning for a job"},
		{job, "workload.requests=9", "workload.requests: has no meaning for a job"},
		{job, "fleet.spare=1", "fleet: has no meaning for a job"},
		{job, "workload={classes: [{name: a, share: 1, prompt: 9, output: 9}, " +
			"{name: b, rate: 1/s, prompt: 9, output: 9}]}",
			"workload.classes.1.rate: has no meaning"},
		{job, "menu.scaling=[queue]", "menu.scaling: has no meaning together with a job"},
		{steady, "menu.scaling=[queue]", "workload: arrives at a steady rate"},
		{steady, "menu.scaling=[queue] " + waves, ""},
		{several, "menu.scaling=[queue]", "models.0.workload: arrives at a steady rate"},
		{steady, "menu.scaling=[queue] goal.find=cheapest " + waves, ""},
		{steady, "menu.scaling=[queue] goal.find=front " + waves, "menu.scaling: is planned for"},
		{steady, "menu.scaling=[queue] fleet.autoscaling=true " + waves, ""},
		{steady, "menu.scaling=[queue] workload={arrivals: {process: closed-loop, users: 9}, " +
			"prompt: 9, output: 9}", "workload.arrivals: found closed-loop"},
		{steady, "menu.scaling=[queue] workload={rate: {pattern: bursts, high: 60/s, low: 5/s, " +
			"for: 5s, pause: 10s}, prompt: 9, output: 9}", "workload: has no end"},
		{steady, "menu.scaling=[queue] workload={rate: {pattern: bursts, high: 60/s, low: 5/s, " +
			"for: 5s, pause: 10s}, prompt: 9, output: 9, duration: 60s}", ""},
		{steady, "menu.scaling=[queue] menu.hardware=[{accelerator: h100-sxm, " + spot +
			"] " + waves,
			"menu.scaling: all accelerators of menu.hardware are reserved, owned or spot"},
		{steady, "menu.scaling=[queue] menu.hardware=[{accelerator: h100-sxm, " + spot +
			", {accelerator: h100-sxm, price: $2/h}] " + waves, ""},
		{steady, "menu.data=[2] menu.expert=[3]", "menu.expert: found 3; with data-parallel"},
		{steady, "menu.data=[2] menu.expert=[3, 4]", ""}, {steady, "menu.data=[2] menu.expert=[2]",
			""},
		{steady, "menu.data=[2] menu.expert=[1]", ""}, {steady, "menu.data=[1] menu.expert=[3]",
			""},
		{steady, "menu.expert=[3]", ""},
		{steady, "menu.disaggregated=[{prefill: 1, decode: {replicas: 1, data: [2], expert: [3]}}]",
			"menu.disaggregated.0.decode.expert: found 3"},
		{steady, "menu.disaggregated=[{decode: 1, prefill: {replicas: 1, data: [2], expert: [8]}}]",
			"menu.disaggregated.0.prefill.expert: found 8"},
		{steady, "menu.disaggregated=[{decode: 1, prefill: {replicas: 1, data: [2], expert: [2]}}]",
			""},
		{steady, "menu.hardware=[{accelerator: h100-sxm, price: 2 EUR/h}, " +
			"{accelerator: l4, price: $1/h}]", "menu.hardware.1.price: the price is in USD"},
		{steady, "menu.hardware=[{accelerator: h100-sxm, price: 2 EUR/h, currency: USD}]",
			"menu.hardware.0.currency: found USD, and the price is in EUR"},
		{steady, "menu.hardware=[{accelerator: h100-sxm, price: 2 EUR/h, currency: EUR}]", ""},
		{steady, "goal={find: latency, budget: 9 EUR/h}", "goal.budget: the price is in EUR"},
		{steady, "menu.memory=[{policy: paged, price: 1 EUR/h}]", "menu.memory.0.price"},
		{steady, "tokens={input: €1/M, output: €2/M}", "tokens: the price is in EUR"},
		{steady, "tokens={input: $1/M, output: $2/M, cached-input: €1/M}",
			"tokens: the price is in EUR"},
		{steady, "tokens={input: $1/M, output: $2/M, cached-input: $0.1/M}", ""},
		{steady, "menu.hardware=[{accelerator: h100-sxm, provider: nobody}]",
			"menu.hardware.0.provider: the catalogue has no price of h100-sxm: unknown provider"},
		{steady, "menu.hardware=[{accelerator: h100-sxm, provider: nobody, price: $2/h}]", ""},
		{steady, "menu.hardware=[{accelerator: l4, price: 2 EUR/h}, h100-sxm]", "USD"},
		{steady, "menu.hardware=[{accelerator: l4, price: 2 EUR/h}, " +
			"{accelerator: own, file: own.yaml}]", "give a price"},
		{steady, "menu.hardware=[{accelerator: l4, term: owned, price: $1/h, purchase: $9, " +
			"years: 1, draw: 1W, electricity: $1/kWh}]",
			"the price of an owned accelerator follows"},
		{steady, "menu.hardware=[{accelerator: l4, term: owned, purchase: $9, years: 1, " +
			"draw: 1W, electricity: €1/kWh}]", "convert one of them"},
		{steady, "prices=none.yaml", "prices: none.yaml: no such file"},
	} {
		var overrides []string
		for _, part := range strings.Split(c.set, " ") { // of a value with spaces, to the next key
			key, _, found := strings.Cut(part, "=")
			if part == "" {
				continue
			}
			if !found || strings.ContainsAny(key, "{[:,") {
				overrides[len(overrides)-1] += " " + part
			} else {
				overrides = append(overrides, part)
			}
		}
		_, err := asked.Parse("plan.yaml", []byte(c.text), overrides...)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: error %v", c.set, err)
		case c.want != "" && (err == nil || !scenarios.IsInputError(err) ||
			!strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.set, err, c.want)
		}
	}
}

// What a plan leaves out has its default, and what it gives stays.
func TestDefaultsOfPlans(t *testing.T) {
	p := parsed(t, strings.Replace(steady, ", tensor: [1, 2]", "", 1))
	if len(p.Menu.Tensor) != 4 || p.Menu.Tensor[3] != 8 || p.Goal.Find != asked.FindCheapest ||
		p.Goal.Measure != "" || p.Effort.Requests != 1000 || p.Effort.MostRequests != 16000 ||
		p.Effort.Confidence != 0.95 || p.Fleet.Growth != 1 || !p.Tunes() || p.PricesFrom() != "" {
		t.Errorf("%+v", p)
	}
	p = parsed(t, steady, "effort={requests: 2000, confidence: 0.9}",
		"goal=front", "menu.tune=none")
	if p.Effort.MostRequests != 32000 || p.Effort.Confidence != 0.9 ||
		p.Goal.Measure != "p99_e2el_ms" || p.Tunes() {
		t.Errorf("%+v", p)
	}
	if p = parsed(t, steady, "effort.requests=100"); p.Effort.MostRequests != 16000 {
		t.Errorf("%+v", p.Effort)
	}
	p = parsed(t, steady, "goal={find: latency, power: 1kW, measure: mean_ttft_ms}")
	if p.Goal.Measure != "mean_ttft_ms" || p.Goal.Power != 1000 {
		t.Errorf("%+v", p.Goal)
	}
	if p = parsed(t, job); p.Goal.Find != asked.FindJob ||
		p.Goal.Missed() != "No option is in time." {
		t.Errorf("%+v", p.Goal)
	}
	p = parsed(t, steady, "goal={find: throughput, power: 1kW}", "workload={prompt: 9, output: 9}")
	if p.Peak() != 1 || p.Goal.Missed() != "No option meets the SLO." {
		t.Errorf("a load of %g/s", p.Peak())
	}
	const second = scenarios.Span(sim.Second)
	for text, want := range map[string]scenarios.Span{"": asked.Day, ", requests: 99": 0,
		", duration: 60s": 60 * second} {
		text = "rate: {pattern: wave, average: 9/s, swing: 0.5}" + text
		p := parsed(t, steady, "menu.scaling=[queue]", "workload={prompt: 9, output: 9, "+text+"}")
		if p.Workload.Duration != want {
			t.Errorf("%s lasts %v, want %v", text, p.Workload.Duration, want)
		}
	}
	if p := parsed(t, steady, "menu.scaling=[queue]", waves, "workload.rate.period=1h"); p.Workload.
		Duration != 3600*second {
		t.Errorf("a wave of an hour lasts %v", p.Workload.Duration)
	}
	if p := parsed(t, steady, waves); p.Workload.Duration != 0 || !p.Steady() {
		t.Errorf("a wave of fixed fleets lasts %v", p.Workload.Duration)
	}
}

// A model whose requests are sent on from another has a share of that one's load.
func TestRequestsThatAreSentOn(t *testing.T) {
	head, second, _ := strings.Cut(several, "- {model: llama-2-70b, ")
	_, tail, _ := strings.Cut(second, "\n")
	plan := func(model string) string { return head + "- " + model + "\n" + tail }
	p := parsed(t, plan("{model: llama-2-70b, escalated: {from: first, share: 0.25}, "+
		"slo: {ttft: 2s}}"))
	if got := &p.Models[1].Workload; float64(got.Rate.Value) != 2 ||
		got.Prompt != p.Models[0].Workload.Prompt ||
		float64(p.Models[0].Workload.Rate.Value) != 8 {
		t.Errorf("%+v", got)
	}
	for model, want := range map[string]string{
		"{model: llama-2-70b, escalated: {from: firs, share: 1}}":  "did you mean first",
		"{model: llama-2-70b, escalated: {from: first, share: 0}}": "share",
	} {
		_, err := asked.Parse("plan.yaml", []byte(plan(model)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", model, err, want)
		}
	}
	sessions := strings.Replace(plan("{model: llama-2-70b, escalated: {from: first, share: 1}, "+
		"slo: {ttft: 2s}}"), "output: 9}", "output: 9, sessions: {turns: 4, think: 3s}}", 1)
	if _, err := asked.Parse("plan.yaml", []byte(sessions)); err == nil ||
		!strings.Contains(err.Error(), "models.1.escalated: the requests of first are recorded") {
		t.Errorf("error %v", err)
	}
	if got := asked.EscalatedWords(&scenarios.Escalated{From: "a",
		Share: 0.125}); !strings.HasPrefix(
		got, "12.5% of the requests of a are sent on") || asked.EscalatedWords(nil) != "" {
		t.Errorf("%q", got)
	}
}

// An entry without a price stands for the offers of the price file in its region and on its terms,
// and keeps what it says of links and counts.
func TestOffersOfAPriceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	testkit.OK(t, os.WriteFile(path, []byte(`
date: 2026-11-01
source: a page
provider: acme
currency: EUR
exchange: [{from: USD, rate: 0.5, date: 2026-11-02, source: a bank}]
tokens: {input: $1/M, output: $2/M}
offers:
- {accelerator: h100-sxm, region: north, price: 2 EUR/h}
- {accelerator: h100-sxm, region: south, price: $3/h, count: 9}
- {accelerator: h100-sxm, region: north, term: reserved, price: 1 EUR/h, provider: other}
- {accelerator: l4, price: $1/h, date: 2026-11-09}
`), 0o600))
	for entry, want := range map[string][]float64{
		"h100-sxm": {2, 1.5, 1}, "{accelerator: h100-sxm, region: north}": {2, 1},
		"{accelerator: h100-sxm, term: on-demand}":               {2, 1.5},
		"{accelerator: h100-sxm, region: north, term: reserved}": {1},
		"{accelerator: h100-sxm, price: $8/h}":                   {4}, "l4": {0.5},
	} {
		p := parsed(t, steady, "prices="+path, "menu.hardware=["+entry+"]")
		if len(p.Menu.Hardware) != len(want) || p.Currency != "EUR" ||
			p.PricesFrom() != path+" of 2026-11-01 to 2026-11-09, a page" ||
			math.Abs(p.Tokens.Output.Amount-1) > 1e-12 {
			t.Fatalf("%s: %+v, %+v, %s", entry, p.Menu.Hardware, p.Tokens, p.PricesFrom())
		}
		for i, o := range p.Menu.Hardware {
			if math.Abs(o.Price.Amount-want[i]) > 1e-12 || o.Price.Currency != "EUR" {
				t.Errorf("%s: offer %d costs %+v, want %g", entry, i, o.Price, want[i])
			}
		}
	}
	p := parsed(t, steady, "prices="+path, "menu.hardware=[{accelerator: h100-sxm, count: 4, "+
		"per-node: 2, link: pcie-4, network: infiniband-ndr}]",
		"menu.disaggregated=[{prefill: 1, decode: {replicas: 1, hardware: [l4]}}]",
		"tokens={input: $4/M, output: $4/M}")
	if o := p.Menu.Hardware[1]; o.Count != 4 || o.PerNode != 2 || o.Link != "pcie-4" ||
		o.Network != "infiniband-ndr" || o.Provider != "acme" || o.Date != "2026-11-01" ||
		p.Menu.Hardware[2].Provider != "other" ||
		p.Menu.Disaggregated[0].Decode.Hardware[0].Price.Amount != 0.5 ||
		p.Tokens.Input.Amount != 2 {
		t.Errorf("%+v, %+v", o, p.Tokens)
	}
	if got, err := p.InCurrency(scenarios.Money{Amount: 8}); err != nil || got != 4 {
		t.Errorf("$8 is €%g, %v", got, err)
	}
	for entry, want := range map[string]string{
		"{accelerator: h100-sx}":                                 "did you mean h100-sxm",
		"{accelerator: h100-sxm, region: nort}":                  "found no price for it",
		"{accelerator: h100-sxm, region: south, term: reserved}": "found no price for it",
	} {
		_, err := asked.Parse("plan.yaml", []byte(steady), "prices="+path,
			"menu.hardware=["+entry+"]")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", entry, err, want)
		}
	}
}

// An accelerator that names a provider of the catalogue has its price, date and source.
func TestPricesOfTheCatalogue(t *testing.T) {
	plain := &asked.Offer{Accelerator: "h100-sxm"}
	l, known := plain.Listed()
	if !known || l.Provider == "" || l.Price <= 0 {
		t.Fatalf("%+v", l)
	}
	p := parsed(t, steady, "menu.hardware=[{accelerator: h100-sxm, provider: \""+l.Provider+"\"}, "+
		"{accelerator: h100-sxm, provider: \""+l.Provider+"\", price: $9/h}, h100-sxm]")
	listed, given, left := &p.Menu.Hardware[0], &p.Menu.Hardware[1], &p.Menu.Hardware[2]
	if listed.Price.Amount != l.Price || listed.Date != l.Date || listed.Source != l.Source ||
		given.Price.Amount != 9 || given.Source != "" || left.Price.Amount != 0 {
		t.Errorf("%+v, %+v, %+v, want %+v", listed, given, left, l)
	}
	other := &asked.Offer{Accelerator: "h100-sxm", Provider: "another"}
	if !p.Joins(left, listed) || p.Joins(left, other) || !p.Joins(&asked.Offer{}, other) {
		t.Error("an offer of the catalogue has its provider")
	}
	if _, known := (&asked.Offer{Accelerator: "none"}).Listed(); known {
		t.Error("an unknown accelerator is listed")
	}
	if _, known := other.Listed(); known {
		t.Error("an unknown provider is listed")
	}
	if _, known := (&asked.Offer{Accelerator: "h100-sxm", Region: "nowhere"}).Listed(); !known {
		t.Error("a region alone is not looked at")
	}
}
