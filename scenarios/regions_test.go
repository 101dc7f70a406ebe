package scenarios_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

const regions = `
model: llama-3.1-8b
hardware: h100-sxm
parallelism: {tensor: 1}
routing: {policy: nearest, spill: SPILL}
fleet:
  pools: [{name: west, region: us, replicas: 2}, {name: east, region: eu, replicas: 2}]
  distances: [{from: us, to: eu, round-trip: FAR}]
workload:
  rate: 40/s
  requests: 600
  prompt: 400
  output: 60
  classes: [{name: americans, region: us, share: 3}, {name: europeans, region: eu}]
`

// Users and replicas that are apart see the time of a message there and back, once in the time to
// the first token and once in that of the whole request, and nothing else of it. With none, results
// are the same to the byte as without the key.
func TestRoundTrips(t *testing.T) {
	const text = "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 2\n" +
		"workload: {rate: 20/s, requests: 300}\n"
	none, zero := parsed(t, text), parsed(t, text+"fleet: {round-trip: 0s}\n")
	if diff := cmp.Diff(none.Summary, zero.Summary); diff != "" {
		t.Error(diff)
	}
	far := parsed(t, text+"fleet: {round-trip: 80ms}\n")
	for _, one := range [][2]float64{{far.MeanTTFT - none.MeanTTFT, 80},
		{far.MeanE2EL - none.MeanE2EL, 80}, {far.MeanTPOT - none.MeanTPOT, 0}} {
		if math.Abs(one[0]-one[1]) > 1e-6 {
			t.Errorf("with a round trip of 80 ms, a latency grows by %g ms, want %g", one[0],
				one[1])
		}
	}
}

// Users go to the nearest region while its replicas take requests, and then to the next: with room
// enough nobody pays for the distance, and with little, the larger share leaves where there are
// more users for as many replicas.
func TestNearestRegions(t *testing.T) {
	run := func(spill int, far string) *scenarios.Result {
		return parsed(t, strings.NewReplacer("SPILL", fmt.Sprint(spill), "FAR", far).
			Replace(regions))
	}
	home := run(1000, "10s")
	if ttft := home.Classes["americans"].MeanTTFT; ttft > 1000 {
		t.Errorf("nobody needs to leave, and the first token takes %g ms on average", ttft)
	}
	abroad := run(1, "10s")
	leave := func(class string) float64 { return 1 - abroad.Classes[class].Attainment.TTFT }
	if us, eu := leave("americans"), leave("europeans"); us == 0 || us == 1 || eu >= us {
		t.Errorf("with room for one, %g of the Americans and %g of the Europeans leave", us, eu)
	}
}

// Regions that are not known, and distances that are missing, are refused by name.
func TestRegionsRefused(t *testing.T) {
	for change, want := range map[string][2]string{
		"unknown":  {"to: eu", "unknown region"},
		"missing":  {"from: us, to: eu", "found none from"},
		"no pools": {"region: us, replicas", "must be given"},
	} {
		text := strings.NewReplacer("SPILL", "9", "FAR", "90ms").Replace(regions)
		by := map[string]string{"unknown": "to: ue", "missing": "from: us, to: us",
			"no pools": "replicas"}[change]
		f, err := scenarios.Parse("regions.yaml", []byte(strings.Replace(text, want[0], by, 1)))
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if err == nil || !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%s: error %v, want %q", change, err, want[1])
		}
	}
}
