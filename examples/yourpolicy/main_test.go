package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/sim/simtest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The program works in a module of its own, which knows where llmsim is and what llmsim needs.
func TestOutsideTheTree(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the simulator once more, as part of another module")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod := bytes.Replace(read(t, root, "go.mod"), []byte("module github.com/llmsim/llmsim\n"),
		[]byte("module example.com/yourpolicy\n"), 1)
	mod = append(mod, "\nrequire github.com/llmsim/llmsim v0.0.0\n\nreplace "+
		"github.com/llmsim/llmsim => "+root+"\n"...)
	files := map[string][]byte{"go.mod": mod, "go.sum": read(t, root, "go.sum")}
	for _, name := range []string{"main.go", "policy.go", "others.go"} {
		files[name] = read(t, ".", name)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := testkit.Command(t, "go", "run", ".")
	run.Dir = dir
	run.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if page := read(t, filepath.Join(root, "docs", "policies"), "your-own.md"); !bytes.Contains(
		page, []byte("`go run .` prints\n\n```\n"+string(out)+"```\n")) {
		t.Errorf("docs/policies/your-own.md should show\n%s", out)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// With short prompts first, the mean time to first token falls and the longest rises; ageing takes
// some of both back.
func TestShortestPromptFirst(t *testing.T) {
	registry, err := withOurs()
	if err != nil {
		t.Fatal(err)
	}
	var mean, p99 []float64
	for _, batching := range []string{"vllm-v1", "{policy: shortest-prompt, ageing: 200}",
		"shortest-prompt"} {
		r, err := serve(registry, "batching="+batching)
		if err != nil {
			t.Fatal(err)
		}
		mean, p99 = append(mean, r.MeanTTFT), append(p99, r.P99TTFT)
	}
	if !(mean[0] > mean[1] && mean[1] > mean[2] && p99[0] < p99[1] && p99[1] < p99[2]) {
		t.Errorf("mean TTFT %.0f ms, p99 %.0f ms; want one to fall and the other to rise", mean,
			p99)
	}
}

// A router and a memory of one's own work too: short prompts no longer wait for long ones, and
// running requests are not preempted.
func TestOtherFamilies(t *testing.T) {
	registry, err := withOurs()
	if err != nil {
		t.Fatal(err)
	}
	shared, err := serve(registry, "replicas=2", "routing=least-requests")
	if err != nil {
		t.Fatal(err)
	}
	apart, err := serve(registry, "replicas=2", "routing={policy: long-apart, tokens: 1500}")
	if err != nil {
		t.Fatal(err)
	}
	if apart.MedianTTFT >= shared.MedianTTFT {
		t.Errorf("median TTFT %.0f ms with long prompts apart, %.0f ms without; want less",
			apart.MedianTTFT, shared.MedianTTFT)
	}
	paged, err := serve(registry, "memory={policy: paged, tokens: 9000}", "workload.output=200")
	if err != nil {
		t.Fatal(err)
	}
	careful, err := serve(registry, "memory={policy: careful, tokens: 9000, free: 0.3}",
		"workload.output=200")
	if err != nil {
		t.Fatal(err)
	}
	if careful.Preemptions >= paged.Preemptions {
		t.Errorf("%d preemptions with a careful memory, %d without; want fewer",
			careful.Preemptions, paged.Preemptions)
	}
}

// The policies keep the contracts of package sim: above all, a decision stands for as long as it
// says.
func TestContracts(t *testing.T) {
	simtest.Check(t, simtest.Policies{Scheduler: func() sim.Scheduler {
		return &ShortestPrompt{MaxSequences: 8, TokenBudget: 64, Ageing: 10}
	}})
	simtest.Check(t, simtest.Policies{Memory: func() sim.Memory {
		paged, err := memory.NewPaged(64, 4)
		if err != nil {
			t.Fatal(err)
		}
		return Careful{Paged: paged, blocks: 8}
	}})
}

// The page that walks through the program shows its code.
func TestThePageShowsTheProgram(t *testing.T) {
	page := string(read(t, filepath.Join("..", "..", "docs", "policies"), "your-own.md"))
	code := string(bytes.Join([][]byte{read(t, ".", "main.go"), read(t, ".", "policy.go"),
		read(t, ".", "others.go")}, nil))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		if !strings.Contains(code, block[1]) {
			t.Errorf("the page shows what the program does not have:\n%s", block[1])
		}
	}
	for _, part := range []string{"func (p *ShortestPrompt) Schedule",
		"func (p ShortestPrompt) New",
		"func withOurs", "func serve"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page does not show %s", part)
		}
	}
}
