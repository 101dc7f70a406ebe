package capacity

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
			"slo: {ttft: 800ms, tpot: 15ms}\nmenu: {hardware: [h100-sxm], tensor: [1], " +
			"disaggregated: [{prefill: 1..2, decode: 1}]}" + effort, "2P+1D"},
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

// What is printed unless details are asked for fits on a screen, whatever the kind of the plan.
func TestShortAnswersHave25Lines(t *testing.T) {
	takeTurns(t)
	check := func(t *testing.T, all *answer.Answers, shows string) {
		t.Helper()
		var out bytes.Buffer
		testkit.OK(t, all.Write(&out, answer.Short))
		page := out.String()
		if lines := strings.Count(page, "\n"); lines > 25 || !strings.Contains(page, shows) ||
			!strings.HasSuffix(page, "more with --details.\n") {
			t.Errorf("%d lines, want %q in them:\n%s", lines, shows, page)
		}
		for line := range strings.Lines(page) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("more than 80 columns: %s", line)
			}
		}
	}
	check(t, &answer.Answers{Models: []*answer.Answer{solved(t, "many-users")}},
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
			check(t, all, plan.shows)
		})
	}
}
