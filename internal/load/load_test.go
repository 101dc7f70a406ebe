package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// standIn is an endpoint that answers at once, or as the test says.
type standIn struct {
	*httptest.Server
	mu       sync.Mutex
	prompts  []int
	underWay atomic.Int64
	most     atomic.Int64
	// answer, if set, answers in place of a stream of tokens.
	answer func(n int64, w http.ResponseWriter, r *http.Request) (done bool)
	count  atomic.Int64
	pause  time.Duration
}

func newStandIn(t *testing.T) *standIn {
	s := &standIn{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"stand-in"}]}`)
	})
	mux.HandleFunc("POST /v1/completions", s.complete)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) complete(w http.ResponseWriter, r *http.Request) {
	now := s.underWay.Add(1)
	defer s.underWay.Add(-1)
	for most := s.most.Load(); now > most &&
		!s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	var c completion
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Model != "stand-in" || !c.Stream {
		http.Error(w, `{"error":{"message":"not what was expected"}}`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.prompts = append(s.prompts, len(c.Prompt))
	s.mu.Unlock()
	if s.answer != nil && s.answer(s.count.Add(1), w, r) {
		return
	}
	time.Sleep(s.pause)
	for range c.MaxTokens {
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" word\"}]}\n\n")
	}
	fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,"+
		"\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n",
		len(c.Prompt), c.MaxTokens)
}

// requests returns a workload of n requests, all at once or of users.
func requests(t *testing.T, n int64, users int) workload.Source {
	t.Helper()
	c := workload.Config{Requests: n, Seed: 1, Classes: []workload.Class{{
		Weight: 1, Prompt: fixed(t, 7), Output: fixed(t, 3),
	}}}
	if users > 0 {
		c.Users = &workload.Users{Count: users}
	} else {
		c.Arrivals = &arrivals.Process{Rate: arrivals.AtOnce{}}
	}
	source, err := workload.Open(c)
	testkit.OK(t, err)
	return source
}

func fixed(t *testing.T, n int) *lengths.Distribution {
	t.Helper()
	d, err := lengths.Fixed(n)
	testkit.OK(t, err)
	return d
}

// TestCountsWhatTheServerSays sends an open and a closed loop: every request arrives with the
// prompt that the workload says, and users never have two under way.
func TestCountsWhatTheServerSays(t *testing.T) {
	for _, users := range []int{0, 3} {
		s := newStandIn(t)
		r, err := Run(t.Context(), Config{URL: s.URL, Source: requests(t, 40, users), Speed: 1})
		testkit.OK(t, err)
		if r.Completed != 40 || r.TotalInputTokens != 280 || r.TotalOutputTokens != 120 ||
			len(r.Errors) > 0 {
			t.Errorf("%d users: %+v", users, r)
		}
		if slices.Min(s.prompts) != 7 || slices.Max(s.prompts) != 7 {
			t.Errorf("prompts of %v tokens, want 7", s.prompts)
		}
		if users > 0 && s.most.Load() > int64(users) {
			t.Errorf("%d requests at a time from %d users", s.most.Load(), users)
		}
	}
}

// ended is a sim.Observer that keeps the times of requests.
type ended struct {
	sim.Observers
	ttft, e2e float64 // sums in milliseconds
	n, lost   int
}

func (e *ended) Finished(s *sim.Sequence) {
	e.ttft, e.e2e = e.ttft+s.TTFT().Milliseconds(), e.e2e+s.E2E().Milliseconds()
	e.n++
}

func (e *ended) Rejected(*sim.Request, sim.Rejection) { e.lost++ }

// TestRequestsAreTold compares what is told of each request with the result, with answers and
// without.
func TestRequestsAreTold(t *testing.T) {
	s, seen := newStandIn(t), &ended{}
	r, err := Run(t.Context(), Config{URL: s.URL, Source: requests(t, 40, 0), Speed: 1,
		Requests: seen})
	testkit.OK(t, err)
	if n := float64(seen.n); seen.n != 40 || seen.lost != 0 ||
		math.Abs(seen.ttft/n-r.MeanTTFT) > 1e-6 || math.Abs(seen.e2e/n-r.MeanE2EL) > 1e-6 {
		t.Errorf("told %+v, the result is %+v", seen, r)
	}
	s.answer = func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return true
	}
	if _, err := Run(t.Context(), Config{URL: s.URL, Source: requests(t, 5, 0), Speed: 1,
		Requests: seen}); err != nil || seen.n != 40 || seen.lost != 5 {
		t.Errorf("told %+v of 5 requests without an answer, %v", seen, err)
	}
}

// TestTimesCountFromTheSchedule lets one request at a time through to a server that takes 10 ms.
// The last of ten that were due at once has then waited for the nine others.
func TestTimesCountFromTheSchedule(t *testing.T) {
	s := newStandIn(t)
	s.pause = 10 * time.Millisecond
	r, err := Run(t.Context(), Config{URL: s.URL, Source: requests(t, 10, 0), Speed: 2,
		Concurrency: 1})
	testkit.OK(t, err)
	if s.most.Load() != 1 {
		t.Errorf("%d requests at a time, want 1", s.most.Load())
	}
	// Measured times are those of the workload, which passes twice as fast.
	if least := 2 * 10 * 10.0; r.P99E2EL < 0.98*least || r.MaxSendDelay < 90 {
		t.Errorf("p99 of E2E latency is %g ms, want %g at least; sent late by %g ms at most, "+
			"want 90 at least",
			r.P99E2EL, least, r.MaxSendDelay)
	}
}

// TestFailuresAreCounted has a server that refuses, breaks and hangs.
func TestFailuresAreCounted(t *testing.T) {
	s := newStandIn(t)
	s.answer = func(n int64, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1:
			http.Error(w, `{"error":{"message":"too many"}}`, http.StatusTooManyRequests)
		case 2:
			fmt.Fprint(w, "data: {not JSON\n\n")
		case 3:
			fmt.Fprint(w, "data: [DONE]\n\n")
		case 4:
			panic(http.ErrAbortHandler)
		case 5:
			<-r.Context().Done() // until the client gives up
		default:
			return false
		}
		return true
	}
	r, err := Run(t.Context(), Config{URL: s.URL, Source: requests(t, 8, 1), Speed: 1,
		Timeout: 2 * time.Second}) // the others take milliseconds
	testkit.OK(t, err)
	if r.Completed != 3 || r.Rejected != 1 || r.Lost != 3 || r.TimedOut != 1 {
		t.Errorf("completed %d, rejected %d, lost %d, timed out %d; want 3, 1, 3, 1: %v",
			r.Completed, r.Rejected, r.Lost, r.TimedOut, r.Errors)
	}
}

// left is a sim.EndObserver that keeps the tokens that users had when they left.
type left struct {
	sim.NopObserver
	had []int
}

func (l *left) Ended(s *sim.Sequence, _ sim.Rejection, _ sim.Time) {
	l.had = append(l.had, s.Answered)
}

// Users who leave before the first token cancel, and users who leave after it cut the answer. The
// time from the first token has no end before it.
func TestUsersWhoLeave(t *testing.T) {
	const soon = 100 * sim.Millisecond // a tenth of the time to a token, and after it
	s, seen := newStandIn(t), &left{}
	s.answer = func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		time.Sleep(time.Second)
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" word\"}]}\n\n")
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" word\"}]}\n\n")
		testkit.OK(t, http.NewResponseController(w).Flush())
		time.Sleep(time.Second)
		return false
	}
	source := sim.List{{Prompt: 5, Output: 9, Patience: soon},
		{Prompt: 5, Output: 9, Patience: soon, AfterFirst: true}, {Prompt: 5, Output: 9}}
	r, err := Run(t.Context(), Config{URL: s.URL, Source: &source, Speed: 1, Requests: seen})
	testkit.OK(t, err)
	if r.Cancelled != 1 || r.Cut != 1 || r.Completed != 1 || !slices.Equal(seen.had, []int{0, 2}) ||
		r.MeanTTFT < 1000 || r.Attainment.TTFT < 0.6 {
		t.Errorf("%+v, left with %v tokens, mean TTFT %g ms, TTFT kept by %g", r.Endings, seen.had,
			r.MeanTTFT, r.Attainment.TTFT)
	}
}

// TestCancelled ends at once and leaves nothing behind.
func TestCancelled(t *testing.T) {
	s := newStandIn(t)
	s.pause = 100 * time.Millisecond
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	_, err := Run(ctx, Config{URL: s.URL, Source: requests(t, 50, 5), Speed: 1})
	if !errors.Is(err, why) {
		t.Errorf("found %v, want %v", err, why)
	}
}

// TestPromptsShareWhatTheWorkloadSays draws requests over a few segments: two prompts begin with
// the same tokens as far as their segments are the same, and differ after that.
func TestPromptsShareWhatTheWorkloadSays(t *testing.T) {
	words, err := text.NewVocabulary()
	testkit.OK(t, err)
	c := newClient(&Config{}, words)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(id int64) *sim.Request {
			r := &sim.Request{ID: id, Output: 1}
			for range rapid.IntRange(0, 3).Draw(t, "segments") {
				n := rapid.IntRange(1, 40).Draw(t, "tokens")
				r.Content = append(r.Content, sim.Segment{ID: rapid.Uint64Range(1, 3).Draw(t, "id"),
					Tokens: n})
				r.Prompt += n
			}
			r.Prompt += rapid.IntRange(1, 40).Draw(t, "own")
			return r
		}
		a, b := draw(0), draw(1)
		left, right := c.prompt(a), c.prompt(b)
		if len(left) != a.Prompt || len(right) != b.Prompt {
			t.Fatalf("prompts of %d and %d tokens, want %d and %d", len(left), len(right), a.Prompt,
				b.Prompt)
		}
		if n := shared(a, b); !slices.Equal(left[:n], right[:n]) {
			t.Errorf("the first %d tokens differ", n)
		}
	})
}

// shared returns how many tokens two requests have in common at the start.
func shared(a, b *sim.Request) int {
	n := 0
	for i := range min(len(a.Content), len(b.Content)) {
		if a.Content[i].ID != b.Content[i].ID {
			break
		}
		n += min(a.Content[i].Tokens, b.Content[i].Tokens)
		if a.Content[i].Tokens != b.Content[i].Tokens {
			break
		}
	}
	return n
}
