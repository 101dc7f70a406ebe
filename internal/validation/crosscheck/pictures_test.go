package crosscheck

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

var update = flag.Bool("update", false, "draw the pictures of docs/crosscheck.md anew")

// The pictures of docs/crosscheck.md are what crosscheck draws of the run in
// testdata/v1-chat.json. Its latencies and steps were read off the pictures of November 2026, to
// four digits; a new measurement takes their place.
func TestPicturesOfThePage(t *testing.T) {
	var runs map[string]struct {
		E2E   []float64    `json:"e2e_ms"`
		Spans [][2]float64 `json:"spans_s"`
	}
	testkit.OK(t, json.Unmarshal(testkit.Read(t, "testdata/v1-chat.json"), &runs))
	of := func(name string) []*Run {
		run := &Run{}
		for _, ms := range runs[name].E2E {
			run.Requests = append(run.Requests, Request{E2E: ms / 1000})
		}
		for _, s := range runs[name].Spans {
			run.Spans = append(run.Spans, Span{s[0], s[1]})
		}
		return []*Run{run}
	}
	dir := t.TempDir()
	c := &Comparison{Title: "vLLM V1, chat at two thirds of capacity",
		Predicted: of("predicted"), Executed: of("executed")}
	testkit.OK(t, c.draw(dir))
	for _, name := range []string{"e2e", "timeline"} {
		path := filepath.Join("..", "..", "..", "docs", "pictures", "crosscheck-"+name+".svg")
		testkit.SamePicture(t, path, testkit.Read(t, filepath.Join(dir, name+".svg")), *update)
	}
}
