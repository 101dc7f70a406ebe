package page_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/playground/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// html returns the page, where go generate made the simulator for browsers.
func html(t *testing.T) []byte {
	t.Helper()
	text, err := page.HTML()
	if errors.Is(err, page.ErrNoProgram) {
		t.Skip("first: go generate ./internal/playground/page")
	}
	testkit.OK(t, err)
	return text
}

// The whole page is at most 3.2 MB as hosts send it.
func TestPageIsSmall(t *testing.T) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	testkit.OK(t, err)
	w.Write(html(t))
	w.Close()
	if packed.Len() > 3_200_000 {
		t.Errorf("the page has %d bytes packed, want at most 3,200,000 (go generate packs it "+
			"tightly where zstd is installed; Debian: apt-get install zstd)", packed.Len())
	}
	t.Logf("%d bytes packed", packed.Len())
}

// The simulator for browsers is sent over networks: it has no server, no pictures, no tables of
// terminals and no vocabularies.
func TestTheProgramForBrowsersImportsLittle(t *testing.T) {
	list := testkit.Command(t, "go", "list", "-deps", "../../../cmd/playground")
	list.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	out, err := list.Output()
	testkit.OK(t, err)
	for _, heavy := range []string{"net/http", "gonum.org/v1/plot", "html/template",
		"github.com/jedib0t/go-pretty/v6/table",
		"github.com/llmsim/llmsim/internal/report", "github.com/llmsim/llmsim/internal/text"} {
		if slices.Contains(strings.Fields(string(out)), heavy) {
			t.Errorf("cmd/playground imports %s", heavy)
		}
	}
}

// choices are settings that the page's controls make.
func choices() [][]string {
	return [][]string{
		{},
		{"workload.rate=40/s"},
		{"batching=static", "batching.batch-size=8", "workload.rate=3/s"},
		{"model=llama-3.1-70b", "parallelism.tensor=4", "workload.rate=4/s",
			"speculation.method=eagle", "speculation.tokens=3", "speculation.acceptance=0.7"},
		{"model=mixtral-8x7b", "hardware=a100-80gb-sxm", "parallelism.tensor=2",
			"memory.tokens=20000", "workload.rate=2/s"},
		{"workload.prefix.groups=2", "workload.prefix.tokens=500", "batching=sarathi",
			"batching.token-budget=512", "seed=3"},
		{"model=deepseek-v3", "hardware=h200-sxm", "parallelism.tensor=8", "workload.rate=1/s"},
	}
}

// In a browser the figures are, byte by byte, those of the program, and so are the files that the
// page gives away.
func TestFiguresInABrowserAreThoseOfTheProgram(t *testing.T) {
	html(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine (Debian: apt-get install nodejs)")
	}
	input, err := json.Marshal(choices())
	testkit.OK(t, err)
	cmd := testkit.Command(t, node, "testdata/results.js", "wasm")
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	testkit.OK(t, err)
	type answer struct{ OK, Error string }
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<22)
	for _, settings := range choices() {
		var got struct{ Result, YAML answer }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil {
			t.Fatalf("no answer for %v", settings)
		}
		want, err := playground.Result(t.Context(), settings)
		testkit.OK(t, err)
		if got.Result.OK != string(want) {
			t.Errorf("%v: in a browser %d bytes%s, want these %d; first go generate "+
				"./internal/playground/page, if the simulator changed",
				settings, len(got.Result.OK), got.Result.Error, len(want))
		}
		file, err := scenarios.Parse("my.yaml", []byte(got.YAML.OK))
		testkit.OK(t, err)
		if again, err := playground.ResultOf(t.Context(), file); !bytes.Equal(again, want) {
			t.Errorf("%v: the file gives another result (%v):\n%s", settings, err, got.YAML.OK)
		}
	}
}
