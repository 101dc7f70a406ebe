package scenarios

import (
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

const smallFleet = `model: llama-3.1-8b
hardware: h100-sxm
seed: 3
workload: {rate: 20/s, prompt: 900, output: 60, requests: 400}
`

// runFleet runs a small scenario with a fleet section.
func runFleet(t *testing.T, fleet string) *Result {
	t.Helper()
	return resultOf(t, smallFleet+fleet)
}

// Apart, a prefill delays no answer: every KV cache is moved once, and sending it layer by layer
// hides nearly all of that.
func TestDisaggregation(t *testing.T) {
	const pools = "fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}], " +
		"transfer: {link: ethernet-100g, whole: %}}\n"
	layers := runFleet(t, strings.Replace(pools, "%", "false", 1)).Fleet
	whole := runFleet(t, strings.Replace(pools, "%", "true", 1)).Fleet
	if layers.Transfers != 400 || whole.Transfers != 400 {
		t.Errorf("%d and %d KV caches moved, want 400 each", layers.Transfers, whole.Transfers)
	}
	if layers.VisibleTransfer > whole.VisibleTransfer/4 {
		t.Errorf("%.3f ms visible layer by layer, %.3f ms whole; want a quarter at most",
			layers.VisibleTransfer, whole.VisibleTransfer)
	}
}

// Users whose decode replica has no place for them wait for the first token where that replica
// sends it, as engines do unless told otherwise, and otherwise for the second.
func TestFirstTokenOfFullPool(t *testing.T) {
	const pools = "fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1, " +
		"batching: {policy: vllm-v1, max-sequences: 4}}], transfer: {link: ethernet-100g%}}\n"
	usual := runFleet(t, strings.Replace(pools, "%", "", 1))
	early := runFleet(t, strings.Replace(pools, "%", ", first-token: prefill", 1))
	if usual.MeanE2EL != early.MeanE2EL || usual.MeanTTFT < 2*early.MeanTTFT ||
		usual.MeanTPOT > early.MeanTPOT/2 {
		t.Errorf("TTFT %.0f ms and TPOT %.1f ms from the decode replica, %.0f and %.1f ms from "+
			"the prefill replica; E2E latencies %.0f and %.0f ms",
			usual.MeanTTFT, usual.MeanTPOT, early.MeanTTFT, early.MeanTPOT, usual.MeanE2EL,
			early.MeanE2EL)
	}
}

// What a replica did that fails is lost, or begins anew.
func TestOutage(t *testing.T) {
	const outage = "replicas: 2\nfleet: {outages: [{replica: 0, at: 5s, for: 5s}], retries: %}\n"
	lost := runFleet(t, strings.Replace(outage, "%", "0", 1))
	again := runFleet(t, strings.Replace(outage, "%", "1", 1))
	if lost.Lost == 0 || lost.Lost+lost.Completed != 400 || again.Lost != 0 ||
		again.Fleet.Retries != lost.Lost {
		t.Errorf("without retries %+v, with one %+v", lost.Fleet, again.Fleet)
	}
	if m := lost.Fleet.MeanReplicas; m < 1.5 || m > 1.9 {
		t.Errorf("%.2f replicas on average, want 2 less a quarter of one", m)
	}
}

// What cannot work is refused with the field and what would work.
func TestFleetRefuses(t *testing.T) {
	for fleet, want := range map[string]string{
		"fleet: {pools: [{role: prefill, " +
			"replicas: 1}]}": "the other",
		"fleet: {pools: [{replicas: 0}]}": "fleet.pools.0.replicas",
		"fleet: {pools: [{replicas: 1}, " +
			"{replicas: 2}]}": "a second pool called mixed",
		"replicas: 5\nfleet: {pools: " +
			"[{replicas: 2}]}": "have 2 together",
		"fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}], transfer: " +
			"no-such-link}": "fleet.transfer.link",
		"fleet: {pools: [{replicas: 2, scaling: {policy: outstanding, cold-start: {boot: " +
			"10s}}}]}": "a source of weights",
		"fleet: {pools: [{replicas: 2, scaling: {policy: outstanding, " +
			"min: 3}}]}": "the pool has 2",
		"fleet: {pools: [{replicas: 2, scaling: {policy: outstanding, " +
			"target: 0}}]}": "target",
		"fleet: {outages: [{replica: 1, " +
			"at: 5s}]}": "allowed: 0 to 0",
		"fleet: {admission: nobody}": "admission policy",
		"fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}], handover: " +
			"{policy: choices, choices: 0}}": "choices is 0",
	} {
		f, err := Parse("fleet.yaml", []byte(smallFleet+fleet))
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if err == nil || !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an input error about %q", fleet, err, want)
		}
	}
}

// Where prefill and decode are apart, a result names the constant that each TTFT has in it, and
// what the constant rests on; elsewhere it names nothing.
func TestHandoverIsNamed(t *testing.T) {
	for _, e := range steptime.Engines() {
		if (e.Handover > 0) != (e.HandoverSource != "") {
			t.Errorf("%s: a hand-over of %v s rests on %q", e.Name, e.Handover, e.HandoverSource)
		}
	}
	text := func(prompt string) string {
		return "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {requests: 20, rate: 1/s, " +
			"prompt: " + prompt + ", output: 100}\n"
	}
	const pools = "fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}]}\n"
	mixed := runYAML(t, text("1")+"replicas: 2\nrouting: random\n")
	apart := runYAML(t, text("1")+pools)
	f := apart.Fleet
	if added := apart.MeanFrontEnd - mixed.MeanFrontEnd; f.Handover <= 0 ||
		!strings.Contains(f.HandoverSource, "measured row") || added < 0.99*f.Handover {
		t.Errorf("a hand-over of %v ms, which rests on %q, and %v ms more of the front end",
			f.Handover, f.HandoverSource, added)
	}
	long := runYAML(t, text("4000")+pools).MeanFrontEnd // tokenised before the replicas
	if diff := math.Abs(long/apart.MeanFrontEnd - 1); diff > 1e-6 {
		t.Errorf("the front end takes %g ms for a prompt of one token and %g for 4,000",
			apart.MeanFrontEnd, long)
	}
	if mixed.Fleet != nil && (mixed.Fleet.Handover != 0 || mixed.Fleet.HandoverSource != "") {
		t.Errorf("replicas that do both hand over: %+v", mixed.Fleet)
	}
}
