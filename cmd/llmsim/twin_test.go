package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// benchResult returns what `vllm bench serve --save-detailed` writes of a server of a scenario that
// is slower than predicted, with 5 minutes of requests of 986 tokens at a rate.
func benchResult(t *testing.T, scenario string, rate float64) string {
	t.Helper()
	const output = 128
	rng := rand.New(rand.NewPCG(uint64(rate), 0))
	var r observed.Run
	for at := rng.ExpFloat64() / rate; at < 300; at += rng.ExpFloat64() / rate {
		r.Requests = append(r.Requests, observed.Request{Arrival: at, Prompt: 986, Output: output,
			TTFT: 1, E2E: 1})
	}
	server := fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("s.yaml", []byte(scenario), sets...)
	}}
	pairs, err := server.Compare(context.Background(),
		scenarios.Factors{Prompts: 1.3, Memory: 1.2}, &r)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Model     string      `json:"model_id"`
		Tokenizer string      `json:"tokenizer_id"`
		Completed int         `json:"completed"`
		Duration  float64     `json:"duration"`
		Rate      float64     `json:"request_rate"`
		Prompts   []int       `json:"input_lens"`
		Outputs   []int       `json:"output_lens"`
		TTFT      []float64   `json:"ttfts"`
		Gaps      [][]float64 `json:"itls"`
		Starts    []float64   `json:"start_times"`
		Errors    []string    `json:"errors"`
	}
	result.Model, result.Tokenizer = "Qwen/Qwen3-14B", "Qwen/Qwen3-14B"
	result.Completed, result.Rate, result.Duration = len(pairs), rate, 300
	for _, p := range pairs {
		noise := math.Exp(0.03 * rng.NormFloat64())
		gaps := make([]float64, output-1)
		for i := range gaps {
			gaps[i] = math.Round(p.TPOT[1]*noise*1e6) / 1e6
		}
		result.Prompts, result.Outputs = append(result.Prompts, 986), append(result.Outputs, output)
		result.TTFT, result.Gaps = append(result.TTFT, p.TTFT[1]*noise), append(result.Gaps, gaps)
		result.Starts, result.Errors = append(result.Starts, p.At), append(result.Errors, "")
	}
	data, err := json.Marshal(&result)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The plan of docs/twin.md follows the measured server, which is slower than its kind: it takes
// more replicas, and says that the server was measured.
func TestTwinChangesThePlan(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: a fit and two plans")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "twin.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	writeNamedFiles(t, ".", string(page))
	run := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
		}
		return stdout.String()
	}
	run("twin", "observe", "bench-2.json", "bench-8.json", "--out", "observed")
	run("twin", "adapt", "observed", "--scenario", "s.yaml", "--out", "deployment.yaml",
		"--date", "2026-11-20")
	answer := regexp.MustCompile(`Answer: (\d+) replicas? of 1 × h100-sxm \((.*)\)`)
	replicas := func(plan string) (int, string) {
		text := run("plan", plan)
		found := answer.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no answer in\n%s", text)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return n, found[2]
	}
	plan, err := os.ReadFile("plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(string(plan), ", deployment: deployment.yaml", "", 1)
	if err := os.WriteFile("plain.yaml", []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	with, why := replicas("plan.yaml")
	without, other := replicas("plain.yaml")
	t.Logf("%d replicas (%s) with the twin, %d (%s) without", with, why, without, other)
	if with <= without || why != "measured here" || other == why {
		t.Errorf("%d replicas (%s) with the twin, %d (%s) without; want more with it, "+
			"and measured here", with, why, without, other)
	}
}
