package capacity

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// smallPlans are cheap plans of the kinds that cmd/llmsim's TestPlansOfEveryKindHaveTheSameBytes
// does not have, and words of their pages.
func smallPlans() map[string]struct{ text, shows string } {
	const slo = "slo: {ttft: 1s, tpot: 40ms, percentile: 95}\n"
	const effort = "\neffort: {requests: 100, most-requests: 200}\n"
	return map[string]struct{ text, shows string }{
		"apart": {"model: llama-3.1-8b\nworkload: {rate: 30/s, prompt: 2000, output: 40}\n" +
			"slo: {ttft: 800ms, tpot: 15ms}\nmenu: {hardware: [h100-sxm], tensor: [1], tune: " +
			"none, disaggregated: [{prefill: 1..2, decode: 1}]}" + effort, "2P+1D"},
		"cascade": {"models:\n" +
			"  - {name: small, model: llama-3.1-8b, workload: {rate: 20/s, prompt: 800, " +
			"output: 50}, slo: {ttft: 1s, tpot: 50ms}}\n" +
			"  - {name: large, model: llama-3.1-70b, escalated: {from: small, share: 0.2}, " +
			"slo: {ttft: 2s, tpot: 60ms}}\n" +
			"menu: {hardware: [h100-sxm], tensor: [1, 4], tune: none}" + effort, "Together"},
		"regions": {"model: llama-3.1-8b\nworkload: {rate: 30/s, prompt: 400, output: 40}\n" +
			slo + "menu: {hardware: [{accelerator: h100-sxm, region: far, round-trip: 150ms, " +
			"price: $2/h}], tensor: [1]}" + effort, "in far"},
		"wide": {"model: deepseek-v3\nworkload: {rate: 10/s, prompt: 2000, output: 100}\n" +
			"slo: {ttft: 5s, tpot: 100ms}\nmenu: {hardware: [h200-sxm], tensor: [1], " +
			"weights: [fp8], tune: none, disaggregated: [{prefill: {replicas: 1, data: [8]}, " +
			"decode: {replicas: 1, data: [16]}}]}" + effort, "(data 16)"},
		"trace": {"model: llama-3.1-8b\nworkload: {trace: trace.csv}\n" + slo +
			"menu: {hardware: [l40s, h100-sxm], tensor: [1]}", "recorded times"},
		"prefix": {"model: llama-3.1-8b\nworkload: {rate: 10/s, prompt: 500, output: 20, " +
			"prefix: {tokens: 2000, groups: 20}}\n" + slo + "menu: {hardware: [l40s], " +
			"tensor: [1], routing: [least-requests, prefix-aware]}" + effort, ", prefix-aware"},
		"out of reach": {"model: llama-3.1-8b\nworkload: {rate: 1/s}\nslo: {ttft: 5ms}\n" +
			"menu: {hardware: [l40s], tensor: [1]}", "No option meets the SLO"},
	}
}

// fitsOnAScreen checks that what is printed unless details are asked for has at most 25 lines of 80
// columns, leaves nothing out but by name, and that each of its figures is in plan.json, to the
// digits that are printed.
func fitsOnAScreen(t *testing.T, all *answer.Answers, shows string) {
	t.Helper()
	var out bytes.Buffer
	testkit.OK(t, all.Write(&out, answer.Short))
	page := out.String()
	if lines := strings.Count(page, "\n"); lines > 25 || !strings.Contains(page, shows) ||
		!strings.Contains(page, "More: --details") ||
		regexp.MustCompile(`and \d+ more`).MatchString(page) {
		t.Errorf("%d lines, want %q in them:\n%s", lines, shows, page)
	}
	for line := range strings.Lines(page) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	data, err := json.Marshal(all)
	testkit.OK(t, err)
	if list := unfounded(t, page, data); list != nil {
		t.Errorf("the figures %q are not in plan.json:\n%s", list, page)
	}
}

// figures are the numbers of a text with what follows them: "12,345.6%", or "20/h".
var figures = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?) ?(%|/h)?`)

// unfounded returns the figures of a text that are no value of a JSON document, and no number in
// its words.
func unfounded(t *testing.T, text string, document []byte) (list []string) {
	t.Helper()
	var values []float64
	number := func(digits string) float64 {
		x, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
		testkit.OK(t, err)
		return x
	}
	var collect func(x any)
	collect = func(x any) {
		switch x := x.(type) {
		case float64:
			values = append(values, x)
		case string:
			for _, f := range figures.FindAllStringSubmatch(x, -1) {
				values = append(values, number(f[1]))
			}
		case []any:
			for _, y := range x {
				collect(y)
			}
		case map[string]any:
			for _, y := range x {
				collect(y)
			}
		}
	}
	var whole any
	testkit.OK(t, json.Unmarshal(document, &whole))
	collect(whole)
	if slices.ContainsFunc(values, func(v float64) bool { return 1-answer.Certain < v && v <= 1 }) {
		text = strings.ReplaceAll(text, "more than 98%", "") // which such a chance is called
	}
	for _, f := range figures.FindAllStringSubmatch(text, -1) {
		digits := strings.TrimRight(f[1], ",")
		x, half := number(digits), 0.5
		if _, decimals, ok := strings.Cut(digits, "."); ok {
			half = 0.5 * math.Pow10(-len(decimals))
		}
		units := map[string]float64{"%": 100, "/h": 3600}[f[2]]
		if !slices.ContainsFunc(values, func(v float64) bool {
			return math.Abs(v-x) <= half*1.0001 ||
				units > 0 && math.Abs(float64(v*units)-x) <= half*1.0001
		}) {
			list = append(list, digits+f[2])
		}
	}
	return list
}

// Figures are found as numbers, shares, by the hour, rounded, in words, and as chances that are
// nearly sure; others are not.
func TestUnfoundedFigures(t *testing.T) {
	const document = `{"a": 0.9749, "b": [12345.64, {"c": "5 of 1 × h100 at $2.99"}], "d": 0.00556}`
	got := unfounded(t, "97% of 12,346 or 12,345.6, 20/h of h100 at $2.99; 98%, 12,347, 3.1, 21/h",
		[]byte(document))
	if want := []string{"98%", "12,347", "3.1", "21/h"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	const sure = "in more than 98% of cases, 98%"
	for chance, want := range map[string][]string{"0.99": {"98%"}, "0.9": {"98%", "98%"}} {
		if got := unfounded(t, sure, []byte(`{"p": `+chance+`}`)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", chance, got, want)
		}
	}
}

// What is printed unless details are asked for fits on a screen, whatever the kind of the plan.
func TestShortAnswersHave25Lines(t *testing.T) {
	testkit.Dear(t)
	fitsOnAScreen(t, &answer.Answers{Models: []*answer.Answer{solved(t, "many-users")}},
		"To start a replica")
	plans := smallPlans()
	names := slices.Sorted(maps.Keys(plans))
	if testing.Short() {
		names = testkit.DrawCases(t, 3, names)
	}
	for _, name := range names {
		plan := plans[name]
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plan.yaml")
			testkit.OK(t, os.WriteFile(file, []byte(plan.text), 0o600))
			testkit.OK(t, os.WriteFile(filepath.Join(filepath.Dir(file), "trace.csv"),
				[]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n"+
					"2023-11-16 18:00:00.0000000,500,20\n2023-11-16 18:00:01.0000000,900,30\n"),
				0o600))
			f, err := asked.Open(file)
			testkit.OK(t, err)
			all, err := Solve(context.Background(), f, Options{})
			testkit.OK(t, err)
			fitsOnAScreen(t, all, plan.shows)
		})
	}
}
