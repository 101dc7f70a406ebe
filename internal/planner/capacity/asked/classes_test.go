package asked

import (
	"fmt"
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
