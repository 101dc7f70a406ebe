package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/alarm"
	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// Each reason why there is no answer has its status, when to try again, and a sentence.
func TestReasonsForNoAnswer(t *testing.T) {
	for why, want := range map[sim.Rejection]openai.Error{
		sim.TooLong: {Status: 400, Code: "context_length_exceeded",
			Message: "The request is longer than the context served."},
		sim.TooLarge: {Status: 400, Code: "context_length_exceeded",
			Message: "The request is larger than the KV memory."},
		sim.Refused: {Status: 429, RetryAfter: 1, Code: "too_many_requests",
			Message: "The request was refused by admission control."},
		sim.TimedOut: {Status: 429, RetryAfter: 1, Code: "too_many_requests",
			Message: "The request was timed out in the queue."},
		sim.Unavailable: {Status: 503, RetryAfter: 5, Message: "No replica serves the model now."},
		sim.Lost: {Status: 500,
			Message: "The request was lost in a failure of the server."},
	} {
		if got := failure(why); *got != want {
			t.Errorf("%v: %+v, want %+v", why, *got, want)
		}
	}
}

// News is delivered when it is due, in the order of time, and what is first to a job comes first of
// what is due; what is not due stays.
func TestNewsIsDeliveredInOrder(t *testing.T) {
	start := time.Now()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		var d delay
		type due struct {
			at  time.Time
			job *Job
		}
		var open []due
		for range 12 {
			for range r.IntN(9) {
				at := start.Add(time.Duration(r.IntN(30)) * time.Millisecond)
				j := &Job{listener: newListener()}
				d.add(at, j, update{tokens: 1, first: r.IntN(2) == 0})
				open = append(open, due{at, j})
			}
			now := start.Add(time.Duration(r.IntN(30)) * time.Millisecond)
			d.deliver(now)
			var left []due
			for _, o := range open {
				state := o.job.snapshot()
				if told := state.Tokens == 1; told == o.at.After(now) ||
					told && !state.Due.Equal(o.at) {
					t.Fatalf("%d: due at %v, told at %v: %+v", seed, o.at, now, state)
				}
				if o.at.After(now) {
					left = append(left, o)
				}
			}
			open = left
			at, ok := d.next()
			if ok != (len(open) > 0) {
				t.Fatalf("%d: something is due: %t, want %t", seed, ok, !ok)
			}
			for _, o := range open {
				if o.at.Before(at) {
					t.Fatalf("%d: next at %v, want %v", seed, at, o.at)
				}
			}
			queue := d.queue[d.head:]
			if len(queue) != len(open) || !slices.IsSortedFunc(queue,
				func(a, b delayed) int { return a.at.Compare(b.at) }) || d.head > 0 &&
				d.head > len(d.queue)/2 {
				t.Fatalf("%d: %d of %d from %d", seed, len(queue), len(open), d.head)
			}
		}
	}
	// Of one job, what comes out of order is no news, and what is first to it is told before.
	var d delay
	j := &Job{listener: newListener()}
	d.add(start, j, update{tokens: 5, cached: 5})
	d.add(start.Add(1), j, update{tokens: 1, cached: 1, first: true})
	d.deliver(start.Add(1))
	if s := j.snapshot(); s.Tokens != 5 || s.Cached != 5 || !s.Due.Equal(start.Add(1)) {
		t.Errorf("the first was not told first: %+v", s)
	}
}

// A job hears what is more than before, until it has ended; the moment is the oldest that nobody
// has looked at.
func TestStatesOfJobs(t *testing.T) {
	start := time.Now()
	j := &Job{listener: newListener()}
	woken := func() bool {
		select {
		case <-j.listener.wake:
			return true
		default:
			return false
		}
	}
	for i, c := range []struct {
		n          update
		told       bool
		tokens     int
		ended, due bool
	}{
		{update{}, false, 0, false, false},
		{update{tokens: 2, cached: 1, at: start}, true, 2, false, true},
		{update{tokens: 2, at: start.Add(1)}, false, 2, false, false},
		{update{tokens: 1, at: start}, false, 2, false, false},
		{update{tokens: 3, at: start}, true, 3, false, true},
		{update{tokens: 1, ended: true, stopped: true, at: start}, true, 3, true, true},
		{update{tokens: 9, ended: true, at: start}, false, 3, true, false},
	} {
		j.advance(c.n)
		told, s := woken(), j.snapshot()
		if told != c.told || s.Tokens != c.tokens || s.Ended != c.ended ||
			s.Due.IsZero() == c.due || s.Stopped != c.ended {
			t.Errorf("%d: told %t: %+v", i, told, s)
		}
	}
	j.fail(sim.Lost)
	if s := j.snapshot(); s.Failed {
		t.Error("an answer that is complete fails")
	}
	other := &Job{listener: newListener()}
	other.advance(update{tokens: 1, at: start})
	other.advance(update{tokens: 2, at: start.Add(5)})
	if s := other.snapshot(); !s.Due.Equal(start) {
		t.Errorf("due at %v, want the oldest, %v", s.Due, start)
	}
	other.fail(sim.Refused)
	if s := other.snapshot(); !s.Ended || !s.Failed || s.Why != sim.Refused || s.Tokens != 2 {
		t.Errorf("%+v", s)
	}
}

