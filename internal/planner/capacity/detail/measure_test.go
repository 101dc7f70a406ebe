package detail

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// The expected saving is the mean, over drawn cases, of what the cheapest fleet that holds in a
// case costs less than the answer.
func TestExpectedSavingsAreMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price, p := rapid.Float64Range(10, 20).Draw(t, "price"), 1.0
		var fleets []answer.CheaperFleet
		cost := price
		for range rapid.IntRange(0, 5).Draw(t, "fleets") {
			cost -= rapid.Float64Range(0, 3).Draw(t, "less")
			p *= rapid.Float64Range(0, 1).Draw(t, "share")
			fleets = append(fleets, answer.CheaperFleet{Hourly: max(0, cost), Probability: p})
		}
		const cases = 10_000
		sum := 0.0
		for k := range cases {
			least := price
			for _, f := range fleets {
				if (float64(k)+0.5)/cases < f.Probability {
					least = min(least, f.Hourly)
				}
			}
			sum += (price - least) / cases
		}
		if got := expectedSaving(price, fleets); math.Abs(got-sum) > price/cases*5 {
			t.Fatalf("%g, want %g", got, sum)
		}
	})
}

// What measuring saves is what the cheapest fleet costs less that bears the load with the steps
// that are then found, over the distribution of step times: nothing where all is known, or where
// what it saves is less than a hundredth of the price.
func TestMeasuringSavesWhatStepsAllow(t *testing.T) {
	f, _, law := stubbed(t, steadyPlan)
	o := f.Option
	o.Prefill.Load = &asked.Load{Work: asked.Work{Requests: 2, Prompt: 600, Output: 80}}
	o.Grade, o.Price, f.Rate, f.Replicas, f.Hourly = evidence.Measured, 2, 95, 12, 24
	f.obey(law, byCapacity)
	m, err := f.Measure(t.Context(), o, 11)
	testkit.OK(t, err)
	mean, cases := 0.0, 0
	for z := -4.0; z <= 4; z += 0.001 {
		n := max(10, math.Ceil(f.Rate*math.Exp(0.02+0.1*z)/each)) // two fleets are looked at
		mean += (phi(z+0.0005) - phi(z-0.0005)) * max(0, f.Hourly-2*n)
		cases++
	}
	if want := 8766 * mean; m == nil || math.Abs(m.Saving-want) > 0.06*want {
		t.Fatalf("%+v, want %g a year", m, want)
	}
	if m.Fleets[0].Replicas != 11 || m.Fleets[1].Less != 4 || m.Daily != 48 || m.Accelerators != 1 {
		t.Errorf("%+v", m)
	}
	commands := strings.Join(m.Commands, "\n")
	for _, part := range []string{"vllm serve meta-llama/Llama-3.1-8B-Instruct",
		"vllm bench serve --model meta-llama/Llama-3.1-8B-Instruct --port 8000",
		"--random-input-len 300 --random-output-len 40", "--request-rate 4.32 ",
		"--request-rate 8.64 --num-prompts 2591 ", "llmsim twin adapt observed --scenario " +
			answer.MeasureFile, "llmsim plan plan.yaml --set engine.deployment=deployment.yaml"} {
		if !strings.Contains(commands, part) {
			t.Errorf("no %q in\n%s", part, commands)
		}
	}
	if !strings.Contains(m.Scenario, "l40s") {
		t.Errorf("the scenario is\n%s", m.Scenario)
	}
	f.Rate = 99 // which 10 bear in 46 % of cases, and 9 in 13 %
	for _, c := range []struct {
		hourly float64
		most   int
		worth  bool
	}{{22, 10, true}, {20.1, 10, false}, {22, 9, false}, {22, 0, false}} {
		f.Hourly = c.hourly
		if m, err := f.Measure(t.Context(), o, c.most); err != nil || (m != nil) != c.worth {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
	}
	o.Grade, f.Hourly = evidence.Here, 24
	if m, err := f.Measure(t.Context(), o, 11); err != nil || m != nil {
		t.Errorf("of a deployment that was measured: %+v, %v", m, err)
	}
}

// A fleet of a server that was not measured is as sure as was asked where simulations say so: what
// came true of such forecasts bounds the chances of all its fleets alike. So of fleets that are
// cheaper than the answer, measuring saves what the ones that may still miss cost less.
func TestSureFleetsAreKnownByTheirSimulations(t *testing.T) {
	f, _, law := stubbed(t, steadyPlan)
	o := f.Option
	o.Prefill.Load = &asked.Load{Work: asked.Work{Requests: 2, Prompt: 600, Output: 80}}
	o.Grade, o.Price, f.Rate, f.Replicas, f.Hourly = evidence.Distant, 2, 95, 16, 32
	f.obey(law, byCapacity)
	sure, err := f.chanceOf(t.Context(), 15)
	testkit.OK(t, err)
	most, _ := o.Grade.Supported(1, false)
	if sure.Probability > most || sure.Simulated < 0.98 || !f.asSure(&sure) {
		t.Errorf("%+v, and at most %g came true", sure, most)
	}
	if less, err := f.chanceOf(t.Context(), 9); err != nil || f.asSure(&less) {
		t.Errorf("%+v, %v", less, err)
	}
	m, err := f.Measure(t.Context(), o, 15)
	if err != nil || m != nil && m.Fleets[0].Replicas == 15 {
		t.Errorf("%+v, %v", m, err)
	}
}

// Two digits are kept of an amount.
func TestTwoDigits(t *testing.T) {
	for x, want := range map[float64]float64{0: 0, 12345: 12000, 12500: 13000, 99.6: 100, 7: 7,
		0.0123: 0.012} {
		if got := twoDigits(x); math.Abs(got-want) > 1e-9 {
			t.Errorf("%g: %g, want %g", x, got, want)
		}
	}
}
