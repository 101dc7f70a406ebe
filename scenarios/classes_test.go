package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
)

const overload = `model: llama-3.1-8b
hardware: h100-sxm
seed: 5
workload:
  prompt: 1500
  output: 100
  duration: 60s
  classes:
`

// A tenant who sends too much slows down both where the first to come is the first to be served,
// and only himself where service is shared fairly.
func TestFairnessBetweenTenants(t *testing.T) {
	const tenants = overload + `    - {name: chat, tenant: modest, rate: 1/s, slo: {ttft: 3s}}
    - {name: batch, tenant: greedy, rate: 60/s, slo: {ttft: 1h}}
batching: {max-sequences: 64, policy: POLICY}
`
	first := runYAML(t, strings.ReplaceAll(tenants, "POLICY", "vllm-v1"))
	fair := runYAML(t, strings.ReplaceAll(tenants, "POLICY", "vtc"))
	was, is := first.Tenants["modest"], fair.Tenants["modest"]
	if was.SLOMet || !is.SLOMet || is.P99TTFT > was.P99TTFT/3 {
		t.Errorf("the modest tenant waits %.0f ms in turn and %.0f ms with fairness", was.P99TTFT,
			is.P99TTFT)
	}
	if greedy := fair.Tenants["greedy"]; greedy.Completed != first.Tenants["greedy"].Completed ||
		was.Completed != is.Completed || was.Completed == 0 {
		t.Errorf("%d and %d requests of the modest tenant, %d and %d of the greedy one",
			was.Completed, is.Completed, first.Tenants["greedy"].Completed, greedy.Completed)
	}
}

// Classes with rates of their own send that many, whatever the others do; the rest share what the
// workload says.
func TestClassRates(t *testing.T) {
	r := runYAML(t, overload+"    - {name: fixed, rate: 2/s, arrivals: constant}\n    - {name: "+
		"a, share: 3}\n    - {name: b}\n", "workload.rate=8/s")
	if fixed := r.Classes["fixed"].Completed; fixed < 119 || fixed > 121 {
		t.Errorf("%d requests of the class with its own rate, want 120", fixed)
	}
	if a, b := r.Classes["a"].Completed, r.Classes["b"].Completed; a < 2*b || a > 4*b ||
		a+b < 400 || a+b > 560 {
		t.Errorf("%d and %d requests, want 480 in all, three to one", a, b)
	}
}

// Users who lose patience are counted as such, apart from users whom the queue's time-out sends
// away, class by class.
func TestPatienceAndTimeoutsByClass(t *testing.T) {
	const classes = overload + `    - {name: hasty, rate: 30/s, patience: 2s}
    - {name: patient, rate: 30/s}
`
	r := runYAML(t, classes+"fleet: {queue-timeout: 20s}\nbatching: {max-sequences: 16}\n")
	hasty, patient := r.Classes["hasty"], r.Classes["patient"]
	if hasty.Cancelled == 0 || hasty.TimedOut != 0 || patient.Cancelled != 0 ||
		patient.TimedOut == 0 || hasty.P99E2EL > 2001 {
		t.Errorf("hasty %+v, patient %+v", hasty, patient)
	}
	if r.Cancelled != hasty.Cancelled || r.TimedOut != patient.TimedOut || r.Rejected != 0 ||
		hasty.Attainment.All > float64(hasty.Begun())/float64(hasty.Sent()) {
		t.Errorf("the fleet counts %+v, classes %+v and %+v", r.Endings, hasty.Endings,
			patient.Endings)
	}
}