// An answer ends before the first text at which to stop that a piece behind the first ones
// completes; what is sent is all before it, in whole characters, and never a part of it.
func TestStoppersFindTheFirstText(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(most int) string {
			var b strings.Builder
			for range 1 + r.IntN(most) {
				b.WriteString([]string{"a", "b", "é", "€"}[r.IntN(4)])
			}
			return b.String()
		}
		var pieces, stops []string
		whole := pick(14)
		for rest := whole; rest != ""; {
			n := min(1+r.IntN(4), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		for range r.IntN(3) {
			stops = append(stops, pick(3))
		}
		after := r.IntN(4)
		want, by := whole, ""
		before := 0
	search:
		for i, piece := range pieces {
			first := -1
			for _, stop := range stops {
				from := max(0, before-len(stop)+1)
				at := strings.Index(whole[from:before+len(piece)], stop)
				if i >= after && at >= 0 && (first < 0 || from+at < first) {
					first, by = from+at, stop
				}
			}
			if first >= 0 {
				want = whole[:first]
				break search
			}
			before += len(piece)
		}
		s, sent := text.NewStopper(stops, after), ""
		for _, piece := range pieces {
			out := s.Next(piece)
			if !utf8.ValidString(out) {
				t.Fatalf("%d: %q is not whole characters", seed, out)
			}
			sent += out
		}
		sent += s.Rest()
		if sent != want || (s.By != nil) != (by != "") || s.By != nil && *s.By != by {
			t.Fatalf("%d: %q by %q after %d sends %q, want %q by %q", seed, pieces, stops, after,
				sent, want, by)
		}
		// A plan that is made beforehand ends at the same place, with the piece that completes it.
		p := &plan{script: func(i int) string { return pieces[i] }, tokens: len(pieces)}
		p.choice.Finish = "length"
		p.stopAt(stops, after)
		switch {
		case len(stops) == 0 || by == "":
			if p.bytes != -1 || p.tokens != len(pieces) || p.choice.Finish != "length" {
				t.Fatalf("%d: %+v", seed, p)
			}
		default:
			n := len(strings.Join(pieces[:p.tokens], ""))
			last := n - len(pieces[p.tokens-1])
			end := len(want) + len(by)
			if p.bytes != len(want) || end > n || end <= last || p.choice.Finish != "stop" ||
				*p.choice.Stop != by {
				t.Fatalf("%d: %q by %q: %d tokens and %d bytes", seed, pieces, by, p.tokens,
					p.bytes)
			}
		}
	}
}

// A delivery is late beyond 10 ms; a warning needs more than a tenth of a window of 5 s, which
// ends when it is over, and is forgotten after another.
func TestLatenessAtItsLimits(t *testing.T) {
	start := time.Now()
	for late, warned := range map[int]bool{1: false, 2: true} {
		for by, counts := range map[time.Duration]bool{10 * time.Millisecond: false,
			10*time.Millisecond + 1: true} {
			warnings := 0
			l := lateness{warn: func(string) { warnings++ }, begun: start}
			for i := range 10 {
				at := start.Add(time.Second)
				if i < late {
					l.recordDelivery(at, at.Add(by))
				} else {
					l.recordDelivery(at, at.Add(-time.Second))
				}
			}
			l.recordDelivery(start.Add(latenessWindow-1), start.Add(latenessWindow-1))
			if warnings > 0 || l.now.count != 11 || l.now.worst != by {
				t.Errorf("%d late by %v: %+v within the window", late, by, l.now)
			}
			l.now.count = 10
			l.recordDelivery(start.Add(latenessWindow), start.Add(latenessWindow))
			if (warnings == 1) != (warned && counts) || warnings > 1 {
				t.Errorf("%d of 10 late by %v: %d warnings", late, by, warnings)
			}
			if l.worst(start.Add(latenessWindow)) != by || l.now.count != 1 {
				t.Errorf("the window before is forgotten")
			}
			if w := l.worst(start.Add(3*latenessWindow - 1)); w != 0 && w != by {
				t.Errorf("worst %v", w)
			}
		}
	}
	l := lateness{begun: start, now: window{worst: 7, count: 1}}
	if w := l.worst(start.Add(2*latenessWindow - 1)); w != 7 {
		t.Errorf("just before two windows have gone by, the worst is %v", w)
	}
	l = lateness{begun: start, now: window{worst: 7, count: 1}}
	if w := l.worst(start.Add(2 * latenessWindow)); w != 0 {
		t.Errorf("after two windows the worst is %v", w)
	}
}

// counted is a source of requests with 1, 2, 3 … tokens of answer, some of which only come when
// those before are done.
type counted struct{ left, output, done int }

func (c *counted) NextArrival() sim.Time {
	if c.left == 0 {
		return sim.Never
	}
	return sim.Time(c.output)
}

func (c *counted) Next(r *sim.Request) {
	c.left--
	c.output++
	r.Output = c.output
}

func (c *counted) Done(*sim.Request, sim.Time) { c.done++ }
func (c *counted) Err() error                  { return nil }

// The lengths of answers are a workload's first thousand; 128 tokens where it has no request.
func TestLengthsOfAnswers(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 1, 7: 7, 999: 999, 1000: 1000, 1001: 1000} {
		c := &counted{left: n}
		list := Lengths(c)
		if len(list) != want || n == 0 && list[0] != 128 || n > 0 && (list[0] != 1 ||
			list[want-1] != want || c.done != want) {
			t.Errorf("%d requests: %d lengths, %d done", n, len(list), c.done)
		}
	}
}

// Tenants keep their numbers, others follow, and beyond the most that are told apart the next
// number is for all.
func TestNumbersOfTenants(t *testing.T) {
	n := newTenants(nil)
	for i, name := range []string{"", "a", "b", "a", "b", ""} {
		if got, want := n.number(name), i%3; got != want && i < 3 || i > 3 && n.number(name) !=
			map[string]int{"a": 1, "b": 2, "": 0}[name] {
			t.Errorf("%q is %d", name, got)
		}
	}
	for i := range mostTenants {
		n.number(fmt.Sprint("x", i))
	}
	if a, b := n.number("late"), n.number("later"); a != mostTenants || b != a ||
		len(n.numbers) != mostTenants {
		t.Errorf("%d and %d of %d", a, b, len(n.numbers))
	}
}

