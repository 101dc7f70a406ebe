package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// drawnPictures are pictures of pages with the command that draws each, which its page names in two
// parts, and the file that it writes into a folder.
var drawnPictures = map[string]struct{ page, command, option, file string }{
	"roofline.svg": {"README.md", "llmsim roofline llama-2-7b a100-80gb", "", "roofline.svg"},
	"training.svg": {"docs/training.md",
		"llmsim train llama-3.1-405b h100 --gpus 4096 --global-batch 2048", "", "training.svg"},
	"speculation-batch.svg": {"docs/speculation.md", "llmsim sweep speculation-batch " +
		"--vary workload.arrivals.users=1,2,4,8,16,32,64,128,256 --vary speculation.tokens=1,3,5,7",
		"", "plots/speculation_speedup.svg"},
	"speculation-length.svg": {"docs/speculation.md", "llmsim sweep speculation-batch",
		"--vary speculation.tokens=1,2,3,4,5,6,7,8 --vary workload.arrivals.users=1,8,32,128",
		"plots/speculation_speedup.svg"},
}

// heldElsewhere are the pictures of pages that other tests hold, with the test.
var heldElsewhere = map[string]string{
	"agents-memory.svg": "TestAgentsPage", "agents-routing.svg": "TestAgentsPage",
	"twin-before.svg": "TestTwinChangesThePlan", "twin-after.svg": "TestTwinChangesThePlan",
	"state.svg":               "TestPictureOfStates",
	"growth-time.svg":         "internal/bench TestPicturesOfThePage",
	"growth-memory.svg":       "internal/bench TestPicturesOfThePage",
	"crosscheck-e2e.svg":      "internal/validation/crosscheck TestPicturesOfThePage",
	"crosscheck-timeline.svg": "internal/validation/crosscheck TestPicturesOfThePage",
}

var pictureOnPage = regexp.MustCompile(`\]\((?:docs/)?pictures/([^)]+)\)`)

// A picture on a page is what the command draws that the page names. With -update they are drawn
// anew.
func TestPicturesAreWhatCommandsDraw(t *testing.T) {
	top := filepath.Join("..", "..")
	for name, p := range drawnPictures {
		t.Run(name, func(t *testing.T) {
			page := string(testkit.Read(t, filepath.Join(top, p.page)))
			if !strings.Contains(page, p.command) || !strings.Contains(page, p.option) {
				t.Errorf("%s does not name %s %s", p.page, p.command, p.option)
			}
			dir := t.TempDir()
			args := strings.Fields(p.command + " " + p.option + " --out " + dir)[1:]
			var stdout, stderr bytes.Buffer
			if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
				t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
			}
			testkit.SamePicture(t, filepath.Join(top, "docs", "pictures", name),
				testkit.Read(t, filepath.Join(dir, filepath.FromSlash(p.file))), *update)
		})
	}
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	testkit.OK(t, err)
	shown := map[string]bool{}
	for _, page := range append(pages, filepath.Join(top, "README.md")) {
		for _, m := range pictureOnPage.FindAllStringSubmatch(string(testkit.Read(t, page)), -1) {
			shown[m[1]] = true
			if _, drawn := drawnPictures[m[1]]; !drawn && heldElsewhere[m[1]] == "" {
				t.Errorf("%s shows %s, which no test holds to what draws it", page, m[1])
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(top, "docs", "pictures", "*"))
	testkit.OK(t, err)
	for _, file := range files {
		if !shown[filepath.Base(file)] {
			t.Errorf("no page shows %s", file)
		}
	}
}

// The picture of docs/models.md has what a sequence keeps, by its context.
func TestPictureOfStates(t *testing.T) {
	catalog, err := models.Load()
	testkit.OK(t, err)
	var series []plots.Series
	for _, name := range []string{"llama-3.1-70b", "gemma-3-27b", "deepseek-v3.2", "kimi-k2.5",
		"gpt-oss-120b", "qwen3.5-397b-a17b", "nemotron-3-super-120b-a12b"} {
		model, err := catalog.Lookup(name)
		testkit.OK(t, err)
		s := plots.Series{Name: name}
		for n := 1024; n <= 131_072; n *= 2 {
			s.X = append(s.X, float64(n))
			s.Y = append(s.Y, float64(model.KVBytesOfSequence(n, hardware.BF16, 1))/1e9)
		}
		series = append(series, s)
	}
	p, err := plots.Growth("What a sequence keeps (16-bit cache)", "context (tokens)", "GB",
		series)
	testkit.OK(t, err)
	dir := t.TempDir()
	testkit.OK(t, plots.Save(dir, "state", p))
	testkit.SamePicture(t, filepath.Join("..", "..", "docs", "pictures", "state.svg"),
		testkit.Read(t, filepath.Join(dir, "state.svg")), *update)
}
