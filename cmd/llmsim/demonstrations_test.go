package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/testkit"
)

// printedBy returns what a command prints to standard output.
func printedBy(t *testing.T, line string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := strings.Fields(strings.TrimPrefix(line, "llmsim "))
	if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
		t.Fatalf("%s: exit code %d: %s", line, code, stderr.String())
	}
	return stdout.String()
}

// verdicts are what each comparison that the pages for teachers name shows of its last variant, by
// figure.
func verdicts() map[string]map[string]string {
	return map[string]map[string]string{
		"llmsim compare chat offline --replications 5": {"p99_ttft_ms": "worse",
			"mean_tpot_ms": "worse", "output_throughput": "better",
			"cost_per_million_output_tokens": "better"},
		"llmsim compare cpu-llama-8b gpu-llama-8b --replications 2": {
			"mean_tpot_ms": "32 times less", "cost_per_million_output_tokens": "more"},
		"llmsim compare attention-mha --vary shape.kv-heads=32,8,1 --replications 5": {
			"output_throughput": "better", "cost_per_million_output_tokens": "better"},
		"llmsim compare chat --vary batching=orca,sarathi --replications 5": {
			"p99_itl_ms": "better", "p99_tpot_ms": "better", "mean_ttft_ms": "worse"},
		"llmsim compare speculation-off speculation-on --replications 5": {
			"mean_tpot_ms": "better"},
	}
}

// What a page tells a teacher to show is shown: each comparison gives its verdicts, beyond noise.
// Where a scenario draws nothing at random, a run is all there is, and the ratio is tested.
func TestDemonstrationsShowTheirVerdict(t *testing.T) {
	command := regexp.MustCompile("`(llmsim compare [^`]*)`")
	named := map[string]bool{}
	for _, page := range []string{"notebooks/README.md", "docs/teaching.md"} {
		text := testkit.Read(t, filepath.Join("..", "..", page))
		for _, found := range command.FindAllStringSubmatch(string(text), -1) {
			named[found[1]] = true
			if verdicts()[found[1]] == nil {
				t.Errorf("%s: the verdict of %s is not tested", page, found[1])
			}
		}
	}
	lessons := string(testkit.Read(t, filepath.Join("..", "..", "notebooks", "README.md")))
	for line, want := range verdicts() {
		if !named[line] {
			t.Errorf("no page names %s", line)
		}
		t.Run(line, func(t *testing.T) {
			var c compare.Comparison
			testkit.OK(t, json.Unmarshal([]byte(printedBy(t, line+" --format json")), &c))
			last := len(c.Variants) - 1
			for _, name := range slices.Sorted(maps.Keys(want)) {
				i := slices.IndexFunc(c.Variants[last].Figures,
					func(f compare.Figure) bool { return f.Name == name })
				f, base := c.Variants[last].Figures[i], c.Variants[0].Figures[i].Value.Mean
				got := "noise"
				switch ratio := f.Value.Mean / base; {
				case f.Unsure:
					got = "unsure"
				case f.BeyondNoise && f.Better:
					got = "better"
				case f.BeyondNoise:
					got = "worse"
				case !strings.Contains("better worse", want[name]) && ratio > 1:
					got = "more"
				case !strings.Contains("better worse", want[name]):
					got = fmt.Sprintf("%.0f times less", 1/ratio)
				}
				if got != want[name] {
					t.Errorf("%s is %s, want %s", name, got, want[name])
				}
				if strings.HasSuffix(got, "times less") && !strings.Contains(lessons, "TPOT "+got) {
					t.Errorf("notebooks/README.md does not say that TPOT is %s", got)
				}
			}
		})
	}
}
