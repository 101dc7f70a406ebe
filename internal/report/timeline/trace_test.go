package timeline_test

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// traceEvent is what the checker reads of an event of the Trace Event Format.
type traceEvent struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat"`
	ID       *int64         `json:"id"`
	Process  *int           `json:"pid"`
	Thread   int            `json:"tid"`
	At       *float64       `json:"ts"`
	Duration *float64       `json:"dur"`
	Scope    string         `json:"s"`
	Args     map[string]any `json:"args"`
}

type traceFile struct {
	Events []traceEvent      `json:"traceEvents"`
	Unit   string            `json:"displayTimeUnit"`
	Other  map[string]string `json:"otherData"`
}

func runTraced(t *testing.T, events int, set ...string) traceFile {
	t.Helper()
	file, err := scenarios.Load("chat", append(set, "workload.requests=200")...)
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	name := filepath.Join(t.TempDir(), "trace.json")
	trace, err := timeline.NewTrace(name, events, s.Ledger)
	testkit.OK(t, err)
	s.StepByStep(trace.Token)
	s.OnTransfer(trace.Transfer)
	if _, err := s.Run(context.Background(), trace); err != nil {
		t.Fatal(err)
	}
	testkit.OK(t, trace.Close(nil))
	data := testkit.Read(t, name)
	var read traceFile
	testkit.OK(t, json.Unmarshal(data, &read))
	return read
}

// The rules of the Trace Event Format (Google, "Trace Event Format", 2016):
// every event has its phase's fields, complete slices of a track do not overlap, nestable slices of
// an ID nest and are all closed, and tracks that are used have names.
func TestTimelineKeepsTheFormat(t *testing.T) {
	for _, set := range [][]string{{"replicas=2"}, {"parallelism.pipeline=2"},
		{"workload.rate=50/s"}, apart} {
		trace := runTraced(t, timeline.TraceEvents, set...)
		if trace.Unit != "ms" || trace.Other["recorded"] != "the whole run" {
			t.Errorf("%v: unit %q, recorded %q", set, trace.Unit, trace.Other["recorded"])
		}
		type key struct{ process, thread int }
		free := map[key]float64{}
		open := map[int64][]traceEvent{}
		named := map[int]bool{}
		requests := 0
		computed, prompts, again := 0.0, 0.0, 0.0 // tokens of prompts
		for i, e := range trace.Events {
			if e.Process == nil || e.Name == "" || (e.Phase != "M" && (e.At == nil || *e.At < 0)) {
				t.Fatalf("%v: event %d lacks a field: %+v", set, i, e)
			}
			switch e.Phase {
			case "M":
				named[*e.Process] = true
			case "X":
				k := key{*e.Process, e.Thread}
				if e.Duration == nil || *e.Duration <= 0 || *e.At < free[k]-1e-3 {
					t.Fatalf("%v: slice %d starts at %v, before %v: %+v", set, i, *e.At, free[k], e)
				}
				free[k] = *e.At + *e.Duration
				if decoding, steps := e.Args["decoding"], e.Args["steps"]; steps != nil {
					want := "decode"
					switch prompts := e.Args["prompt_tokens"].(float64); {
					case prompts > 0 && decoding.(float64) > 0:
						want = "prefill and decode"
					case prompts > 0:
						want = "prefill"
					}
					computed += e.Args["prompt_tokens"].(float64)
					if e.Name != want || *e.Process < 2 {
						t.Fatalf("%v: a step of %v in process %d", set, e, *e.Process)
					}
				}
			case "b":
				open[*e.ID] = append(open[*e.ID], e)
				if strings.HasPrefix(e.Name, "request ") {
					prompts += e.Args["prompt"].(float64) - e.Args["cached"].(float64)
					again += e.Args["preemptions"].(float64)
				}
			case "e":
				stack := open[*e.ID]
				last := len(stack) - 1
				if strings.HasPrefix(e.Name, "request ") {
					requests++
				}
				if last < 0 || stack[last].Name != e.Name || *stack[last].At > *e.At {
					t.Fatalf("%v: event %d ends no slice: %+v", set, i, e)
				}
				open[*e.ID] = stack[:last]
			case "C":
				if len(e.Args) == 0 {
					t.Fatalf("%v: counter %d has no value", set, i)
				}
			case "i":
				if !strings.Contains("gpt", e.Scope) {
					t.Fatalf("%v: instant %d has scope %q", set, i, e.Scope)
				}
			default:
				t.Fatalf("%v: event %d has phase %q", set, i, e.Phase)
			}
			if !named[*e.Process] {
				t.Fatalf("%v: process %d has no name", set, *e.Process)
			}
		}
		for id, stack := range open {
			if len(stack) > 0 {
				t.Errorf("%v: request %d has open slices", set, id)
			}
		}
		if requests != 200 {
			t.Errorf("%v: %d requests in the timeline, want 200", set, requests)
		}
		if set[0] == apart[0] { // a token of each is computed again where it is decoded
			prompts += float64(requests)
		}
		if computed != prompts && again == 0 {
			t.Errorf("%v: steps compute %g tokens of prompts, requests have %g", set, computed,
				prompts)
		}
	}
}