// Only what is on this machine is a loopback address.
func TestLoopback(t *testing.T) {
	for ip, want := range map[string]bool{"127.0.0.1": true, "::1": true, "10.0.0.1": false,
		"0.0.0.0": false} {
		if got := Loopback(&net.TCPAddr{IP: net.ParseIP(ip)}); got != want {
			t.Errorf("%s: %t", ip, got)
		}
	}
	if Loopback(&net.UnixAddr{Name: "x"}) {
		t.Error("a socket is a loopback address")
	}
}

// Each replica has a listener beside the first, at the ports that follow; an address without a port
// and a port that is taken are refused, and leave no listener.
func TestListeners(t *testing.T) {
	list, err := Listen("127.0.0.1:0", 2)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d listeners, %v", len(list), err)
	}
	taken := list[0].Addr().(*net.TCPAddr).Port
	if _, err := Listen(list[0].Addr().String(), 0); err == nil {
		t.Error("a port that is taken is taken again")
	}
	if _, err := Listen("127.0.0.1", 0); err == nil || !strings.Contains(err.Error(),
		"address to listen at") {
		t.Errorf("without a port: %v", err)
	}
	for _, l := range list {
		l.Close()
	}
	if list, err = Listen(fmt.Sprintf("127.0.0.1:%d", taken), 1); err == nil {
		if next := list[1].Addr().(*net.TCPAddr).Port; len(list) != 2 || next != taken+1 {
			t.Errorf("after port %d comes %d", taken, next)
		}
		for _, l := range list {
			l.Close()
		}
	}
}

// pipes is a listener of connections that are there at once, or of an error.
type pipes struct {
	net.Listener
	err error
}

func (p *pipes) Accept() (net.Conn, error) {
	if p.err != nil {
		return nil, p.err
	}
	c, _ := net.Pipe()
	return c, nil
}

func (p *pipes) Close() error { return nil }

// No more connections are open than are allowed: another is accepted when one has closed, which
// counts once; the end of the listener ends the wait.
func TestConnectionsAreLimited(t *testing.T) {
	if l := limited(&pipes{}, 0); reflect.TypeOf(l) != reflect.TypeOf(&pipes{}) {
		t.Errorf("no limit is %T", l)
	}
	source := &pipes{}
	l := limited(source, 1)
	source.err = io.EOF
	if _, err := l.Accept(); err != io.EOF {
		t.Errorf("%v, want the listener's error", err)
	}
	source.err = nil
	accepted := make(chan net.Conn)
	accept := func() {
		c, err := l.Accept()
		if err != nil {
			close(accepted)
			return
		}
		accepted <- c
	}
	go accept()
	first := <-accepted
	go accept()
	select {
	case <-accepted:
		t.Error("two connections of one")
	case <-time.After(5 * time.Millisecond):
	}
	first.Close()
	first.Close()
	<-accepted
	go accept()
	l.Close()
	if _, open := <-accepted; open {
		t.Error("a connection is accepted after the end")
	}
	testkit.OK(t, l.Close())
}

// instant is a Backend that answers at once, with the tokens that are asked for.
type instant struct {
	mu                      chan struct{}
	started, ended, stopped int
	fail                    *sim.Rejection
	jobs                    []*Job
	notReady, hold          bool
	models                  []Model
}

func newInstant(models ...Model) *instant {
	return &instant{mu: make(chan struct{}, 1), models: models}
}

func (b *instant) lock() func() { b.mu <- struct{}{}; return func() { <-b.mu } }

func (b *instant) Start(j *Job) {
	defer b.lock()()
	b.started++
	b.jobs = append(b.jobs, j)
	switch {
	case b.fail != nil:
		j.fail(*b.fail)
	case !b.hold:
		j.advance(update{tokens: j.Request.Output, cached: 3, ended: true, at: time.Now()})
	}
}

func (b *instant) Cancel(*Job)     { defer b.lock()(); b.ended++ }
func (b *instant) Stop(*Job)       { defer b.lock()(); b.stopped++ }
func (b *instant) Models() []Model { return b.models }
func (b *instant) Ready() bool     { return !b.notReady }

// vocabulary is read once.
var vocabulary = sync.OnceValues(text.NewVocabulary)

// behind returns a server of a backend, without connections.
func behind(t *testing.T, b Backend, change func(*Config)) *Server {
	t.Helper()
	words, err := vocabulary()
	testkit.OK(t, err)
	c := Config{Backend: b, Vocabulary: words, Words: words, Lengths: []int{6},
		Limits: DefaultLimits(100), Version: "1.2.3"}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	testkit.OK(t, err)
	return s
}

// asked returns what a server answers.
func asked(s *Server, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

// A server needs something to serve with: a backend with a model, a vocabulary, and lengths.
func TestWhatServersNeed(t *testing.T) {
	words, err := vocabulary()
	testkit.OK(t, err)
	whole := Config{Backend: newInstant(Model{"m", 9}), Vocabulary: words, Lengths: []int{1}}
	for i, change := range []func(*Config){func(c *Config) { c.Backend = nil },
		func(c *Config) { c.Vocabulary = nil }, func(c *Config) { c.Lengths = nil },
		func(c *Config) { c.Backend = newInstant() }} {
		c := whole
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("change %d is served", i)
		}
	}
	if _, err := New(whole); err != nil {
		t.Error(err)
	}
	l := DefaultLimits(1000)
	for i, d := range []time.Duration{l.BodyTime, l.WriteTime, l.HeaderTime, l.IdleTime,
		l.DrainTime} {
		if d < 5*time.Second || d > 5*time.Minute {
			t.Errorf("limit %d is %v", i, d)
		}
	}
	if l.BodyBytes != 1<<20+16000 || l.Requests < 1 || l.Connections < l.Requests ||
		l.HeaderBytes < 4<<10 || l.IdleTime < l.HeaderTime ||
		DefaultLimits(0).BodyBytes != 1<<20 {
		t.Errorf("%+v", l)
	}
}

