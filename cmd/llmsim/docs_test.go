package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The pages' commands are lines that begin with llmsim, ./llmsim or $ llmsim, indented or in a
// block of ```console; a line that ends with \ goes on in the next. Every one is run, in a folder
// with the files that the pages name, and has to succeed: once, where several pages have it. The
// test leaves out commands with a placeholder such as DIR or FILE, the commands in notRun, and what
// other tests run.
func TestDocsCommands(t *testing.T) {
	runDocs(t, func(line string) bool { return !testkit.NamesShared(line) },
		func(*testing.T, string) {})
}

// The commands that read measurements beside the repository are run where these are.
func TestDocsCommandsOnSharedFiles(t *testing.T) {
	testkit.Shared(t)
	runDocs(t, testkit.NamesShared, func(t *testing.T, dir string) { testkit.LinkShared(t, dir) })
}

// runDocs runs the commands of the pages that are chosen, each page's in a folder that is prepared.
func runDocs(t *testing.T, chosen func(line string) bool, prepare func(*testing.T, string)) {
	pages := []string{filepath.Join("..", "..", "README.md")}
	for _, folder := range []string{"docs", "docs/policies"} {
		found, err := filepath.Glob(filepath.Join("..", "..", folder, "*.md"))
		testkit.OK(t, err)
		pages = append(pages, found...)
	}
	if !testing.Short() {
		t.Setenv("PATH", queueServer(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	seen := map[string]bool{}
	for _, page := range pages {
		if filepath.Base(page) == "twin.md" {
			continue // TestTwinChangesThePlan runs its commands
		}
		text := testkit.Read(t, page)
		dir := filepath.Join(t.TempDir(), "page")
		testkit.OK(t, os.Mkdir(dir, 0o777))
		prepare(t, dir)
		writeNamedFiles(t, dir, string(text))
		for _, line := range commandLines(string(text)) {
			if !chosen(line) {
				continue
			}
			key := line + shownFiles(string(text), line)
			shown := strings.Contains(string(text), "\n    $ "+line+"\n") &&
				slices.Contains(append(pagesWithOutput(), "agents.md"), filepath.Base(page))
			if seen[key] || shown || slices.Contains(runElsewhere(), line) {
				continue // TestPagesShowTheOutput, TestAgentsPage or runElsewhere does
			}
			seen[key] = true
			t.Run(filepath.Base(page)+": "+line, func(t *testing.T) { runLine(t, dir, line) })
		}
	}
}

// notRun says why commands that begin so are not run.
func notRun() map[string]string {
	return map[string]string{
		"llmsim bench":      "measures this computer for a minute",
		"llmsim calibrate":  "measures this computer for a minute",
		"llmsim crosscheck": "needs a calibrated computer",
		"llmsim gpt2":       "writes and times a model of 500 MB",
		"llmsim worker":     "waits for work",
		"llmsim serve":      "answers until it is stopped",
		"llmsim playground": "serves a page until it is stopped",
		"llmsim load":       "needs a server",
		"llmsim plan deepseek-v3-h200": "takes ten seconds, and is a shipped plan: those have a " +
			"test of their own",
		"llmsim scenario chat --set " +
			"workload.trace.file=requests.jsonl": "replays what a server recorded",
	}
}

// runElsewhere returns dear commands of which another test runs all that they do.
func runElsewhere() []string {
	return []string{
		"llmsim validate", // the script validate.txtar
		"llmsim validate --format brief",
		// TestVerdictsArePrinted, and package papers every claim
		"llmsim validate --papers",
		"llmsim plan llama2-70b-chat", // the script plan.txtar
		// the script plan-current.txtar
		"llmsim plan llama2-70b-chat --current today.yaml",
		"llmsim plan llama2-70b-chat --current 'vllm serve " +
			"meta-llama/Llama-2-70b-chat-hf --tensor-parallel-size 4' " +
			"--current-set hardware=a100-80gb-sxm",
		// TestAlerts of tests/clients
		"llmsim scenario chat --set replicas=2 --set workload.rate=40/s " +
			"--set workload.duration=3h --set 'fleet={outages: [{replica: 0, at: 1h, for: " +
			"20m}]}' --metrics history.txt",
	}
}

var (
	commandLine = regexp.MustCompile(`(?m)^(?: {4}|\$ | {4}\$ )(?:\./)?(llmsim (?:.*\\\n)*.*)$`)
	placeholder = regexp.MustCompile(`\b[A-Z]{2,}\b|…`)
	comment     = regexp.MustCompile(`\s+#.*`)
	namedBlock  = regexp.MustCompile("(?ms)^```(?:yaml|text) (\\S+\\.(?:yaml|txt))\n(.*?)^```")
)

func commandLines(page string) (lines []string) {
	for _, match := range commandLine.FindAllStringSubmatch(page, -1) {
		lines = append(lines, comment.ReplaceAllString(match[1], ""))
	}
	return lines
}

// runLine runs a command as a shell would.
func runLine(t *testing.T, dir, line string) {
	for start, why := range notRun() {
		if strings.HasPrefix(line, start) {
			t.Skip(why)
		}
	}
	if strings.Contains(line, "nats://") {
		t.Skip("needs a server")
	}
	if line == "llmsim tune my.yaml --options 30" {
		testkit.Dear(t)
	}
	if word := placeholder.FindString(line); word != "" {
		t.Skipf("%s stands for something", word)
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cmd := testkit.Command(t, "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LLMSIM_REGISTRY=team")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// queueServer builds the program that --listen starts, and returns its folder.
func queueServer(t *testing.T) (folder string) {
	folder = t.TempDir()
	build := testkit.Command(t, "go", "build", "-o", folder, "../llmsim-queue")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

// shownFiles returns the files that a page shows and a line names: the same line may mean something
// else on another page.
func shownFiles(page, line string) (text string) {
	for _, block := range namedBlock.FindAllStringSubmatch(page, -1) {
		if strings.Contains(line, block[1]) {
			text += block[0]
		}
	}
	return text
}

// writeNamedFiles writes the files that commands of the pages name: the ones that the page shows (a
// block of ```yaml NAME or ```text NAME), and examples for the rest.
func writeNamedFiles(t *testing.T, dir, page string) {
	t.Helper()
	const scenario = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: 5/s, " +
		"requests: 300}\n"
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n" +
		"2023-11-16 18:17:03.97,480,10\n2023-11-16 18:17:04.03,318,8\n"
	files := map[string]string{
		"my.yaml": scenario, "before.yaml": scenario, "after.yaml": scenario +
			"seed: 0\nbatching: {token-budget: 4096}\n",
		"config.json": `{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
			"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
			"vocab_size": 128256, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}`,
		"my-plan.yaml": "model: llama-3.1-8b\nworkload: {rate: 10/s, prompt: 500, output: " +
			"200}\nslo: {ttft: 1s, tpot: 50ms}\nmenu: {hardware: [h100-sxm]}\n",
		"AzureLLMInferenceTrace_conv.csv": azure, "AzureLLMInferenceTrace_code.csv": azure,
		"trace.csv.gz": zipped(t, "arrival_s,prompt_tokens,output_tokens\n0,100,10\n0.5,200,20\n"),
	}
	for _, block := range namedBlock.FindAllStringSubmatch(page, -1) {
		files[block[1]] = block[2]
	}
	if strings.Contains(page, "bench-*.json") {
		files["bench-2.json"] = benchResult(t, files["s.yaml"], 2)
		files["bench-8.json"] = benchResult(t, files["s.yaml"], 8)
	}
	for name, text := range files {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	testkit.OK(t, errors.Join(err, w.Close()))
	return b.String()
}