// Deadlines follow from the SLO where the scenario gives none: earliest deadline first meets more
// SLOs than order of arrival. Admission that looks at SLOs turns away the class that cannot be
// served in time, not the one that can wait.
func TestPoliciesSeeTheSLO(t *testing.T) {
	const classes = overload + `    - {name: urgent, rate: 5/s, slo: {ttft: 1s, e2e: 4s}}
    - {name: whenever, rate: 40/s, slo: {ttft: 1h, e2e: 1h}}
`
	arrival := runYAML(t, classes+"batching: {max-sequences: 32}\n")
	deadline := runYAML(t, classes+"batching: {policy: edf, max-sequences: 32}\n")
	if was, is := arrival.Classes["urgent"].Attainment.E2E,
		deadline.Classes["urgent"].Attainment.E2E; is < 0.99 || was > 0.9*is {
		t.Errorf("%.0f%% of the urgent requests in time in order of arrival, %.0f%% by deadline",
			100*was, 100*is)
	}
	admitted := runYAML(t, classes+"fleet: {admission: slo-aware}\n",
		"workload.classes.1.rate=200/s")
	if urgent, whenever := admitted.Classes["urgent"],
		admitted.Classes["whenever"]; urgent.Rejected == 0 || whenever.Rejected != 0 {
		t.Errorf("admission turned away %d urgent and %d other requests", urgent.Rejected,
			whenever.Rejected)
	}
}

// Classes replay traces of their own together, each under its SLO.
func TestClassTraces(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"chat.csv": "arrival_s,prompt_tokens,output_tokens\n0,100,20\n2,300,10\n4,50,40\n",
		"code.csv": "arrival_s,prompt_tokens,output_tokens\n1,4000,5\n3,6000,8\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	chat, code := filepath.Join(dir, "chat.csv"), filepath.Join(dir, "code.csv")
	const head = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload:\n  classes:\n"
	r := runYAML(t, head+"    - {name: chat, trace: "+chat+"}\n    - {name: code, trace: {file: "+
		code+", scale: 2}, slo: {ttft: 1ms}}\n")
	if a, b := r.Classes["chat"], r.Classes["code"]; a.Completed != 3 || !a.SLOMet ||
		b.Completed != 2 || b.SLOMet || b.TotalInputTokens != 10000 {
		t.Errorf("chat %+v, code %+v", a, b)
	}
	for classes, want := range map[string]string{
		"    - {name: a, trace: " + chat +
			"}\n    - {name: b}\n": "workload.classes.1.trace: must be given",
		"    - {name: a, trace: " + chat +
			", prompt: 3}\n": "workload.classes.0.prompt: has no meaning where classes " +
			"replay traces",
		"    - {name: a, trace: " + chat +
			"}\n  rate: 2/s\n": "workload.rate: has no meaning where classes replay traces",
		"    - {name: a, trace: {file: " + chat +
			", repeat: true}}\n": "workload.classes.0.trace.repeat",
		"    - {name: a, trace: " + filepath.Join(dir, "none.csv") +
			"}\n": "workload.classes.0.trace.file",
		"    - {name: a, trace: " + chat + "}\n  trace: " + code +
			"\n  rate: 1/s\n": "workload.classes.0.trace: has no meaning beside a trace of the " +
			"workload",
	} {
		f, err := Parse("classes.yaml", []byte(head+classes))
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", classes, err, want)
		}
	}
}