// Prompts of a request are counted once for all their answers, and their tokens add up; the answer
// is as long as asked, and its work is begun and ended once for each.
func TestUsageAddsUp(t *testing.T) {
	for _, c := range []struct {
		prompts, n, tokens int
		stream             bool
	}{{1, 1, 1, false}, {1, 3, 4, false}, {3, 1, 5, false}, {2, 3, 2, false}, {1, 1, 7, true},
		{2, 2, 3, true}} {
		b := newInstant(Model{"m", 100})
		s := behind(t, b, nil)
		var prompts []string
		for i := range c.prompts {
			prompts = append(prompts, fmt.Sprintf("[1,2,%d]", i))
		}
		streamed := ""
		if c.stream {
			streamed = `,"stream":true,"stream_options":{"include_usage":true}`
		}
		w := asked(s, "POST", "/v1/completions", fmt.Sprintf(`{"prompt":[%s],"n":%d,"max_tokens":%d,
			"ignore_eos":true%s}`, strings.Join(prompts, ","), c.n, c.tokens, streamed))
		answers, usage, ended := map[int]int{}, 0, 0
		body := w.Body.String()
		type piece struct {
			Choices []struct {
				Index  int
				Text   string
				Finish string `json:"finish_reason"`
			}
			Usage *struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Details    struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		for line := range strings.Lines(body) {
			var r piece
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &r) != nil {
				continue
			}
			for _, choice := range r.Choices {
				answers[choice.Index] += len(strings.Fields(choice.Text))
				if choice.Finish == "length" {
					ended++
				}
			}
			if u := r.Usage; u != nil && len(r.Choices) == 0 || u != nil && !c.stream {
				usage++
				if u.Prompt != 3*c.prompts || u.Completion != c.prompts*c.n*c.tokens ||
					u.Details.Cached != 3*c.prompts {
					t.Errorf("%+v: %+v", c, *u)
				}
			}
		}
		all := c.prompts * c.n
		for i := range all {
			if answers[i] < 1 {
				t.Errorf("%+v: answer %d has no words: %s", c, i, body)
			}
		}
		if w.Code != 200 || len(answers) != all || ended != all || usage != 1 ||
			b.started != all || b.ended != all || b.stopped != 0 || s.underWay.Load() != 0 ||
			s.taken.Load() != 0 || strings.HasSuffix(body, "[DONE]\n\n") != c.stream ||
			(w.Header().Get("Content-Type") == "application/json") == c.stream {
			t.Errorf("%+v: %d, %d begun, %d ended, %v: %s", c, w.Code, b.started, b.ended, answers,
				body)
		}
	}
}

// What is asked for fits into the context together with the prompt, to the token; without a length
// answers of Completions have 16 tokens, and others what the context leaves.
func TestLengthsOfPlans(t *testing.T) {
	b := newInstant(Model{"m", 100})
	s := behind(t, b, func(c *Config) { c.Lengths = []int{1000} })
	tokens := func(n int) openai.Prompt { return openai.Prompt{Tokens: make([]int32, n)} }
	for i, c := range []struct {
		endpoint           openai.Endpoint
		prompt, most, want int
	}{
		{openai.Completions, 10, 0, 16}, {openai.Chat, 10, 0, 90}, {openai.Responses, 99, 0, 1},
		{openai.Chat, 10, 7, 7}, {openai.Completions, 10, 90, 90}, {openai.Completions, 10, 91, 0},
		{openai.Completions, 99, 1, 1}, {openai.Completions, 99, 2, 0}, {openai.Chat, 100, 0, 0},
		{openai.Completions, 100, 0, 0}, {openai.Completions, 90, 0, 16}, {openai.Chat, 101, 0, 0},
	} {
		r := &openai.Request{Endpoint: c.endpoint, N: 2, MaxTokens: c.most, Logprobs: -1,
			Prompts: []openai.Prompt{tokens(c.prompt)}, User: "ann", Priority: 3}
		plans, err := s.planner.plans(r, b.models[0], 4)
		if (err != nil) != (c.want == 0) {
			t.Errorf("%d: %v, want %d tokens", i, err, c.want)
			continue
		}
		if err != nil {
			continue
		}
		for _, p := range plans {
			q := p.job.Request
			if p.tokens != c.want || q.Output != c.want || q.Prompt != c.prompt || q.Model != 4 ||
				q.Priority != 3 || p.choice.Finish != "length" || p.job.Replica != -1 ||
				p.job.Tenant != "ann" || q.Answer != p.repeatable || q.Answer == 0 ||
				p.job.Asked.N != 2 || p.job.Asked.MaxTokens != c.most {
				t.Errorf("%d: %+v of %+v", i, p, q)
			}
		}
		if len(plans) != 2 || plans[0].repeatable == plans[1].repeatable ||
			plans[0].job.listener != plans[1].job.listener {
			t.Errorf("%d: %d plans", i, len(plans))
		}
	}
	// Natural ends: the length is one of the workload's, or the least that is asked for.
	s.planner.lengths = []int{6}
	for _, c := range []struct {
		most, least, want int
		ignore            bool
		finish            string
	}{{50, 0, 6, false, "stop"}, {6, 0, 6, false, "stop"}, {5, 0, 5, false, "length"},
		{50, 9, 9, false, "stop"}, {50, 0, 50, true, "length"}, {1, 0, 1, false, "length"}} {
		r := &openai.Request{Endpoint: openai.Completions, N: 1, MaxTokens: c.most,
			MinTokens: c.least, IgnoreEOS: c.ignore, Logprobs: -1,
			Prompts: []openai.Prompt{tokens(3)}}
		plans, err := s.planner.plans(r, b.models[0], 0)
		if err != nil || plans[0].tokens != c.want || plans[0].choice.Finish != c.finish {
			t.Errorf("%+v: %+v, %v", c, plans[0], err)
		}
	}
	for logprobs, refused := range map[int]bool{-1: false, 0: true, 1: true} {
		for _, endpoint := range []openai.Endpoint{openai.Chat, openai.Completions} {
			r := &openai.Request{Endpoint: endpoint, N: 1, MaxTokens: 2, Logprobs: logprobs,
				Prompts: []openai.Prompt{tokens(3)}}
			want := refused && !(logprobs == 0 && endpoint == openai.Completions)
			if _, err := s.planner.plans(r, b.models[0], 0); (err != nil) != want {
				t.Errorf("%v logprobs of %v: %v", logprobs, endpoint, err)
			}
		}
	}
	// A text of 20 bytes a token is read, and no longer one.
	for n, ok := range map[int]bool{20 * 100: true, 20*100 + 1: false} {
		if _, err := s.planner.encode(strings.Repeat("a", n), 100); (err == nil) != ok {
			t.Errorf("a prompt of %d bytes: %v", n, err)
		}
	}
}

