package timeline

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// TraceEvents is how many events a trace holds unless told otherwise: some 25 MB, which the
// Perfetto UI opens in seconds.
const TraceEvents = 200_000

// Trace is a sim.Observer that writes a run in the Trace Event Format (JSON), to be opened at
// ui.perfetto.dev: a track for each batch of each replica with its steps and what their time is
// spent on, a track for each request with the parts of its life, one for each link with what it
// sends, and counters of batch, queue and KV use. When it is full it goes on with no more, and
// says so in the file.
type Trace struct {
	file  *files.Pending
	out   *bufio.Writer
	left  int      // events for which there is room; 0 once the trace is full or has ended
	until sim.Time // of the last event written
	known map[batch]bool
	queue map[int]int // last seen, by replica
	fresh []int64     // requests that got a token since the last step
	lives *Recorder
	// ledger returns what an accelerator does in a step.
	ledger func(*sim.Leap) steptime.Ledger
	err    error
}

// requestsProcess is the process under which requests are shown; replicas come after it.
const requestsProcess = 1

// linksProcess is the process under which links are shown, each as a track.
const linksProcess = 0

// TraceHead begins each file of a trace.
const TraceHead = `{"displayTimeUnit":`

// NewTrace starts a trace in a new file. It holds at most the given number of events. The
// ledger says what an accelerator does in each step, as scenarios.Simulation.Ledger does.
func NewTrace(name string, events int, ledger func(*sim.Leap) steptime.Ledger) (*Trace, error) {
	file, err := files.Create(name)
	if err != nil {
		return nil, err
	}
	t := &Trace{file: file, out: bufio.NewWriterSize(file, 1<<16), left: events,
		known: map[batch]bool{}, queue: map[int]int{}, ledger: ledger}
	t.lives = NewRecorder(t.request)
	t.write(TraceHead + `"ms","traceEvents":[`)
	t.write(`{"ph":"M","name":"process_name","pid":%d,"args":{"name":"requests"}}`, requestsProcess)
	return t, nil
}

func (t *Trace) write(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

// event writes one event, if there is room.
func (t *Trace) event(at sim.Time, format string, args ...any) {
	if t.left == 0 {
		return
	}
	t.left--
	t.until = at
	t.write(",\n"+format, args...)
}

// micros prints a time in microseconds, exactly.
type micros sim.Time

// Format implements fmt.Formatter.
func (m micros) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "%d.%05d", int64(m)/int64(sim.Microsecond), int64(m)%int64(sim.Microsecond))
}

func process(replica int) int { return requestsProcess + 1 + replica }

// Token is a sim.Config.Tokens: with it the timeline names the requests of each step.
func (t *Trace) Token(s *sim.Sequence, _ int, _ sim.Time) { t.fresh = append(t.fresh, s.ID) }

// Transfer writes the time in which a link sends a KV cache.
func (t *Trace) Transfer(m sim.Transfer) {
	if k := (batch{-1, m.Link}); !t.known[k] && t.left > 0 {
		t.known[k] = true
		t.write(",\n"+`{"ph":"M","name":"process_name","pid":%d,"args":{"name":"links"}}`,
			linksProcess)
		t.write(",\n"+`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"link %d"}}`,
			linksProcess, m.Link, m.Link)
	}
	t.event(m.To, `{"ph":"X","name":"request %d","pid":%d,"tid":%d,"ts":%v,"dur":%v,`+
		`"args":{"bytes":%d,"arrived_us":%v}}`, m.ID, linksProcess, m.Link, micros(m.From),
		micros(m.To-m.From), m.Bytes, micros(m.Arrived))
}

// Steps implements sim.Observer.
func (t *Trace) Steps(l *sim.Leap) {
	t.name(batch{l.Replica, l.Lane})
	tokens := 0
	for i := range l.Prefill {
		tokens += l.Prefill[i].New
		if id := l.Prefill[i].Sequence.ID; !slices.Contains(t.fresh, id) {
			t.fresh = append(t.fresh, id)
		}
	}
	requests := strings.ReplaceAll(fmt.Sprint(t.fresh), " ", ",")
	t.fresh = t.fresh[:0]
	name := "decode"
	switch {
	case tokens > 0 && l.Decodes > 0:
		name = "prefill and decode"
	case tokens > 0:
		name = "prefill"
	}
	t.event(l.End, `{"ph":"X","name":%q,"pid":%d,"tid":%d,"ts":%v,"dur":%v,"args":{"steps":%d,"decoding":%d,"context":%d,"prompts":%d,"prompt_tokens":%d,"requests":%s,%s}}`,
		name, process(l.Replica), l.Lane, micros(l.Start), micros(l.End-l.Start), l.Steps,
		l.Decodes, l.Context, len(l.Prefill), tokens, requests, t.spent(l))
	t.event(l.End, `{"ph":"C","name":"batch","pid":%d,"ts":%v,"args":{"sequences":%d}}`,
		process(l.Replica), micros(l.End), l.Running)
	t.event(l.End, `{"ph":"C","name":"KV blocks","pid":%d,"ts":%v,"args":{"used":%d}}`,
		process(l.Replica), micros(l.End), l.Used)
	t.lives.Steps(l)
}

