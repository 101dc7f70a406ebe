package scenarios

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Answers that are not streamed take the server nothing more or less: each request is complete at
// the same instant, its TTFT is its E2E, whose range is then TTFT's, and no token has a time.
func TestWholeAnswersCostTheServerNothing(t *testing.T) {
	streamed := runYAML(t, voice, "workload.patience=1h", "slo={ttft: 300ms, e2e: 4s}")
	r := runYAML(t, voice, "workload.patience=1h", "workload.whole-answers=true",
		"slo={ttft: 4s, e2e: 4s}")
	if r.MeanE2EL != streamed.MeanE2EL || r.Duration != streamed.Duration ||
		r.Completed != streamed.Completed || r.Attainment.E2E != streamed.Attainment.E2E {
		t.Errorf("whole answers end at another time: E2E %v and %v ms", r.MeanE2EL,
			streamed.MeanE2EL)
	}
	if r.MeanTTFT != r.MeanE2EL || r.P99TTFT != r.P99E2EL ||
		r.Attainment.TTFT != r.Attainment.E2E ||
		r.MeanTPOT != 0 || r.P99ITL != 0 || streamed.MeanTPOT == 0 || streamed.P99ITL == 0 {
		t.Errorf("TTFT %v, E2E %v, TPOT %v, p99 ITL %v ms", r.MeanTTFT, r.MeanE2EL, r.MeanTPOT,
			r.P99ITL)
	}
	if s := r.Evidence.Spread; s.TTFT != s.TPOT || s.TTFT == streamed.Evidence.Spread.TTFT {
		t.Errorf("TTFT is off by %+v, streamed by %+v", s, streamed.Evidence.Spread)
	}
	// Who leaves before the end had nothing.
	r = runYAML(t, voice, "workload.whole-answers=true", "slo={e2e: 4s}")
	if r.Cut > 0 || r.Cancelled == 0 || r.Attainment.E2E == 1 {
		t.Errorf("users who leave: %+v, attainment %+v", r.Endings, r.Attainment)
	}
}

// The default SLO beside whole answers can be written out: it limits no time of a token.
func TestWholeAnswersHaveTheirDefaults(t *testing.T) {
	for _, slo := range []string{"", "slo: {percentile: 90}\n"} {
		f, err := Parse("whole.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+slo),
			"workload.whole-answers=true")
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		if s.Scenario.SLO.TPOT != (Limits{}) || s.Scenario.SLO.TTFT.Request == 0 {
			t.Errorf("%q: the default is %+v", slo, s.Scenario.SLO)
		}
	}
}

// What speaks of tokens one by one is refused beside answers that come as a whole.
func TestWholeAnswersHaveNoTokens(t *testing.T) {
	const head = "model: llama-3.1-8b\nhardware: h100-sxm\n"
	for text, want := range map[string]string{
		"slo: {tpot: 50ms}":                                   "slo.tpot: has no meaning",
		"slo: {itl: {p99: 50ms}}":                             "slo.itl: has no meaning",
		"slo: {e2e: 4s, itl: {p99: 50ms}}":                    "slo.itl: has no meaning",
		"workload: {patience: {mean: 1s, from: first-token}}": "patience.from: has no meaning",
		"workload: {classes: [{name: a, slo: {tpot: 1s}}]}":   "classes.0.slo.tpot: has no meaning",
	} {
		f, err := Parse("whole.yaml", []byte(head+text), "workload.whole-answers=true")
		testkit.OK(t, err)
		_, err = f.Build(policies.Default())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, want %q", text, err, want)
		}
	}
}

// The default limits of a class whose answers come as a whole have none of TPOT: the scenario with
// its defaults written out reads back.
func TestDefaultsOfAClassOfWholeAnswersReadBack(t *testing.T) {
	f, err := Parse("whole.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\nworkload:\n"+
		"  requests: 5\n  whole-answers: true\n  classes: [{name: a, slo: {percentile: 53}}]\n"))
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	text, err := s.Explain()
	testkit.OK(t, err)
	again, err := Parse("explained.yaml", text)
	testkit.OK(t, err)
	if _, err := again.Build(policies.Default()); err != nil {
		t.Error(err)
	}
}
