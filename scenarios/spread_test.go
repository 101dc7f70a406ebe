package scenarios

import (
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/policies"
)

// lone runs one request after the other on step times that are given.
const lone = `model: llama-2-70b
hardware: {accelerator: a100-80gb-sxm, per-node: 2, network: infiniband-hdr}
parallelism: 4
engine: ideal
steps: {prefill: {step: 10ms, token: 100us, square: 20ns}, decode: {step: 5ms, token: 1ms, context: 10us}}
workload: {rate: 0.2/s, arrivals: constant, prompt: 1000, output: 2, requests: 20}
`

// outcome runs a scenario.
func outcome(t *testing.T, text string, overrides ...string) *Result {
	t.Helper()
	f, err := Parse("s.yaml", []byte(text), overrides...)
	return run(t, build(t, f, err))
}

// Given step times are those of the run, to the tick, in each stage of a pipeline.
func TestStepTimesAreTaken(t *testing.T) {
	const prompt, token = 10 + 1000*0.1 + 1000*1000*20e-6, 5 + 1 + 1001*0.01
	for stages, overrides := range map[float64][]string{1: nil, 2: {"parallelism.pipeline=2"}} {
		r := outcome(t, lone, overrides...)
		if math.Abs(r.MeanTTFT-stages*prompt) > 1e-9 || math.Abs(r.MeanTPOT-stages*token) > 1e-9 {
			t.Errorf("%v stages: %v ms to the first token and %v ms a token, want %v and %v",
				stages, r.MeanTTFT, r.MeanTPOT, stages*prompt, stages*token)
		}
		if r.Prefill != nil || r.Decode != nil {
			t.Error("given step times are bound by what nobody knows")
		}
	}
}

// A transfer takes its bytes over the ports that there are, and the overhead.
func TestTransfersTakePortsAndOverhead(t *testing.T) {
	const pools = "fleet={pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}], " +
		"transfer: {whole: true}}"
	visible := func(overrides ...string) float64 {
		return outcome(t, lone, append([]string{pools}, overrides...)...).Fleet.VisibleTransfer
	}
	const bytes, port = 1000 * 2 * 80 * 8 * 128 * 2, 25e9
	four, one, late := visible(), visible("fleet.transfer.ports=1"),
		visible("fleet.transfer.ports=1", "fleet.transfer.overhead=8ms")
	if want := bytes / port * 1000 * 3 / 4; math.Abs(one-four-want) > 1e-6 {
		t.Errorf("%v ms over one port, %v ms over four, want %v ms between them", one, four, want)
	}
	if math.Abs(late-one-8) > 1e-9 {
		t.Errorf("%v ms with 8 ms of overhead, %v ms without", late, one)
	}
}

// A replica that takes more than a node sends over the network.
func TestNodesCanBeSmaller(t *testing.T) {
	within, across := outcome(t, smallFleet+"parallelism: 4\n"),
		outcome(t, smallFleet+"parallelism: 4\n", "hardware.per-node=2")
	if across.MeanTPOT < 1.2*within.MeanTPOT {
		t.Errorf("%v ms a token on one node, %v ms on two", within.MeanTPOT, across.MeanTPOT)
	}
}

// Ranks that cannot be are refused with what would work.
func TestRanksRefuse(t *testing.T) {
	for _, c := range []struct {
		overrides []string
		want      string
	}{
		{[]string{"parallelism.data=4"}, "use replicas: 4 instead"},
		{[]string{"model=mixtral-8x7b", "parallelism={tensor: 1, data: 3}"}, "use one of [2 4 8]"},
		{[]string{"model=mixtral-8x7b", "parallelism={tensor: 1, data: 4, expert: 2}"},
			"make it 4"},
		{[]string{"model=mixtral-8x7b", "parallelism={tensor: 1, data: 4}",
			"speculation={method: n-gram, acceptance: 0.5}"}, "only drafts of mtp are predicted"},
	} {
		f, err := Parse("s.yaml", []byte(smallFleet), c.overrides...)
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if err == nil || !IsInputError(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.overrides, err, c.want)
		}
	}
}
