package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/queue/queuetest"
	"github.com/llmsim/llmsim/internal/testkit"
)

// kindsOfPlans are one cheap plan of each kind, and what is in its plan.json if it is of that kind.
func kindsOfPlans() map[string]struct{ text, shows string } {
	const asked = "model: llama-3.1-8b\nworkload: {rate: 30/s, prompt: 400, output: 40}\n" +
		"slo: {ttft: 800ms, tpot: 40ms}\n"
	const effort = "\neffort: {requests: 100, most-requests: 200}\n"
	const menu = "menu: {hardware: [l40s, a100-80gb-sxm, {accelerator: h100-sxm, count: 3}], " +
		"tensor: [1]"
	const tuned, untuned = menu + "}" + effort, menu + ", tune: none}" + effort
	return map[string]struct{ text, shows string }{
		"throughput": {asked + "goal: {find: throughput, budget: $7/h}\n" + untuned,
			`"find": "throughput"`},
		"front": {asked + "goal: {find: front, budget: $7/h}\n" + tuned, `"front": true`},
		"job": {"model: llama-3.1-8b\nworkload: {prompt: 400, output: 40}\n" +
			"job: {requests: 20000, within: 10m}\nmenu: {hardware: [l40s, a100-80gb-sxm, " +
			"h100-sxm], tensor: [1], batching: [{max-sequences: 16}, {token-budget: 2048}]}",
			`"job_hours"`},
		"joint": {"models:\n" +
			"  - {name: chat, model: llama-3.1-8b, workload: {rate: 80/s, prompt: 300, " +
			"output: 60}, slo: {ttft: 1s, tpot: 40ms}}\n" +
			"  - {name: code, model: qwen2.5-14b, workload: {rate: 15/s, prompt: 900, " +
			"output: 60}, slo: {ttft: 1s, tpot: 50ms}}\n" +
			"menu: {hardware: [{accelerator: h100-sxm, count: 2, price: $2/h}, " +
			"{accelerator: a100-80gb-sxm, count: 4, price: $1.2/h}, l40s], tensor: [1], " +
			"tune: none}" + effort,
			"its accelerators serve another model"},
		"scaled": {"model: llama-3.1-8b\nworkload: {rate: {pattern: wave, average: 12/s, " +
			"swing: 0.9, period: 4m, peak: 2m}, prompt: 900, output: 60}\n" +
			"slo: {ttft: 1s, tpot: 60ms, percentile: 95}\nmenu: {hardware: [l40s], " +
			"tensor: [1], scaling: [{policy: outstanding, target: 6, keep: 30s}]}" + effort,
			`"mean_replicas"`},
	}
}

// Plans of every kind fit on a page. Those of three kinds, which each commit draws, have the same
// bytes with 1 core, with 2, and with workers of which one, the only one until then, is killed half
// way.
func TestPlansOfEveryKindHaveTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("answers five plans, three of them three times")
	}
	testkit.Dear(t)
	llmsim, nats, kinds := program(t), queuetest.Serve(t), kindsOfPlans()
	drawn := testkit.DrawCases(t, 3, slices.Sorted(maps.Keys(kinds)))
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "plan.yaml")
			testkit.OK(t, os.WriteFile(file, []byte(kind.text), 0o600))
			one := answered(t, llmsim, file, "1")
			if !bytes.Contains(one["plan.json"], []byte(kind.shows)) {
				t.Errorf("no %s in the answer: it is of another kind", kind.shows)
			}
			if slices.Contains(drawn, name) {
				sameAnswer(t, one, answered(t, llmsim, file, "2"), "two cores")
				sameAnswer(t, one, disturbed(t, llmsim, nats, file), "killed")
			}
		})
	}
}

// answered returns the files of the answer to a plan that is found with a number of cores, into a
// folder of that name beside it. What is printed fits on a page.
func answered(t *testing.T, llmsim, plan, cores string) map[string][]byte {
	t.Helper()
	out := filepath.Join(filepath.Dir(plan), cores)
	p := startWith(t, []string{"GOMAXPROCS=" + cores}, llmsim, "plan", plan, "--out", out)
	if !p.endsWithin(t, patience) {
		t.Fatal("the undisturbed plan does not end")
	}
	if page := p.stdout.String(); strings.Count(page, "\n") > 25 {
		t.Errorf("the page has more than 25 lines:\n%s", page)
	}
	return answerFiles(t, out)
}

// disturbed returns the files of the answer to a plan that was answered with one core before, where
// workers answer it of which the first is killed half way.
func disturbed(t *testing.T, llmsim, nats, plan string) map[string][]byte {
	t.Helper()
	dir := filepath.Dir(plan)
	killed := filepath.Join(dir, "killed")
	half := len(sortedLines(t, filepath.Join(dir, "1"))) / 2
	worker := func() *process {
		return start(t, llmsim, "worker", "--nats", nats, "--workers", "1")
	}
	first := worker()
	planner := start(t, llmsim, "plan", plan, "--nats", nats, "--workers", "0",
		"--redeliver", "1s", "--out", killed)
	if !planner.hasDone(t, killed, half) {
		t.Fatal("the plan was done before the worker was killed")
	}
	first.kill(t)
	others := []*process{worker(), worker()}
	if !planner.endsWithin(t, patience) {
		t.Fatalf("the disturbed plan does not end: %s", planner.stderr.String())
	}
	for _, w := range others {
		w.kill(t)
	}
	return answerFiles(t, killed)
}

// answerFiles returns the files of an answer by their path below its folder, without the journal.
func answerFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Base(path) == "journal.jsonl" {
			return err
		}
		found[path], err = fs.ReadFile(root, path)
		return err
	})
	testkit.OK(t, err)
	return found
}

// sameAnswer checks that two answers have the same files with the same bytes.
func sameAnswer(t *testing.T, want, got map[string][]byte, name string) {
	t.Helper()
	paths := func(files map[string][]byte) []string {
		var list []string
		for path := range files {
			list = append(list, path)
		}
		slices.Sort(list)
		return list
	}
	if a, b := paths(want), paths(got); len(a) < 3 || !slices.Equal(a, b) {
		t.Errorf("%s: files %v, want %v", name, b, a)
	}
	for path, data := range want {
		if !bytes.Equal(got[path], data) {
			t.Errorf("%s: %s differs", name, path)
		}
	}
}