// A prompt is as long as its segments, which end with whole blocks; equal beginnings have equal
// segments, and another token changes all that follow. What repeats an answer is its segment.
func TestSegmentsOfPrompts(t *testing.T) {
	words, err := vocabulary()
	testkit.OK(t, err)
	p := &answers{words: words, seed: 5}
	r := rand.New(rand.NewPCG(1, 4))
	for n := range 70 {
		one := make([]text.Token, n)
		for i := range one {
			one[i] = text.Token(r.IntN(1000))
		}
		list, name := p.content(one)
		sum := 0
		for i, s := range list {
			sum += s.Tokens
			if s.Tokens != 16 && i < len(list)-1 || s.Tokens < 1 || s.ID == 0 {
				t.Errorf("%d tokens: %v", n, list)
			}
		}
		if sum != n || len(list) != (n+15)/16 || n > 0 && list[len(list)-1].ID != name {
			t.Errorf("%d tokens in segments of %d: %v", n, sum, list)
		}
		if n == 0 {
			continue
		}
		at := r.IntN(n)
		other := slices.Clone(one)
		other[at]++
		changed, _ := p.content(other)
		for i := range list {
			if (list[i] == changed[i]) != (i < at/16) {
				t.Errorf("token %d of %d changed: segments %d are equal: %t", at, n, i,
					list[i] == changed[i])
			}
		}
		for index := range 2 {
			id := p.answer(name, index)
			again := slices.Clone(one)
			for i := range 5 {
				again = append(again, words.Word(id, i))
			}
			again = append(again, 7)
			longer, _ := p.content(again)
			k, sum := len(list), 0
			for _, s := range longer {
				sum += s.Tokens
			}
			if sum != n+6 {
				t.Errorf("%d tokens in segments of %d: %v", n+6, sum, longer)
			}
			if longer[k].ID != id || longer[k].Tokens < 5 || longer[k-1] != list[k-1] {
				t.Errorf("%d tokens and an answer: %v, want %d in it", n, longer, id)
			}
			if i, m := p.repeated(name, again[n:n+2]); m != 0 || i != 0 {
				t.Errorf("two words are answer %d, %d of them", i, m)
			}
			if i, m := p.repeated(name, again[n:n+3]); m != 3 || i != index {
				t.Errorf("three words are answer %d, %d of them", i, m)
			}
		}
	}
	p.words = nil
	if _, n := p.repeated(1, []text.Token{1, 2, 3}); n != 0 {
		t.Error("answers that are computed are repeated")
	}
}

