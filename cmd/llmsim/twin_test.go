package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
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
	testkit.OK(t, err)
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
	testkit.OK(t, err)
	return string(data)
}

// The plan of docs/twin.md follows the measured server, which is slower than its kind: it takes
// more replicas, and says that the server was measured.
func TestTwinChangesThePlan(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: a fit and two plans")
	}
	testkit.Dear(t)
	top, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	testkit.OK(t, err)
	page := testkit.Read(t, filepath.Join(top, "twin.md"))
	t.Chdir(t.TempDir())
	writeNamedFiles(t, ".", string(page))
	run := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
		}
		return stdout.String()
	}
	for _, line := range commandLines(string(page)) {
		if line != "llmsim plan plan.yaml" { // below
			t.Run(line, func(t *testing.T) { runLine(t, ".", line) })
		}
	}
	pictured(t, top, "before", run)
	pictured(t, top, "after", run, "--set", "engine.deployment=deployment.yaml")
	answer := regexp.MustCompile(`Answer: (\d+) replicas? of 1 × h100-sxm \((.*)\)`)
	replicas := func(plan string) decision {
		text := run("plan", plan)
		found := answer.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no answer in\n%s", text)
		}
		planned, err := strconv.Atoi(found[1])
		testkit.OK(t, err)
		return decision{planned, found[2]}
	}
	plan := testkit.Read(t, "plan.yaml")
	plain := strings.Replace(string(plan), ", deployment: deployment.yaml", "", 1)
	testkit.OK(t, os.WriteFile("plain.yaml", []byte(plain), 0o600))
	with, without := replicas("plan.yaml"), replicas("plain.yaml")
	if with.planned <= without.planned || with.evidence != "measured here" ||
		without.evidence == with.evidence {
		t.Errorf("%+v with the twin, %+v without; want more with it, and measured here", with,
			without)
	}
	for name, d := range map[string]decision{"without": without, "with": with} {
		row := fmt.Sprintf("| %s `deployment.yaml` | %d | %s |", name, d.planned, d.evidence)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/twin.md should have the row\n%s", row)
		}
	}
}

// pictured checks that a picture of docs/twin.md is that of twin replay, by its words and numbers:
// the distribution of TPOT at the higher of both rates. -update writes it.
func pictured(t *testing.T, docs, name string, run func(...string) string, flags ...string) {
	t.Helper()
	run(append([]string{"twin", "replay", "observed", "--scenario", "s.yaml", "--out",
		"report.html"}, flags...)...)
	report := testkit.Read(t, "report.html")
	const tpot = 4 // of two runs with TTFT, TPOT and E2E each
	drawings := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAll(report, -1)
	if len(drawings) != 6 {
		t.Fatalf("the report has %d pictures, want 6", len(drawings))
	}
	file := filepath.Join(docs, "pictures", "twin-"+name+".svg")
	if *update {
		testkit.OK(t, os.WriteFile(file, append(drawings[tpot], '\n'), 0o666))
	}
	shown := testkit.Read(t, file)
	words := func(svg []byte) string {
		return fmt.Sprintf("%q", regexp.MustCompile(`>[^<\s][^<]*</text>`).FindAll(svg, -1))
	}
	if got, want := words(shown), words(drawings[tpot]); got != want {
		t.Errorf("%s has the words %s, want %s; run this test with -update", file, got, want)
	}
}

// decision is what a plan says of its answer: the replicas, and the evidence.
type decision struct {
	planned  int
	evidence string
}

// A server of a scenario with a deployment is as slow as the simulation with it: by its own
// metrics, which are in simulated time, a token of a lone request takes as long.
func TestServeTakesADeployment(t *testing.T) {
	t.Chdir(t.TempDir())
	writeNamedFiles(t, ".", "```yaml s.yaml\nmodel: llama-3.1-8b\nhardware: h100-sxm\n"+
		"engine: vllm\nworkload: {rate: 1/s, prompt: 1, output: 50, requests: 1}\n```\n"+
		"```yaml deployment.yaml\nmodel: llama-3.1-8b\naccelerator: h100-sxm\n"+
		"engine: vllm-v1\nfactors: {prompts: 2, memory: 2, cache: 2, step: 2, sequence: 2}\n"+
		"errors: {tpot: 0.02}\n```\n")
	gap := func(flags ...string) float64 {
		url := start(t, program(t), append([]string{"serve", "s.yaml", "--listen", "127.0.0.1:0",
			"--speed", "20"}, flags...)...).address(t)
		response, err := http.Post(url+"/v1/completions", "application/json",
			strings.NewReader(`{"prompt":"x","max_tokens":50,"ignore_eos":true}`))
		testkit.OK(t, err)
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response, err = http.Get(url + "/metrics"); err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		testkit.OK(t, err)
		found := regexp.MustCompile(`vllm:inter_token_latency_seconds_sum{.*} (\S+)`).
			FindSubmatch(page)
		if found == nil {
			t.Fatalf("no gaps in\n%s", page)
		}
		sum, err := strconv.ParseFloat(string(found[1]), 64)
		testkit.OK(t, err)
		return sum
	}
	simulated := func(flags ...string) float64 {
		var stdout, stderr bytes.Buffer
		if code := execute(context.Background(), append([]string{"scenario", "s.yaml",
			"--no-interval", "--format", "json"}, flags...), &stdout, &stderr); code != exitDone {
			t.Fatal(stderr.String())
		}
		var result struct {
			TPOT float64 `json:"mean_tpot_ms"`
		}
		testkit.OK(t, json.Unmarshal(stdout.Bytes(), &result))
		return 49 * result.TPOT / 1000
	}
	use := []string{"--set", "engine.deployment=deployment.yaml"}
	without, with := gap(), gap(use...)
	if with < 1.5*without {
		t.Errorf("49 tokens take %.3g s with the deployment, %.3g s without", with, without)
	}
	for _, pair := range [][2]float64{{without, simulated()}, {with, simulated(use...)}} {
		if math.Abs(pair[0]/pair[1]-1) > 0.01 {
			t.Errorf("49 tokens take %.4g s, and in the simulation %.4g s", pair[0], pair[1])
		}
	}
}
