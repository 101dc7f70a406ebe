package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// A run that sends fewer requests than it is asked for says why, and nothing measured is no SLO
// met.
func TestShortfallIsTold(t *testing.T) {
	for _, c := range []struct{ workload, warning string }{
		{"{rate: 0.0000001/d}", "only 0 of the 1000 requests arrived"},
		{"{rate: 0.0000001/d, duration: 1h}", "no request arrived within workload.duration"},
		{"{requests: 99, rate: {pattern: phases, phases: [{rate: 5/s, for: 2s}]}}",
			"the rate ends after"},
		{"{requests: 99, trace: ../workload/trace/testdata/llmsim.csv}", "of the 99 requests"},
		{"{requests: 9, rate: 5/s, prompt: 20, output: 5}", ""},
	} {
		file, err := Parse("short.yaml",
			[]byte("model: gpt2\nhardware: h100-sxm\nworkload: "+c.workload))
		testkit.OK(t, err)
		r, err := file.Run(context.Background(), policies.Default())
		testkit.OK(t, err)
		warnings := strings.Join(r.Warnings, "\n")
		if c.warning == "" && warnings != "" || !strings.Contains(warnings, c.warning) {
			t.Errorf("%s: warnings are %q, want %q", c.workload, warnings, c.warning)
		}
		if r.Sent() == 0 && (r.SLOMet || r.Attainment.All > 0) {
			t.Errorf("%s: nothing was measured, and the SLO is met: %+v", c.workload, r.Attainment)
		}
	}
}

// Steps that take days are not sampled every few milliseconds: that would take longer than anyone
// waits.
func TestLongStepsAreSampledSeldom(t *testing.T) {
	file, err := Parse("slow.yaml",
		[]byte("model: gpt2\nhardware: l4\nsteps: {prefill: {step: 1d}, decode: {step: "+
			"1h}}\nworkload: {arrivals: at-once, requests: 5, prompt: 20, output: 5}"))
	testkit.OK(t, err)
	r, err := file.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	if n := len(r.Series); n < 2 || n > 100 {
		t.Errorf("%d samples of a run of %v s", n, r.Duration)
	}
}
