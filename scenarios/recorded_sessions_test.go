package scenarios_test

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// The sessions of TraceLab's example repeat 81.65 % of their prompt tokens (939,365 of 1,150,397).
// An infinite radix cache finds all of them but the last token of each earlier answer, whose KV is
// never computed.
func TestRecordedSessionsReuseTheirContext(t *testing.T) {
	path := testkit.Shared(t, "traces", "agents", "tracelab_multi_session_large.csv")
	scenario := "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 1\n" +
		"memory: {policy: radix}\nengine: {max-model-len: 131072}\n"
	file, err := scenarios.Parse("test.yaml", []byte(scenario), "workload={trace: "+path+"}")
	testkit.OK(t, err)
	r, err := file.Run(t.Context(), policies.Default())
	testkit.OK(t, err)
	const rounds, repeated, later = 303, 939_365, 255
	if r.Completed != rounds || r.TotalInputTokens != 1_150_397 ||
		r.CachedTokens > repeated-later || r.CachedTokens < repeated*99/100 {
		t.Errorf("%d rounds, %d of %d prompt tokens cached", r.Completed, r.CachedTokens,
			r.TotalInputTokens)
	}
}

// A trace of sessions is not cut into parts, and says so.
func TestRecordedSessionsAreWhole(t *testing.T) {
	file, err := scenarios.Parse("test.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload: {trace: {file: ../workload/trace/testdata/tracelab.csv, resample: 200ms}}\n"))
	if err == nil {
		_, err = file.Build(policies.Default())
	}
	if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "a trace of sessions") {
		t.Errorf("found %v", err)
	}
}
