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
workload: {rate: 2/s, requests: 4000, prompt: 300, patience: 1700ms,
  output: {distribution: lognormal, mean: 300, cv: 0.8}}
slo: {ttft: {p99: 300ms}}
`

// Where all first tokens come in time, users who leave in the middle of an answer miss no limit of
// TTFT, and none of TPOT or E2E that the pace of their answers keeps. Every request ends once.
func TestUsersWhoLeaveMissNoTTFT(t *testing.T) {
	stay := runYAML(t, voice, "workload.patience=1h")
	for _, patience := range []string{"200ms", "1700ms", "5s"} {
		r := runYAML(t, voice, "workload.patience="+patience, "slo={ttft: 300ms, tpot: 100ms}")
		if r.Cut == 0 || r.Cancelled > 0 || r.Sent() != 4000 || r.Begun() != 4000 ||
			!r.SLOMet || r.Attainment.All != 1 || r.Attainment.E2E != 1 ||
			r.Goodput != r.RequestThroughput || r.P99TTFT > stay.P99TTFT*1.05 {
			t.Errorf("patience of %s: %+v, attainment %+v, p99 TTFT %.3g ms, and %.3g ms with "+
				"users who stay", patience, r.Endings, r.Attainment, r.P99TTFT, stay.P99TTFT)
		}
		r = runYAML(t, voice, "workload.patience="+patience)
		if l := r.Limits[0]; !l.Met || l.Within != 1 || !r.SLOMet {
			t.Errorf("patience of %s: %+v", patience, l)
		}
		r = runYAML(t, voice, "workload.patience="+patience, "slo={e2e: {p50: 20s, p99: 1h}}")
		if !r.SLOMet || r.Limits[1].Measured < 5000 {
			t.Errorf("patience of %s: %+v", patience, r.Limits)
		}
	}
	// Who leaves before the first token has missed it.
	r := runYAML(t, voice, "workload.patience=20ms")
	if l := r.Limits[0]; r.Cancelled == 0 || l.Met || l.Within != float64(r.Begun())/4000 {
		t.Errorf("patience of 20 ms: %+v, %+v", r.Endings, l)
	}
}

// A user whose patience counts from the first token has cut an answer or none. So whatever the
// patience, and whether it is drawn, limits of TTFT are kept as by users who stay, or by more:
// who leaves makes room.
func TestPatienceFromTheFirstToken(t *testing.T) {
	busy := []string{"workload.rate=25/s", "workload.prompt=2000", "slo={ttft: 400ms}"}
	kept, whole := 0.0, int64(0)
	for _, patience := range []string{"1h", "9s", "4s", "1s", "100ms"} {
		for _, drawn := range []string{"", ", distribution: lognormal, cv: 0.8"} {
			r := runYAML(t, voice, append(busy, "workload.patience={mean: "+patience+
				drawn+", from: first-token}")...)
			if r.Cancelled > 0 || r.Sent() != r.Begun() {
				t.Errorf("%s%s: %+v", patience, drawn, r.Endings)
			}
			if patience == "1h" {
				kept, whole = r.Attainment.TTFT, r.Completed
				if r.Cut > 0 || kept > 0.8 {
					t.Errorf("%d cut, and limits kept by %.3g: too quiet", r.Cut, kept)
				}
			} else if r.Attainment.TTFT < kept || r.Attainment.All < kept || r.Completed >= whole {
				t.Errorf("%s%s: limits of TTFT kept by %.4g, and %.4g with users who stay; %+v",
					patience, drawn, r.Attainment.TTFT, kept, r.Endings)
			}
		}
	}
}

// A session in which answers are cut has as many turns as one with whole answers. If cut answers
// stay in the context, it is complete, and its prompts are shorter; else it counts as incomplete.
func TestSessionsWithCutAnswers(t *testing.T) {
	talk := []string{"workload.requests=10000",
		"workload.rate={pattern: phases, phases: [{rate: 2/s, for: 60s}]}",
		"workload.sessions={turns: {distribution: uniform, min: 1, max: 6}, think: 500ms}"}
	stay := runYAML(t, voice, append(talk, "workload.patience=1h")...)
	talk = append(talk,
		"workload.patience={mean: 1s, distribution: lognormal, cv: 0.8, from: first-token}")
	planned := runYAML(t, voice, talk...)
	kept := runYAML(t, voice, append(talk, "workload.keep-cut=true")...)
	sessions := func(r *Result) int64 { return r.Sessions.Completed + r.Sessions.Incomplete }
	if kept.Cut == 0 || kept.Sent() != stay.Sent() || planned.Sent() != stay.Sent() ||
		sessions(kept) != sessions(stay) || sessions(planned) != sessions(stay) {
		t.Errorf("users stay: %+v, %+v; planned: %+v, %+v; kept: %+v, %+v", stay.Endings,
			stay.Sessions, planned.Endings, planned.Sessions, kept.Endings, kept.Sessions)
	}
	if kept.Sessions.Incomplete != stay.Sessions.Incomplete ||
		planned.Sessions.Incomplete <= stay.Sessions.Incomplete {
		t.Errorf("%d sessions incomplete where cut answers stay, %d where they do not, %d without",
			kept.Sessions.Incomplete, planned.Sessions.Incomplete, stay.Sessions.Incomplete)
	}
	if kept.Sessions.Calls != stay.Sessions.Calls || kept.Sessions.Input >= stay.Sessions.Input ||
		kept.Sessions.Output >= stay.Sessions.Output {
		t.Errorf("kept %+v, users stay %+v", kept.Sessions, stay.Sessions)
	}
}

// Where requests do not meet, users who leave take nothing from others: TTFTs and the shares that
// keep their limits are the same as with users who stay. E2E latencies at the pace of what they had
// are nearly so: a token takes a little longer with the context. So a server that is too slow does
// not keep a limit of E2E because users leave before it is over.
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
	for _, limit := range []string{"500ms", "1s", "2s", "3s", "5s"} {
		set := append(alone, fmt.Sprintf("slo={e2e: {p90: %s}}", limit))
		stay := runYAML(t, voice, append(set, "workload.patience=1h")...)
		leave := runYAML(t, voice, append(set, "workload.patience=900ms")...)
		was, is := stay.Limits[0], leave.Limits[0]
		if leave.Cut < 10 || math.Abs(is.Measured/was.Measured-1) > 0.02 ||
			math.Abs(is.Within-was.Within) > 2./60 || is.Met != was.Met {
			t.Errorf("limit of %s: %+v, with users who stay %+v", limit, is, was)
		}
	}
}
