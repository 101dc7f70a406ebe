package serve

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestBodiesOfBenchmarks sends requests of the form that published benchmarks send: vllm bench
// serve, GuideLLM, inference-perf and aiperf. Each gets the tokens that it asks for, counted in the
// end.
func TestBodiesOfBenchmarks(t *testing.T) {
	i := open(t, small, nil)
	names, err := filepath.Glob("testdata/bodies/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no bodies: %v", err)
	}
	for _, name := range names {
		text := testkit.Read(t, name)
		var ask struct {
			Path   string
			Tokens int
			Body   json.RawMessage
		}
		if err := json.Unmarshal(text, &ask); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pieces, counted := 0, 0
		for _, data := range i.events(t, ask.Path, string(ask.Body)) {
			var r reply
			if json.Unmarshal([]byte(data), &r) != nil {
				continue
			}
			if len(r.Choices) > 0 && r.Choices[0].Text+r.Choices[0].Delta.Content != "" {
				pieces++
			}
			if r.Usage != nil {
				counted = r.Usage.Completion
			}
		}
		if pieces != ask.Tokens || counted != ask.Tokens {
			t.Errorf("%s: %d pieces, %d tokens counted, want %d", name, pieces, counted, ask.Tokens)
		}
	}
}