// spent says what binds a step and, where it was not leapt over with others, what its time is spent
// on, in microseconds. The rest is drafting and waiting.
func (t *Trace) spent(l *sim.Leap) string {
	if t.left == 0 {
		return ""
	}
	sum := t.ledger(l).Sum()
	var words strings.Builder
	fmt.Fprintf(&words, `"bound":%q`, sum.Bound)
	if l.Steps > 1 { // the ledger is of the first one
		return words.String()
	}
	words.WriteString(`,"parts_us":{`)
	for _, p := range steptime.AllParts() {
		if sum.Parts[p] > 0 {
			fmt.Fprintf(&words, `%q:%v,`, p.Key(), micros(sum.Parts[p]))
		}
	}
	fmt.Fprintf(&words, `"rest":%v}`, micros(l.End-l.Start-sum.Time))
	return words.String()
}

// name names a track when it is first seen.
func (t *Trace) name(k batch) {
	if t.known[k] || t.left == 0 {
		return
	}
	t.known[k] = true
	if k.lane == 0 {
		t.write(",\n"+`{"ph":"M","name":"process_name","pid":%d,"args":{"name":"replica %d"}}`,
			process(k.replica), k.replica)
	}
	t.write(",\n"+`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"batch %d"}}`,
		process(k.replica), k.lane, k.lane)
}

// Finished implements sim.Observer.
func (t *Trace) Finished(s *sim.Sequence) { t.lives.Finished(s) }

// request writes a request as a slice with its parts inside, on a track of its own.
func (t *Trace) request(l *Life) {
	if edges := 2 + 2*len(l.Parts); t.left < edges {
		t.left = 0
		return
	}
	name := fmt.Sprintf("request %d", l.ID)
	t.edge(l, 'b', name, l.Arrival,
		fmt.Sprintf(`{"replica":%d,"prompt":%d,"output":%d,"cached":%d,"preemptions":%d}`,
			l.Replica, l.Prompt, l.Output, l.Cached, l.Preemptions))
	for i := range l.Parts {
		p := &l.Parts[i]
		t.edge(l, 'b', p.Kind.String(), p.From, fmt.Sprintf(
			`{"steps":%d,"tokens":%d,"replica":%d}`, p.Steps, p.Tokens, p.Replica))
		t.edge(l, 'e', p.Kind.String(), p.To, "{}")
	}
	t.edge(l, 'e', name, l.End, "{}")
}

// edge writes the beginning or the end of a slice on the track of a request.
func (t *Trace) edge(l *Life, phase rune, name string, at sim.Time, args string) {
	t.event(l.Last, `{"ph":"%c","cat":"request","id":%d,"name":%q,"pid":%d,"tid":0,"ts":%v,"args":%s}`,
		phase, l.ID, name, requestsProcess, micros(at), args)
}

// Rejected implements sim.Observer.
func (t *Trace) Rejected(r *sim.Request, why sim.Rejection) {
	t.lives.Rejected(r, why)
	t.event(r.Arrival, `{"ph":"i","s":"p","name":"rejected: %v","pid":%d,"tid":0,"ts":%v,"args":{"request":%d,"prompt":%d,"output":%d}}`,
		why, requestsProcess, micros(r.Arrival), r.ID, r.Prompt, r.Output)
}

// Sampled implements sim.Observer.
func (t *Trace) Sampled(at sim.Time, replica int, state sim.State) {
	t.name(batch{replica: replica})
	if last, seen := t.queue[replica]; seen && last == state.Waiting {
		return
	}
	t.queue[replica] = state.Waiting
	t.event(at, `{"ph":"C","name":"queue","pid":%d,"ts":%v,"args":{"waiting":%d}}`,
		process(replica), micros(at), state.Waiting)
}

// End ends the trace: what happens from now on is left out.
func (t *Trace) End() { t.left = 0 }

// Close completes the file and puts it in place. If the run failed with an error, Close discards
// the file and returns that error.
func (t *Trace) Close(run error) error {
	if run != nil {
		return errors.Join(run, t.file.Discard())
	}
	t.lives.Close()
	note := "the whole run"
	if t.left == 0 {
		note = fmt.Sprintf("the run up to %v; what came later is left out", t.until)
	}
	t.write("\n"+`],"otherData":{"recorded":%q}}`+"\n", note)
	if t.err == nil {
		t.err = t.out.Flush()
	}
	if t.err != nil {
		return errors.Join(t.err, t.file.Discard())
	}
	return t.file.Commit()
}
