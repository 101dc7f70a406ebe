package asked

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

const classesPlan = `
model: llama-3.1-8b
workload: {%s, prompt: 300, output: 40, classes: [%s]}
slo: {ttft: 1s}
menu: {hardware: [h100-sxm]}
`

// A load of classes is the same question for each set of them, whether classes have shares of a
// rate or rates of their own: also of a wave, and where only some have shares.
func TestSharesOfARateAreRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wave := rapid.Bool().Draw(t, "wave")
		rate := func(n int) string {
			if wave {
				return fmt.Sprintf("rate: {pattern: wave, average: %d/s, swing: 0.5}", n)
			}
			return fmt.Sprintf("rate: %d/s", n)
		}
		each := rapid.IntRange(1, 3).Draw(t, "rate of a share")
		sum := 0
		var shared, rated []string
		classes := rapid.IntRange(2, mostDivided).Draw(t, "classes")
		for i := range classes {
			n := rapid.IntRange(1, 9).Draw(t, "share")
			own := fmt.Sprintf("{name: c%d, %s}", i, rate(n*each))
			rated = append(rated, own)
			if i > 0 && rapid.Bool().Draw(t, "own") {
				shared = append(shared, own)
				continue
			}
			sum += n
			shared = append(shared, fmt.Sprintf("{name: c%d, share: %d}", i, n))
		}
		parse := func(common string, list []string) *File {
			f, err := Parse("p.yaml", fmt.Appendf(nil, classesPlan, common,
				strings.Join(list, ", ")))
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		one := parse(rate(sum*each), shared)
		other := parse("patience: 1000s", rated)
		one.Plan.Workload.Patience = other.Plan.Workload.Patience
		if !one.Divides() || !other.Divides() {
			t.Fatalf("kept together: %q, %q", one.Together(), other.Together())
		}
		for set := 1; set < 1<<classes; set++ {
			a, b := one.OfClasses(set), other.OfClasses(set)
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("set %b: %+v, want %+v", set, a.Plan.Workload, b.Plan.Workload)
			}
		}
	})
}

// A plan says why it keeps classes together.
func TestWhyClassesShareServersIsTold(t *testing.T) {
	const two = "{name: a}, {name: b}"
	const five = two + ", {name: c}, {name: d}, {name: e}"
	for _, c := range []struct{ load, classes, keys, want string }{
		{"rate: 9/s", two, "", ""}, {"rate: 9/s", "{name: a}", "horizon={months: 9}", ""},
		{"rate: 9/s, arrivals: poisson", two, "", ""},
		{"rate: 9/s", two, "horizon={months: 9}", "the plan has a horizon"},
		{"rate: 9/s", two, "goal={find: front, budget: $99/h}", "the goal is front"},
		{"rate: 9/s", five, "", "there are more than 4"},
		{"rate: 9/s, arrivals: constant", two, "", "independently"},
		{"users: 9", two, "", "independently"},
	} {
		var keys []string
		if c.keys != "" {
			keys = append(keys, c.keys)
		}
		f, err := Parse("p.yaml", fmt.Appendf(nil, classesPlan, c.load, c.classes), keys...)
		testkit.OK(t, err)
		if words := f.Together(); !strings.Contains(words, c.want) || c.want == "" && words != "" {
			t.Errorf("%s of %s, %s: %q, want %q", c.load, c.classes, c.keys, words, c.want)
		}
	}
}

// Requests that are divided by their prompts are the requests that were asked for: rates add up to
// the rate, and lengths, weighted by them, to the lengths.
func TestPromptsAreDividedWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean, most := rapid.IntRange(300, 4000).Draw(t, "mean"),
			rapid.IntRange(9000, 30000).Draw(t, "most")
		rate := rapid.IntRange(1, 99).Draw(t, "rate")
		prompt := rapid.SampledFrom([]string{"lognormal, mean: %d, cv: 2", "gamma, mean: %d, cv: 2",
			"exponential, mean: %d", "normal, mean: %d, std: 900"}).Draw(t, "prompt")
		f, err := Parse("p.yaml", fmt.Appendf(nil, `
model: llama-3.1-8b
workload: {rate: %d/s, prompt: {distribution: %s, max: %d}, output: 40}
slo: {ttft: 1s}
menu: {hardware: [h100-sxm], divide: prompts}
`, rate, fmt.Sprintf(prompt, mean), most))
		testkit.OK(t, err)
		at := f.Thresholds()
		if len(at) != len(promptShares()) {
			t.Fatalf("divided at %v", at)
		}
		all := f.prompts()
		edges := append(append([]int{0}, at...), 0)
		rates, tokens := 0.0, 0.0
		for i := range len(edges) - 1 {
			part := f.OfPrompts(edges[i], edges[i+1])
			drawn := part.prompts()
			if drawn.Min() != max(edges[i]+1, all.Min()) ||
				drawn.Max() != cmp.Or(edges[i+1], all.Max()) {
				t.Fatalf("prompts above %d up to %d are %v", edges[i], edges[i+1], drawn)
			}
			rates += part.Plan.Peak()
			tokens += part.Plan.Peak() * drawn.Mean()
		}
		if math.Abs(rates-f.Plan.Peak()) > 1e-5*rates ||
			math.Abs(tokens/rates-all.Mean()) > 1e-4*all.Mean() {
			t.Fatalf("%g/s of %g tokens, want %g/s of %g", rates, tokens/rates, f.Plan.Peak(),
				all.Mean())
		}
	})
}

// Prompts are divided where they are of very different lengths, or where that is asked for.
func TestPromptsThatAreDivided(t *testing.T) {
	const long = "prompt: {distribution: lognormal, mean: 3000, cv: 2, max: 60000}"
	for _, c := range []struct {
		load, divide string
		divided      bool
	}{
		{long, "", true}, {long, "prompts", true}, {long, "classes", false}, {long, "none", false},
		{"prompt: {distribution: lognormal, mean: 3000, cv: 0.4, max: 60000}", "", false},
		{"prompt: {distribution: lognormal, mean: 3000, cv: 0.4, max: 60000}", "prompts", true},
		{"prompt: {distribution: lognormal, mean: 3000, cv: 2}", "prompts", false},
		{"prompt: 3000", "prompts", false}, {long + ", arrivals: constant", "prompts", false},
		{long + ", users: 9", "prompts", false},
		{long + ", prefix: {groups: 3, tokens: 99}", "prompts", false},
		{long + ", classes: [{name: a}]", "prompts", false},
	} {
		rate := "rate: 9/s, "
		if strings.Contains(c.load, "users") {
			rate = ""
		}
		text := "model: llama-3.1-8b\nworkload: {" + rate + c.load + "}\nslo: {ttft: 1s}\n" +
			"menu: {hardware: [h100-sxm]}\n"
		var keys []string
		if c.divide != "" {
			keys = append(keys, "menu.divide="+c.divide)
		}
		f, err := Parse("p.yaml", []byte(text), keys...)
		testkit.OK(t, err)
		if at := f.Thresholds(); len(at) > 0 != c.divided {
			t.Errorf("%s, divide %q: %v", c.load, c.divide, at)
		}
	}
}
