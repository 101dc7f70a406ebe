package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// A page of which every part is long, as those of spot fleets with a base are, and one of several
// such models, divided loads included, have 25 lines of 80 columns. The fleets, their prices, and
// whether predictions for them are known to be off are on each, and in what way on pages with room
// for it; and of one or two models, what they cost without an FP8 cache. Of more models than there
// is room for, a line says of each what it costs and how sure that is.
func TestLongPagesAreCut(t *testing.T) {
	const label = "1 × h100-sxm spot in us-east at $1.5/h, 1 of them on-demand at $2.99/h"
	long := Answer{Name: "long", Load: strings.Repeat("prompts and answers ", 20),
		Joint: true, SentOn: strings.Repeat("sent on ", 20),
		Tuned:    &Tuned{PlainCache: &Priced{label, 7, 12.5}},
		KnownOff: []string{strings.Repeat("slower than predicted ", 20)},
		Chosen: &Deployment{Label: label, Replicas: 6, Accelerators: 6, Hourly: 10.49,
			Chances: []Chance{{Replicas: 5, Probability: 0.5}, {Replicas: 6, Probability: 0.9}},
			Likely:  &CheaperFleet{Replicas: 5},
			Launch:  []string{"vllm serve m" + strings.Repeat(" --flag 'a b'", 99)}}}
	for i := range 12 {
		long.Shapes = append(long.Shapes, Shape{Label: fmt.Sprint(i, label), Replicas: 7,
			Hourly: 5})
		long.Sensitivity = append(long.Sensitivity, Sensitivity{Changes: true, Input: "rate",
			Answer: label})
		long.ClassSLOs = append(long.ClassSLOs, ClassSLO{Class: strings.Repeat("name ", 9)})
	}
	plain := long // with the cache of its menu
	plain.Tuned = nil
	off := Answer{Chosen: long.Chosen, KnownOff: []string{"slower than predicted"}}
	var short strings.Builder
	testkit.OK(t, (&Answers{Models: []*Answer{&off}}).Write(&short, Brief))
	if !strings.Contains(short.String(), "Known to be off: slower than predicted.") {
		t.Errorf("a short page does not say what is off:\n%s", short.String())
	}
	for _, models := range [][]*Answer{{&long}, {&long, &long}, {&plain, &plain, &plain}} {
		var out strings.Builder
		testkit.OK(t, (&Answers{Models: models}).Write(&out, Short))
		page := out.String()
		if strings.Count(page, "\n") > 25 ||
			strings.Count(page, "Answer: 6 replicas of "+label[:20]) != len(models) ||
			strings.Count(page, "$10.49 an hour for 6 accelerators") != len(models) ||
			strings.Count(strings.ToLower(page), "known to be off") != len(models) ||
			strings.Count(page, "Without an FP8 cache: ") != len(models)%3 ||
			strings.Count(strings.ReplaceAll(page, "\n", " "), "$12.50 an hour.") !=
				len(models)%3 {
			t.Errorf("%d models:\n%s", len(models), page)
		}
		inColumns(t, page)
	}
	long.PricesOf = []Price{{Provider: "a"}, {Provider: "b"}}
	long.ClassesTogether = 30
	none := &Answer{Name: "out of reach", Nearest: &Nearest{Label: label}}
	for n := 2; n <= 7; n++ {
		all := &Answers{Models: slices.Repeat([]*Answer{&long}, n), Hourly: 10.49 * float64(n),
			Divided: &Divided{Seeds: 3, Requests: 12345, Kept: 0.9912}}
		if n > 3 {
			all.Models[n-1] = none
		}
		var out strings.Builder
		testkit.OK(t, all.Write(&out, Short))
		page := strings.Join(strings.Fields(out.String()), " ")
		if strings.Count(out.String(), "\n") > 25 || !strings.Contains(page, "Together: ") ||
			!strings.Contains(page, "One fleet for all prompts would cost $30.00 an hour.") ||
			!strings.Contains(page, "99.12% of 12,345 requests meet the SLO") ||
			!strings.Contains(page, "Prices are of several sources.") ||
			strings.Count(page, "$10.49") != n-n/4 || !strings.Contains(page, "50%") ||
			!strings.Contains(strings.ToLower(page), "known to be off") {
			t.Errorf("%d models:\n%s", n, out.String())
		}
		inColumns(t, out.String())
	}
}

// inColumns checks that no line of a page is longer than 80 columns.
func inColumns(t *testing.T, page string) {
	t.Helper()
	for line := range strings.Lines(page) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

// A brief answer names the next fleets in order, at most two, and none that is more than four times
// as dear or slow, or that serves less than a quarter, whatever the goal; beside other models, none
// whose accelerators another model has.
func TestNextIsWithinReach(t *testing.T) {
	chosen := &Deployment{Label: "a", Hourly: 10}
	for want, a := range map[string]Answer{
		"3 replicas of b, $40.00 an hour (measured)": {Joint: true, Shapes: []Shape{
			{Label: "e", Replicas: 1, Hourly: 5, Grade: "measured"},
			{Label: "a", Replicas: 2, Hourly: 10, Grade: "measured"},
			{Label: "b", Replicas: 3, Hourly: 40, Grade: "measured"},
			{Label: "c", Replicas: 192, Hourly: 41, Grade: "measured"},
			{Label: "d", Grade: "measured"}}},
		"3 replicas of b, 2/s (relative)": {Rate: 8, Throughputs: []Throughput{
			{Label: "a", Replicas: 1, Rate: 8}, {Label: "b", Replicas: 3, Rate: 2,
				Grade: "relative"}, {Label: "c", Replicas: 192, Rate: 1.9}}},
		"3 replicas of b, p99_ttft_ms 40 (relative)": {Goal: asked.Goal{Measure: "p99_ttft_ms"},
			Points: []Point{{Label: "a", Latency: 10}, {Label: "b", Replicas: 3, Latency: 40,
				Grade: "relative"}, {Label: "c", Replicas: 192, Latency: 41}}},
		"3 replicas of b, $4.00, 2 hours (relative)": {Jobs: []JobDone{{Label: "a", Dollars: 1},
			{Label: "b", Replicas: 3, Dollars: 4, Hours: 2, Grade: "relative"},
			{Label: "c", Replicas: 192, Dollars: 4.1}}},
	} {
		a.Chosen = chosen
		if got := a.next(); !slices.Equal(got, []string{want}) {
			t.Errorf("next: %q, want %q", got, want)
		}
	}
}