// A slow clock takes its factor times as long, and at least a tick.
func TestSlowClocks(t *testing.T) {
	for _, c := range []struct {
		base   sim.Time
		factor float64
		want   sim.Time
	}{{1000, 1, 1000}, {1000, 2, 2000}, {1000, 0.5, 500}, {10, 0.01, 1}, {0, 1, 0}} {
		clock := slowClock{StepClock: fixed(c.base), factor: 1}
		clock.set(c.factor)
		if got := clock.Duration(nil); got != c.want || clock.turn != 1 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// fixed is a clock whose steps take as long.
type fixed sim.Time

func (f fixed) Duration(*sim.Step) sim.Time { return sim.Time(f) }

// The wall's moment of a time is the first at which that time has come, at any speed, and a user
// sees what came out after the front end's latency, less what reading took already.
func TestMomentsOfTimes(t *testing.T) {
	for _, speed := range []float64{0.5, 1, 50} {
		f := &Fleet{config: FleetConfig{Speed: speed}, start: time.Now()}
		for _, at := range []sim.Time{0, 1, 12345, sim.Second, 100 * sim.Second} {
			m := f.momentOf(at)
			if now := f.timeOf(m); now < at || now > at+sim.Time(3*speed*float64(sim.Nanosecond)) {
				t.Errorf("speed %g: at the moment of %d it is %d", speed, at, now)
			}
		}
		if d := f.momentOf(sim.Second).Sub(f.start).Seconds() * speed; d < 1 || d > 1.0001 {
			t.Errorf("speed %g: a second takes %g", speed, d)
		}
		j := &Job{}
		if got := f.seen(j, sim.Second, sim.Second); !got.Equal(f.momentOf(2 * sim.Second)) {
			t.Errorf("speed %g: seen at %v", speed, got)
		}
		j.reading = time.Millisecond
		if got := f.seen(j, sim.Second, sim.Second); !got.Equal(f.momentOf(2 * sim.Second).Add(
			-time.Millisecond)) {
			t.Errorf("speed %g: seen at %v", speed, got)
		}
		j.reading = time.Hour
		if got := f.seen(j, sim.Second, sim.Second); !got.Equal(f.momentOf(sim.Second)) {
			t.Errorf("speed %g: seen before it came out, at %v", speed, got)
		}
	}
}

// A fault names what is wrong with it; one that is right is noted in the place of its like.
func TestFaultsAreChecked(t *testing.T) {
	wakes, err := alarm.New()
	testkit.OK(t, err)
	defer wakes.Close()
	number := func(n int) *int { return &n }
	for i, c := range []struct {
		fault Fault
		field string
	}{
		{Fault{Kind: "kill"}, "replica: found none, allowed with kill: 0 to 1"},
		{Fault{Kind: "slow", Factor: 2}, "replica: found none, allowed with slow: 0 to 1"},
		{Fault{Kind: "kill", Replica: number(-1)}, "replica: found -1, allowed: 0 to 1"},
		{Fault{Kind: "kill", Replica: number(2)}, "replica: found 2, allowed: 0 to 1"},
		{Fault{Kind: "kill", Replica: number(1)}, ""},
		{Fault{Kind: "kill", Replica: number(0)}, ""},
		{Fault{Kind: "slow", Replica: number(0)}, "factor: found 0, allowed: 0.01 to 1000"},
		{Fault{Kind: "slow", Replica: number(0), Factor: 0.0099}, "factor: "},
		{Fault{Kind: "slow", Replica: number(0), Factor: 0.01}, ""},
		{Fault{Kind: "slow", Replica: number(0), Factor: 1000}, ""},
		{Fault{Kind: "slow", Replica: number(0), Factor: 1001}, "factor: "},
		{Fault{Kind: "drop"}, ""}, {Fault{Kind: "flood"}, "kind: found \"flood\", allowed: "},
		{Fault{Kind: "drop", For: "0s"}, "for: found \"0s\", allowed: "},
		{Fault{Kind: "drop", For: "x"}, "for: "}, {Fault{Kind: "drop", For: "1s"}, ""},
	} {
		f := &Fleet{slow: make([]slowClock, 2), alarm: wakes}
		err := f.Break(c.fault)
		if c.field == "" && (err != nil || len(f.orders) == 0) || c.field != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), c.field) || len(f.orders) > 0) {
			t.Errorf("%d: %v and %d orders, want %q", i, err, len(f.orders), c.field)
		}
	}
	f := &Fleet{}
	for _, c := range []struct {
		kind    string
		replica int
		end     sim.Time
	}{{"kill", 0, 5}, {"slow", 0, 6}, {"kill", 1, 7}, {"kill", 0, 9}} {
		f.listFault(Fault{Kind: c.kind, Replica: number(c.replica)}, c.end)
	}
	var ends []sim.Time
	for _, l := range f.broken {
		ends = append(ends, l.end)
	}
	if !slices.Equal(ends, []sim.Time{6, 7, 9}) {
		t.Errorf("faults that end at %v, want 6, 7 and 9", ends)
	}
}

