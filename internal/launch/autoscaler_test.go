package launch

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The number of replicas in a manifest, fixed or scaled, is read as it was meant.
func TestReplicasOfAManifestAreReadAsTheyWereMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, low, high int) int {
			return rapid.IntRange(low, high).Draw(t, name)
		}
		most := n("most", 2, 9)
		meant := fmt.Sprintf("replicas=%d", most)
		if n("scaled", 0, 2) > 0 {
			policy := rapid.SampledFrom([]string{"outstanding, target", "queue, per-replica"}).
				Draw(t, "policy")
			target := float64(n("target", 1, 64_000)) / 1000
			meant = fmt.Sprintf("fleet.pools=[{replicas: %d, scaling: {policy: %s: %g, min: %d, "+
				"keep: %ds}}]", most, policy, target, n("min", 1, most), n("keep", 1, 3600))
		}
		simulation, err := build([]string{"model=llama-3.1-8b", "hardware=h100-sxm", meant})
		testkit.OK(t, err)
		engine := rapid.SampledFrom([]string{"vllm", "sglang"}).Draw(t, "engine")
		b, err := NewBundle(simulation, engine)
		testkit.OK(t, err)
		text, err := b.Manifests()
		testkit.OK(t, err)
		reading, err := Read(text)
		testkit.OK(t, err)
		for _, setting := range reading.Settings {
			if strings.HasPrefix(setting, "replicas=") || strings.HasPrefix(setting, "fleet.") {
				if setting != meant {
					t.Fatalf("meant %s, read %s", meant, setting)
				}
				return
			}
		}
		t.Fatalf("meant %s, read %q\n%s", meant, reading.Settings, text)
	})
}

// What no policy does is said, and so is what an autoscaler of somebody else's looks at.
func TestAnAutoscalerThatIsNotKnownIsSaid(t *testing.T) {
	const manifest = `
kind: Deployment
metadata: {name: llama}
spec:
  replicas: 2
  template: {spec: {containers: [{command: [vllm, serve, meta-llama/Llama-3.1-8B]}]}}
---
kind: HorizontalPodAutoscaler
metadata: {name: llama}
spec:
  scaleTargetRef: {name: llama}
  maxReplicas: 6
  metrics:
    - {type: Resource, resource: {name: cpu}}
`
	reading, err := Read(manifest)
	testkit.OK(t, err)
	got := fmt.Sprint(reading.Settings, reading.Notes)
	for _, want := range []string{"replicas=6", "the metric Resource has no meaning",
		"all 6 replicas run always"} {
		if !strings.Contains(got, want) {
			t.Errorf("read %s, want %q", got, want)
		}
	}
}