func TestClassesRefuse(t *testing.T) {
	for classes, want := range map[string]string{
		"    - {name: a, rate: 2/s, share: 3}\n": "workload.classes.0.share: has no meaning " +
			"beside a rate",
		"    - {name: a, arrivals: constant}\n": "workload.classes.0.arrivals: has no meaning " +
			"without a rate",
		"    - {name: a, rate: 2/s, arrivals: {process: " +
			"at-once}}\n": "workload.classes.0.arrivals: found at-once",
		"    - {name: a, rate: 2/s}\n  " +
			"rate: 3/s\n": "workload.rate: has no meaning where every class",
		"    - {name: a, model: llama-3.1-9b}\n": `no pool serves it: unknown model "llama-3.1-9b"; did you mean llama-3.1-8b`,
		"    - {name: a, patience: 0s}\n":        "workload.classes.0.patience",
		"    - {name: a, tenant: x, rate: {pattern: bursts, high: " +
			"2/s}}\n": "workload.classes.0.rate.for",
		"    - {name: a, slo: {itl: {p95: " +
			"60ms}}}\n": "workload.classes.0.slo.itl: gaps between tokens are not kept by class",
		"    - {name: a, slo: {itl: 60ms}}\n": "workload.classes.0.slo.itl: found 60ms for a " +
			"request",
		"    - {name: a, slo: {ttft: {p50: 2s, p99: " +
			"1s}}}\n": "workload.classes.0.slo.ttft.p50: found 2s, but the limit of 1s for p99",
		"    - {name: a, slo: {tpot: {p90: 1s}, " +
			"percentile: 95}}\n": "workload.classes.0.slo.percentile: has no meaning",
		"    - {name: a, slo: {e2e: {p98: " +
			"1s}}}\n": `workload.classes.0.slo.e2e: unknown key "p98"`,
		"    - {name: a}\n    - {name: a}\n": "workload.classes.1.name: found a second class " +
			"called a",
	} {
		f, err := Parse("classes.yaml", []byte(overload+classes))
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", classes, err, want)
		}
	}
}

// Tenants have all requests between them, and all that run and wait, also those that a trace
// numbers and no class names.
func TestTenantsHaveAllRequests(t *testing.T) {
	trace := "arrival_s,prompt_tokens,output_tokens,class,tenant\n"
	for i := range 60 {
		trace += fmt.Sprintf("%d.5,200,30,%c,%d\n", i/10, 'a'+i%2, i%5)
	}
	path := filepath.Join(t.TempDir(), "numbered.csv")
	testkit.OK(t, os.WriteFile(path, []byte(trace), 0o666))
	r := runYAML(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {trace: {file: "+path+
		"}, patience: 100ms, classes: [{name: a, tenant: x}, {name: b, tenant: y}]}\n")
	var sum metrics.ClassSummary
	for _, of := range r.Tenants {
		sum.Completed += of.Completed
		sum.TimedOut += of.TimedOut
		sum.Cut += of.Cut
		sum.MeanRunning += of.MeanRunning
		sum.MeanWaiting += of.MeanWaiting
	}
	if sum.Completed != r.Completed || sum.Cut != r.Cut || sum.Sent() != 60 ||
		!near(sum.MeanRunning, r.MeanRunning) || !near(sum.MeanWaiting, r.MeanWaiting) {
		t.Errorf("tenants have %+v, all together %+v %+v", sum, r.Endings, r.Occupancy)
	}
	if others, plain := r.Tenants["others"], runYAML(t, overload+"    - {name: c, tenant: x, "+
		"rate: 1/s}\n"); others.Sent() == 0 || len(plain.Tenants) != 1 {
		t.Errorf("others %+v; a load without any has %d tenants", others, len(plain.Tenants))
	}
}

// A class has each key of requests and sessions that it leaves out from the workload around it, and
// keeps each key that it has.
func TestClassesInheritEachKey(t *testing.T) {
	around := RequestKeys{"rag", Length{Value: 1}, Length{Value: 2}, &Prefix{Groups: 3}, 4, 5, 6}
	sessions := SessionKeys{&Sessions{}, []Call{{}}}
	for i := range reflect.TypeFor[RequestKeys]().NumField() {
		own := RequestKeys{"judges", Length{Value: 7}, Length{Value: 8}, &Prefix{}, 9, 10, 11}
		want := own
		reflect.ValueOf(&own).Elem().Field(i).SetZero()
		reflect.ValueOf(&want).Elem().Field(i).Set(reflect.ValueOf(around).Field(i))
		if inherit(&own, around); own != want {
			t.Errorf("without its key %d: %+v, want %+v", i, own, want)
		}
	}
	own := SessionKeys{Calls: []Call{}}
	if inherit(&own, sessions); own.Sessions != sessions.Sessions || len(own.Calls) != 1 {
		t.Errorf("without sessions and calls: %+v", own)
	}
}