// A model's context is the least of its replicas'.
func TestContextsOfModels(t *testing.T) {
	got := models([]string{"a", "b", "c"}, []telemetry.Engine{{Model: "a", Context: 9},
		{Model: "b", Context: 5}, {Model: "a", Context: 7}, {Model: "a", Context: 8}})
	if want := []Model{{"a", 7}, {"b", 5}, {"c", 0}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s := behind(t, newInstant(got...), nil)
	for name, want := range map[string]int{"": 0, "a": 0, "b": 1, "c": 2} {
		m, n, err := s.model(name)
		if err != nil || n != want || m != got[want] {
			t.Errorf("%q is %v, number %d (%v)", name, m, n, err)
		}
	}
	if w := asked(s, "GET", "/v1/models/d", ""); w.Code != 404 {
		t.Errorf("model d: %d", w.Code)
	}
	var card struct {
		ID      string
		Context int `json:"max_model_len"`
	}
	w := asked(s, "GET", "/v1/models/b", "")
	testkit.OK(t, json.Unmarshal(w.Body.Bytes(), &card))
	if w.Code != 200 || card.ID != "b" || card.Context != 5 {
		t.Errorf("%d %+v", w.Code, card)
	}
	var list struct{ Data []struct{ ID string } }
	testkit.OK(t, json.Unmarshal(asked(s, "GET", "/v1/models", "").Body.Bytes(), &list))
	if len(list.Data) != 3 || list.Data[2].ID != "c" {
		t.Errorf("%+v", list)
	}
}

// No more answers are under way than are allowed, however many a request has, and each that was
// let in is counted off.
func TestAnswersAreAdmitted(t *testing.T) {
	b := newInstant(Model{"m", 100})
	s := behind(t, b, func(c *Config) { c.Limits.Requests = 3 })
	if !s.admit(2) || s.admit(2) || !s.admit(1) || s.admit(1) || s.underWay.Load() != 3 {
		t.Errorf("%d under way of 3", s.underWay.Load())
	}
	w := asked(s, "POST", "/v1/completions", `{"prompt":"x"}`)
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || b.started != 0 ||
		!strings.Contains(w.Body.String(), "The server has 3 requests already.") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if load := asked(s, "GET", "/load", "").Body.String(); !strings.Contains(load, `:3}`) {
		t.Errorf("load %s", load)
	}
	s.leave(3)
	if w := asked(s, "POST", "/v1/completions", `{"prompt":"x","n":3}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := asked(s, "POST", "/v1/completions", `{"prompt":"x","n":4}`); w.Code != 429 ||
		s.underWay.Load() != 0 {
		t.Errorf("%d, %d under way", w.Code, s.underWay.Load())
	}
}

// A server that ends takes no request, and is not healthy as soon as it drains or nobody serves.
func TestServersThatEnd(t *testing.T) {
	b := newInstant(Model{"m", 100})
	s := behind(t, b, nil)
	health := func() int { return asked(s, "GET", "/health", "").Code }
	if health() != 200 || asked(s, "POST", "/ping", "").Code != 200 {
		t.Error("a server that serves is not healthy")
	}
	if b.notReady = true; health() != 503 {
		t.Error("a server without a replica is healthy")
	}
	b.notReady = false
	if s.draining.Store(true); health() != 503 {
		t.Error("a server that drains is healthy")
	}
	s.refusing.Store(true)
	w := asked(s, "POST", "/v1/completions", `{"prompt":"x"}`)
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || b.started != 0 ||
		s.taken.Load() != 0 {
		t.Errorf("%d, %d begun, %d taken", w.Code, b.started, s.taken.Load())
	}
	if text := asked(s, "GET", "/version", "").Body.String(); !strings.Contains(text, "1.2.3") {
		t.Errorf("version %s", text)
	}
}

// A request that fails has an error as its answer; a stream that had begun has it as an event.
func TestFailuresOfAnswers(t *testing.T) {
	for _, stream := range []string{"false", "true"} {
		b := newInstant(Model{"m", 100})
		lost := sim.Unavailable
		b.fail = &lost
		s := behind(t, b, nil)
		w := asked(s, "POST", "/v1/completions", `{"prompt":"x","stream":`+stream+`}`)
		if w.Code != 503 || w.Header().Get("Retry-After") != "5" || b.ended != 1 ||
			w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("stream %s: %d %s", stream, w.Code, w.Body)
		}
	}
	b := newInstant(Model{"m", 100})
	b.hold = true
	s := behind(t, b, nil)
	go func() {
		for b.count() == 0 {
			time.Sleep(time.Millisecond)
		}
		j := b.jobs[0]
		j.advance(update{tokens: 2, at: time.Now()})
		for {
			j.listener.mu.Lock()
			seen := j.state.Due.IsZero()
			j.listener.mu.Unlock()
			if seen {
				break
			}
			time.Sleep(time.Millisecond)
		}
		j.fail(sim.Lost)
	}()
	w := asked(s, "POST", "/v1/completions", `{"prompt":"x","max_tokens":9,"stream":true}`)
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, "lost in a failure") ||
		strings.Contains(body, `"finish_reason":"`) {
		t.Errorf("%d %s", w.Code, body)
	}
}

func (b *instant) count() int { defer b.lock()(); return len(b.jobs) }

// An error has its own status and says when to try again; what a client that went away would get
// is not written, and a stream that has begun gets no second head.
func TestRefusals(t *testing.T) {
	s := behind(t, newInstant(Model{"m", 100}), nil)
	for i, c := range []struct {
		err          error
		status       int
		after, begun string
		body         bool
	}{
		{errGone, 499, "", "", false}, {errors.Join(errGone, io.EOF), 499, "", "", false},
		{io.EOF, 500, "", "", true}, {&openai.Error{Status: 418}, 418, "", "", true},
		{&openai.Error{Status: 429, RetryAfter: 7}, 429, "7", "", true},
		{&openai.Error{Status: 429, RetryAfter: 7}, 429, "", "text/event-stream", false},
	} {
		w := httptest.NewRecorder()
		if c.begun != "" {
			w.Header().Set("Content-Type", c.begun)
		}
		if got := s.refuse(w, c.err); got != c.status || w.Header().Get("Retry-After") != c.after ||
			(w.Body.Len() > 0) != c.body || c.body && w.Code != c.status {
			t.Errorf("%d: %d, %v, %s", i, got, w.Header(), w.Body)
		}
	}
}

// Requests have names of their kind, each its own.
func TestNamesOfRequests(t *testing.T) {
	s := behind(t, newInstant(Model{"m", 100}), nil)
	seen := map[string]bool{}
	for endpoint, begin := range map[openai.Endpoint]string{openai.Completions: "cmpl-",
		openai.Chat: "chatcmpl-", openai.Responses: "resp_"} {
		for range 10 {
			id := s.newID(endpoint)
			if rest, ok := strings.CutPrefix(id, begin); !ok || !hex(rest, 16) || seen[id] {
				t.Errorf("%s of %v", id, endpoint)
			}
			seen[id] = true
		}
	}
	if n := replicaOf(context.Background()); n != -1 {
		t.Errorf("replica %d of no listener", n)
	}
	for n := range 3 {
		if got := replicaOf(withReplica(context.Background(), n)); got != n {
			t.Errorf("replica %d of listener %d", got, n)
		}
	}
}

// Digits are lower-case and as long as asked.
func TestHexadecimalDigits(t *testing.T) {
	for digits, want := range map[string]bool{"": false, "0a": false, "09af": true, "09aF": false,
		"09ag": false, "09afb": false} {
		if hex(digits, 4) != want {
			t.Errorf("%q: %t", digits, !want)
		}
	}
}

// A span has the tokens and the times of its call, within the trace of its client where that is a
// trace.
func TestSpansOfCalls(t *testing.T) {
	trace, parent := strings.Repeat("ab", 16), strings.Repeat("cd", 8)
	began := time.Now().Add(-3 * time.Second)
	c := &call{request: &openai.Request{N: 2, MaxTokens: 40}, began: began,
		head:  openai.Head{ID: "x", Model: "m"},
		plans: []*plan{{job: &Job{Prompt: make([]text.Token, 5)}}, {job: &Job{}}},
		sent:  []progress{{tokens: 3, cached: 2}, {tokens: 4, cached: 9}}}
	value := func(s span, key string) any {
		for _, a := range s.Attributes {
			if a.Key == key {
				for _, v := range a.Value {
					return v
				}
			}
		}
		return nil
	}
	for header, within := range map[string]bool{"00-" + trace + "-" + parent + "-01": true,
		"":                           false,
		"00-" + trace + "-" + parent: false, "00-" + trace + "x-" + parent + "-01": false,
		"00-" + trace + "-" + parent + "0-01": false, "00-x-" + parent + "-01": false} {
		s := c.span(header)
		if (s.Trace == trace && s.Parent == parent) != within || !within && s.Parent != "" ||
			!hex(s.Trace, 32) || !hex(s.ID, 16) || s.Kind != 2 {
			t.Errorf("%q: %+v", header, s)
		}
		if value(s, "gen_ai.usage.prompt_tokens") != "5" ||
			value(s, "gen_ai.usage.completion_tokens") != "7" ||
			value(s, "gen_ai.request.n") != "2" || value(s, "gen_ai.request.max_tokens") != "40" ||
			value(s, "gen_ai.latency.time_to_first_token") != nil ||
			s.Start != fmt.Sprint(began.UnixNano()) {
			t.Errorf("%+v", s)
		}
		if e2e := value(s, "gen_ai.latency.e2e").(float64); e2e < 3 || e2e > 60 {
			t.Errorf("%g s", e2e)
		}
	}
	if u := c.usage(); u != (openai.Usage{Prompt: 5, Cached: 2, Completion: 7}) {
		t.Errorf("%+v", u)
	}
	c.first = began.Add(time.Second)
	if ttft := value(c.span(""), "gen_ai.latency.time_to_first_token"); ttft != 1.0 {
		t.Errorf("TTFT %v", ttft)
	}
	if !c.planned() || (&call{}).planned() ||
		(&call{request: c.request}).planned() {
		t.Error("calls that were not understood are planned")
	}
}

// All spans arrive, in batches no larger than a batch may be.
func TestSpansComeInBatches(t *testing.T) {
	sizes := make(chan int, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var all struct {
			Spans []struct {
				Scope []struct{ Spans []span } `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil || r.URL.Path != "/v1/traces" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Error(r.URL, r.Header, err)
		}
		sizes <- len(all.Spans[0].Scope[0].Spans)
	}))
	defer collector.Close()
	for _, n := range []int{0, 1, 256, 300} {
		s := NewSpans(collector.URL + "/")
		for range n {
			s.add(span{Name: "x"})
		}
		s.Close()
		sum := 0
		for len(sizes) > 0 {
			size := <-sizes
			if sum += size; size > 256 || size < 1 {
				t.Errorf("a batch of %d spans", size)
			}
		}
		if sum != n {
			t.Errorf("%d spans of %d arrive", sum, n)
		}
	}
}

// Events are sent with the head of a stream, once; nothing is sent of nothing.
func TestEventsAreFlushed(t *testing.T) {
	w := httptest.NewRecorder()
	f := &flusher{w: w, control: http.NewResponseController(w), patience: time.Second}
	var none []byte
	if err := f.send(&none); err != nil || f.begun || w.Flushed {
		t.Errorf("nothing is sent: %v", err)
	}
	for i := range 3 {
		b := fmt.Appendf(nil, "data: %d\n\n", i)
		if err := f.send(&b); err != nil || len(b) != 0 || !w.Flushed || !f.begun {
			t.Errorf("%d: %v", i, err)
		}
	}
	if w.Body.String() != "data: 0\n\ndata: 1\n\ndata: 2\n\n" ||
		w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	if gone(nil) != nil || gone(io.EOF) != errGone {
		t.Error("errors of writing are not those of clients that went away")
	}
}

// The likeliest token is the first with the largest logit.
func TestLikeliest(t *testing.T) {
	for want, logits := range [][]float32{{3, 1, 2}, {1, 3, 3}, {-5, -4, -1}, {-9, -8, -7, 0}} {
		if got := likeliest(logits); got != text.Token(want) {
			t.Errorf("%v: %d", logits, got)
		}
	}
}

// A body of as many bytes as are allowed is read, and no larger one.
func TestBodiesAreLimited(t *testing.T) {
	s := behind(t, newInstant(Model{"m", 100}), func(c *Config) { c.Limits.BodyBytes = 40 })
	for n, want := range map[int]int{40: 200, 41: 413} {
		body := `{"prompt":"x","max_tokens":1}`
		w := asked(s, "POST", "/v1/completions", body+strings.Repeat(" ", n-len(body)))
		if w.Code != want || (w.Header().Get("Connection") == "close") != (want == 413) {
			t.Errorf("%d bytes: %d %s", n, w.Code, w.Body)
		}
	}
}
