package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/testkit"
)

// drawForDynamo makes up a fleet that Dynamo starts: one pool, or one for each phase.
func drawForDynamo(t *rapid.T, e *engines.Engine) []string {
	routing := rapid.SampledFrom([]string{"round-robin", "random", "prefix-aware"}).
		Draw(t, "routing")
	n := func(name string, high int) int { return rapid.IntRange(1, high).Draw(t, name) }
	shapes := []string{"tensor: 2", "tensor: 1, data: 8"}
	if e.Name != "trtllm" { // which starts no replica over several nodes
		shapes = append(shapes, "tensor: 16", "tensor: 1, data: 16")
	}
	shape := func() string { return rapid.SampledFrom(shapes).Draw(t, "shape") }
	settings := []string{"routing=" + routing}
	if rapid.Bool().Draw(t, "together") {
		return append(settings, "fleet.pools=[]", fmt.Sprintf("replicas=%d", n("replicas", 4)),
			"parallelism={"+shape()+"}")
	}
	var pools []string
	for _, role := range []string{"prefill", "decode"} {
		pools = append(pools, fmt.Sprintf("{role: %s, replicas: %d, parallelism: {%s}, batching: "+
			"{max-sequences: %d}}", role, n("replicas", 4), shape(), 16*n("sequences", 32)))
	}
	return append(settings, "fleet.pools=["+strings.Join(pools, ", ")+"]")
}

// A manifest for Dynamo is read back as the fleet was meant, with the routing of its frontend.
func TestDynamoIsReadAsItWasMeant(t *testing.T) {
	for _, e := range engines.All() {
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				settings := append(draw(t, e), "model=deepseek-v2-lite", "parallelism={}")
				settings = append(settings, drawForDynamo(t, e)...)
				meant, err := build(settings)
				if err != nil {
					t.Skip(err) // a combination that nothing serves
				}
				b, err := NewBundle(meant, e.Name)
				if err != nil {
					t.Fatalf("%q: %v", settings, err)
				}
				text, why, err := b.Dynamo()
				if err != nil || why != "" {
					t.Fatalf("%q: %v %s", settings, err, why)
				}
				again := sameFleet(t, b, engines.Groups(meant), text)
				if !reflect.DeepEqual(again, b.Servers) {
					t.Fatalf("%q\n%s\nread as\n%+v", settings, text, again)
				}
				reading, err := Read(text, "speculation.acceptance=0.7")
				if routing := "routing=" + b.Routing; err != nil || b.Routing != "round-robin" &&
					!slices.Contains(reading.Settings, routing) {
					t.Fatalf("meant %s, read %q, %v", routing, reading.Settings, err)
				}
			})
		})
	}
}

// Fleets that Dynamo has no form for get no manifest, and NOTES.md says why.
func TestFleetsBeyondDynamo(t *testing.T) {
	for settings, want := range map[string]string{
		"hardware=mi300x": "accelerators of NVIDIA",
		"fleet.pools=[{name: a, replicas: 1}, {name: b, replicas: 2}]": "here are 2",
	} {
		b, err := NewBundle(built(t, []string{"model=llama-3.1-8b", "hardware=h200-sxm", settings}),
			"vllm")
		testkit.OK(t, err)
		text, why, err := b.Dynamo()
		if err != nil || text != "" || !strings.Contains(why, want) {
			t.Errorf("%s: %q, %v:\n%s", settings, why, err, text)
		}
		dir := t.TempDir()
		testkit.OK(t, b.Write(dir))
		notes, err := os.ReadFile(filepath.Join(dir, "NOTES.md"))
		if err != nil || !strings.Contains(string(notes), "no dynamo.yaml: "+why) {
			t.Errorf("%v in %s", err, notes)
		}
	}
}
