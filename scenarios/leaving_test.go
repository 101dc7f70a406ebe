package scenarios

import (
	"fmt"
	"math"
	"testing"
)

// voice is a bot whose users hang up in the middle of half of its answers.
const voice = `
model: llama-3.1-8b
hardware: h100-sxm
workload: {rate: 2/s, requests: 400, prompt: 300, output: {distribution: lognormal, mean: 300, cv: 0.8},
  patience: 1700ms}
slo: {ttft: {p99: 300ms}}
`

// Where all first tokens come in time, users who leave in the middle of an answer miss no limit of
// TTFT, and none of TPOT. A limit of E2E needs whole answers. Every request ends in one way.
func TestUsersWhoLeaveMissNoTTFT(t *testing.T) {
	stay := runYAML(t, voice, "workload.patience=1h")
	for _, patience := range []string{"200ms", "1700ms", "5s"} {
		r := runYAML(t, voice, "workload.patience="+patience, "slo={ttft: 300ms, tpot: 100ms}")
		if r.Cut == 0 || r.Cancelled > 0 || r.Sent() != 400 || r.Begun() != 400 ||
			!r.SLOMet || r.Attainment.All != 1 || r.Attainment.E2E != 1 ||
			r.Goodput != r.RequestThroughput || r.P99TTFT > stay.P99TTFT*1.05 {
			t.Errorf("patience of %s: %+v, attainment %+v, p99 TTFT %.3g ms, and %.3g ms with "+
				"users who stay", patience, r.Endings, r.Attainment, r.P99TTFT, stay.P99TTFT)
		}
		r = runYAML(t, voice, "workload.patience="+patience)
		if l := r.Limits[0]; !l.Met || l.Within != 1 || !r.SLOMet {
			t.Errorf("patience of %s: %+v", patience, l)
		}
		r = runYAML(t, voice, "workload.patience="+patience, "slo={e2e: 1h}")
		if whole := float64(r.Completed) / 400; r.Attainment.All != whole || r.SLOMet {
			t.Errorf("patience of %s: %.3g of the answers are whole, and %.3g keep a limit of E2E",
				patience, whole, r.Attainment.All)
		}
	}
	// Who leaves before the first token has missed it.
	r := runYAML(t, voice, "workload.patience=20ms")
	if l := r.Limits[0]; r.Cancelled == 0 || l.Met || l.Within != float64(r.Begun())/400 {
		t.Errorf("patience of 20 ms: %+v, %+v", r.Endings, l)
	}
}

// Where requests do not meet, users who leave take nothing from others: TTFTs and the shares that
// keep their limits are the same as with users who stay.
func TestCutsDoNotChangeTTFTs(t *testing.T) {
	alone := []string{"workload.rate=0.02/s", "workload.requests=60", "workload.arrivals=constant",
		"workload.prompt={distribution: uniform, min: 100, max: 4000}"}
	for _, limit := range []string{"20ms", "60ms", "100ms", "140ms"} {
		set := append(alone, fmt.Sprintf("slo={ttft: %s}", limit))
		stay := runYAML(t, voice, append(set, "workload.patience=1h")...)
		leave := runYAML(t, voice, append(set, "workload.patience=900ms")...)
		if leave.Cut < 10 || leave.Attainment != stay.Attainment ||
			math.Abs(leave.MeanTTFT/stay.MeanTTFT-1) > 1e-12 || leave.P99TTFT != stay.P99TTFT {
			t.Errorf("limit of %s, %d cut: attainment %+v, want %+v; mean and p99 of TTFT %v and "+
				"%v ms, want %v and %v", limit, leave.Cut, leave.Attainment, stay.Attainment,
				leave.MeanTTFT, leave.P99TTFT, stay.MeanTTFT, stay.P99TTFT)
		}
	}
}