// Times are exact: each chunk and each run of decode steps of a request ends when a step does.
func TestPartsEndWithSteps(t *testing.T) {
	ends := map[int64]bool{} // in ticks
	ticks := func(us float64) int64 {
		return int64(math.Round(us * float64(sim.Microsecond/sim.Tick)))
	}
	trace, parts := runTraced(t, timeline.TraceEvents, "workload.rate=50/s"), 0
	for _, e := range trace.Events {
		if e.Phase == "X" {
			ends[ticks(*e.At+*e.Duration)] = true
		}
	}
	for _, e := range trace.Events {
		if e.Phase == "e" && (e.Name == "prefill" || e.Name == "decode") {
			if parts++; !ends[ticks(*e.At)] {
				t.Fatalf("a part ends at %v µs, where no step does: %+v", *e.At, e)
			}
		}
	}
	if parts < 400 {
		t.Errorf("%d parts of 200 requests", parts)
	}
}

// A full trace holds no event after the time that it names as its end.
func TestTimelineIsBounded(t *testing.T) {
	trace := runTraced(t, 100)
	events, last := 0, 0.0
	for _, e := range trace.Events {
		if e.Phase != "M" {
			events++
			end := *e.At
			if e.Duration != nil {
				end += *e.Duration
			}
			last = max(last, end)
		}
	}
	words := "the run up to " + sim.Time(last*float64(sim.Microsecond)).String() + "; what came"
	if !strings.HasPrefix(trace.Other["recorded"], words) {
		t.Errorf("the last event ends at %g µs; recorded: %q", last, trace.Other["recorded"])
	}
	if events > 100 || !strings.Contains(trace.Other["recorded"], "what came later is left out") {
		t.Errorf("%d events of at most 100; recorded: %q", events, trace.Other["recorded"])
	}
}

// What the time of each step is spent on adds up to the step, and the weights take as long in each.
func TestTimelinePartsAddUp(t *testing.T) {
	for _, set := range [][]string{{"workload.rate=50/s"}, {"parallelism.pipeline=2"},
		{"speculation={method: eagle, tokens: 3, acceptance: 0.6}"}, {"attention=naive"}} {
		low, high := math.Inf(1), 0.0
		for _, e := range runTraced(t, timeline.TraceEvents, set...).Events {
			parts, ok := e.Args["parts_us"].(map[string]any)
			if !ok {
				continue
			}
			sum := 0.0
			for name, part := range parts {
				if part.(float64) < 0 {
					t.Fatalf("%v: %v µs of %s", set, part, name)
				}
				sum += part.(float64)
			}
			if math.Abs(sum-*e.Duration) > 1e-3 {
				t.Fatalf("%v: parts of %v µs, a step of %v", set, sum, *e.Duration)
			}
			low, high = min(low, parts["weights"].(float64)), max(high, parts["weights"].(float64))
		}
		if high == 0 || high > 1.25*low {
			t.Errorf("%v: the weights take %v to %v µs", set, low, high)
		}
	}
}

// apart is a setting of prefill and decode on replicas of their own.
var apart = []string{"fleet.pools=[{role: prefill, replicas: 2}, {role: decode, replicas: 1}]"}

// The slices of a link are its traffic: each transfer takes its
// bytes over the bandwidth, no two at once, and there is one for each request.
func TestTimelineShowsTheTrafficOfLinks(t *testing.T) {
	rate, sent := 0.0, 0
	for _, e := range runTraced(t, timeline.TraceEvents, apart...).Events {
		if e.Phase != "X" || *e.Process != 0 {
			continue
		}
		sent++
		each := e.Args["bytes"].(float64) / *e.Duration
		if rate == 0 {
			rate = each
		}
		if math.Abs(each-rate) > 1e-3*rate {
			t.Fatalf("%s is sent at %g bytes/µs, others at %g", e.Name, each, rate)
		}
	}
	if sent != 200 {
		t.Errorf("%d transfers, want 200", sent)
	}
}
