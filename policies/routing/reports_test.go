package routing_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// gate lets a test look at the pool where a request is admitted.
type gate func(r *sim.Request, pool *sim.Pool) bool

func (g gate) Admit(r *sim.Request, pool *sim.Pool) bool { return g(r, pool) }

// route is a router made of a function.
type route func(r *sim.Request, pool *sim.Pool) int

func (f route) Route(r *sim.Request, pool *sim.Pool) int { return f(r, pool) }

// paced is a clock whose steps take longer the more tokens they have.
type paced struct{}

func (paced) Duration(s *sim.Step) sim.Time {
	return sim.Millisecond + 100*sim.Microsecond*sim.Time(s.Tokens())
}

// serve runs drawn requests on up to six small replicas.
func serve(t *rapid.T, router sim.Router, admission sim.Admission, requests sim.List) {
	c := sim.Config{Source: &requests, Router: router, Admission: admission}
	for range rapid.IntRange(1, 6).Draw(t, "replicas") {
		s, err := batching.NewVLLMV1(rapid.IntRange(1, 8).Draw(t, "places"), 512, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(rapid.Int64Range(20, 100).Draw(t, "blocks"), 16)
		testkit.OK(t, err)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: paced{}})
	}
	if _, err := sim.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
}

// drawn draws requests of a few conversations, tenants and beginnings.
func drawn(t *rapid.T) sim.List {
	var requests sim.List
	at := sim.Time(0)
	for range rapid.IntRange(1, 80).Draw(t, "requests") {
		at += sim.Time(rapid.IntRange(0, 9).Draw(t, "gap")) * sim.Millisecond
		r := sim.Request{Arrival: at, Output: rapid.IntRange(1, 60).Draw(t, "output"),
			Tenant:  rapid.IntRange(0, 2).Draw(t, "tenant"),
			Session: int64(rapid.IntRange(0, 5).Draw(t, "session"))}
		for range rapid.IntRange(1, 4).Draw(t, "segments") {
			s := sim.Segment{ID: uint64(rapid.IntRange(1, 3).Draw(t, "segment")), Tokens: 40}
			r.Content = append(r.Content, s)
			r.Prompt += s.Tokens
		}
		requests = append(requests, r)
	}
	return requests
}

// A router that hears of KV memory once a period chooses by what was last reported, however old:
// the least of all replicas, or of as many draws as hold every replica.
func TestReportsAreAsOldAsThePeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := sim.Time(rapid.IntRange(0, 60).Draw(t, "period")) * sim.Millisecond
		choices := rapid.SampledFrom([]int{0, 500}).Draw(t, "choices")
		kv, err := routing.NewKVAware(period, choices, 7)
		testkit.OK(t, err)
		var reported []float64
		due := sim.Time(0)
		watch := route(func(r *sim.Request, pool *sim.Pool) int {
			if pool.Now() >= due {
				reported, due = nil, pool.Now()+period
				for i := range pool.Len() {
					s := pool.State(i)
					reported = append(reported,
						float64(s.Used)/float64(s.Capacity)+float64(s.Waiting))
				}
			}
			chosen, least := kv.Route(r, pool), math.Inf(1)
			for _, x := range reported {
				least = min(least, x)
			}
			if reported[chosen] != least {
				t.Fatalf("replica %d was chosen of %v at %v", chosen, reported, pool.Now())
			}
			return chosen
		})
		serve(t, watch, nil, drawn(t))
	})
}

// A choice of two draws sends as many requests to each of n replicas as theory says while the
// reports stand: the k-th busiest of n is the less busy of two draws in 2k−1 of n² cases.
func TestDrawsBetweenReports(t *testing.T) {
	const n, sent = 4, 40_000
	kv, err := routing.NewKVAware(sim.Second, 2, 1)
	testkit.OK(t, err)
	to := make([]int, n)
	first := 0
	requests := sim.List{}
	for range n * (n - 1) / 2 { // replica i holds i requests when it reports
		requests = append(requests, sim.Request{Prompt: 100, Output: 4000})
	}
	for range sent {
		requests = append(requests, sim.Request{Arrival: sim.Second, Prompt: 1, Output: 1})
	}
	c := sim.Config{Source: &requests, Router: route(func(r *sim.Request, pool *sim.Pool) int {
		if r.Arrival == 0 {
			i := []int{1, 2, 2, 3, 3, 3}[first]
			first++
			return i
		}
		i := kv.Route(r, pool)
		to[i]++
		return i
	})}
	for range n {
		s, err := batching.NewVLLMV1(1000, 1<<20, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(1<<20, 16)
		testkit.OK(t, err)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: ticks{}})
	}
	if _, err := sim.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for i, got := range to {
		want := float64(2*(n-i)-1) / (n * n) * sent
		if math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
			t.Errorf("%d requests went to replica %d, want %g", got, i, want)
		}
	}
}

// Turns are taken: of any consecutive requests, no replica gets more than one above another.
func TestTurnsAreEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rr routing.RoundRobin
		before := -1
		serve(t, route(func(r *sim.Request, pool *sim.Pool) int {
			i := rr.Route(r, pool)
			if want := (before + 1) % pool.Len(); i != want {
				t.Fatalf("after replica %d comes %d of %d, want %d", before, i, pool.Len(), want)
			}
			before = i
			return i
		}), nil, drawn(t))
	})
}

// A limit of requests refuses exactly the requests that find the pool full.
func TestQueueLimitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.IntRange(1, 6).Draw(t, "per replica")
		limit, err := routing.NewQueueLimit(each)
		testkit.OK(t, err)
		serve(t, routing.LeastRequests{}, gate(func(r *sim.Request, pool *sim.Pool) bool {
			inside := 0
			for i := range pool.Len() {
				inside += pool.Requests(i)
			}
			admits := limit.Admit(r, pool)
			if admits != (inside < each*pool.Len()) {
				t.Fatalf("admitted: %v, with %d requests of %d on each of %d", admits, inside, each,
					pool.Len())
			}
			return admits
		}), drawn(t))
	})
}

// A token bucket of each tenant refuses exactly the requests that find it empty: with
// all that a tenant was admitted since any of its requests, the rate and the burst allow one more
// or not.
func TestRateLimitIsABucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := float64(rapid.IntRange(1, 300).Draw(t, "rate"))
		most := float64(rapid.IntRange(1, 5).Draw(t, "burst"))
		limit, err := routing.NewRateLimit(rate, most)
		testkit.OK(t, err)
		admitted := map[int][]sim.Time{} // by tenant
		serve(t, routing.LeastRequests{}, gate(func(r *sim.Request, pool *sim.Pool) bool {
			room := most // by the arrival curve of a bucket: burst + rate·span over every span
			for k, since := range admitted[r.Tenant] {
				span := (pool.Now() - since).Seconds()
				room = min(room, most+rate*span-float64(len(admitted[r.Tenant])-k))
			}
			admits := limit.Admit(r, pool)
			if math.Abs(room-1) > 1e-6 && admits != (room >= 1) {
				t.Fatalf("admitted: %v, with %g left of %g", admits, room, most)
			}
			if admits {
				admitted[r.Tenant] = append(admitted[r.Tenant], pool.Now())
			}
			return admits
		}), drawn(t))
	})
}

// A router that follows beginnings chooses the replica that last served the longest one that is
// long enough, unless it has too many more requests than another; one that it has no room to
// remember is forgotten, the first noted first.
func TestBeginningsAreFollowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(1, 60).Draw(t, "room")
		share := rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "share")
		slack := rapid.IntRange(0, 6).Draw(t, "slack")
		aware, err := routing.NewPrefixAware(room, share, slack)
		testkit.OK(t, err)
		type beginning [4]uint64
		at := map[beginning]int{}
		var noted []beginning
		serve(t, route(func(r *sim.Request, pool *sim.Pool) int {
			want := pool.LeastRequests()
			var b beginning
			for k, s := range r.Content {
				b[k] = s.ID
				i, known := at[b]
				if !known {
					break
				}
				if float64(40*(k+1)) >= share*float64(r.Prompt) {
					want = i
				}
			}
			if least := pool.LeastRequests(); pool.Requests(want) > pool.Requests(least)+slack {
				want = least
			}
			got := aware.Route(r, pool)
			if got != want {
				t.Fatalf("replica %d was chosen for %v, want %d", got, r.Content, want)
			}
			b = beginning{}
			for k, s := range r.Content {
				b[k] = s.ID
				if _, known := at[b]; !known {
					noted = append(noted, b)
				}
				at[b] = want
				if len(noted) > room {
					delete(at, noted[0])
					noted = noted[1:]
				}
			}
			return got
		}), nil, drawn(t))
	})
}

// Limits of the time to first token are held against predicted waits: the replica with the fewest
// requests is taken where it keeps the limit, or else the one that waits least, and a request that
// would miss it on all is refused.
func TestSLOAwareKeepsToPredictions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := sim.Time(rapid.IntRange(0, 40).Draw(t, "limit")) * sim.Millisecond
		own := sim.Time(rapid.IntRange(0, 40).Draw(t, "limit of requests")) * sim.Millisecond
		aware, err := routing.NewSLOAware(most)
		testkit.OK(t, err)
		limit := most
		if limit == 0 {
			limit = own
		}
		if limit == 0 {
			limit = sim.Never
		}
		requests := drawn(t)
		for i := range requests {
			requests[i].TTFT = own
		}
		serve(t, route(func(r *sim.Request, pool *sim.Pool) int {
			want := pool.LeastRequests()
			if pool.Wait(want, r.Prompt) > limit {
				want = pool.LeastWait()
			}
			got := aware.Route(r, pool)
			if got != want {
				t.Fatalf("replica %d was chosen, want %d", got, want)
			}
			return got
		}), gate(func(r *sim.Request, pool *sim.Pool) bool {
			kept := false
			for i := range pool.Len() {
				kept = kept || pool.Wait(i, r.Prompt) <= limit
			}
			admits := aware.Admit(r, pool)
			if admits != kept {
				t.Fatalf("admitted: %v, the limit is kept by some replica: %v", admits, kept)
			}
			return admits
		}), requests)
	})
}

// Requests of a conversation go where those before them went, and requests without one to the
// replica with the fewest requests.
func TestConversationsKeepTheirReplica(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := map[int64]int{}
		serve(t, route(func(r *sim.Request, pool *sim.Pool) int {
			got, least := routing.SessionAffinity{}.Route(r, pool), pool.LeastRequests()
			before, known := of[r.Session]
			if r.Session == 0 && got != least || r.Session != 0 && known && got != before {
				t.Fatalf("conversation %d goes to %d, was on %d, fewest requests on %d", r.Session,
					got, before, least)
			}
			of[r.Session] = got
			return got
		}), nil, drawn(t))
	})
}

// Conversations are spread evenly, and where a replica is added, only those move that it gets.
func TestConversationsStayAndSpread(t *testing.T) {
	const sessions = 3000
	before := make([]int, sessions)
	for n := 1; n <= 6; n++ {
		got, each := make([]int, 0, sessions), make([]int, n)
		var requests sim.List
		for i := range sessions {
			requests = append(requests, sim.Request{Session: int64(i + 1), Prompt: 1, Output: 1})
		}
		c := sim.Config{Source: &requests, Router: route(func(r *sim.Request, p *sim.Pool) int {
			i := routing.SessionAffinity{}.Route(r, p)
			got = append(got, i)
			each[i]++
			return i
		})}
		for range n {
			s, err := batching.NewVLLMV1(1000, 1<<20, 0)
			testkit.OK(t, err)
			m, err := memory.NewPaged(1<<20, 16)
			testkit.OK(t, err)
			c.Replicas = append(c.Replicas,
				sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: ticks{}})
		}
		if _, err := sim.Run(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		for i, to := range got {
			if to != before[i] && to != n-1 {
				t.Fatalf("conversation %d moves from replica %d to %d of %d", i, before[i], to, n)
			}
		}
		mean := sessions / float64(n)
		for i, k := range each {
			if math.Abs(float64(k)-mean) > 4*math.Sqrt(mean) {
				t.Errorf("replica %d of %d gets %d conversations of %d", i, n, k, sessions)
			}
		}
		before = got
	}
}

// What cannot be is refused.
func TestParametersAreChecked(t *testing.T) {
	for name, made := range map[string]func() error{
		"period":     func() error { _, err := routing.NewKVAware(-1, 0, 1); return err },
		"choices":    func() error { _, err := routing.NewKVAware(0, -1, 1); return err },
		"draws":      func() error { _, err := routing.NewChoices(0, 1); return err },
		"queue":      func() error { _, err := routing.NewQueueLimit(0); return err },
		"rate":       func() error { _, err := routing.NewRateLimit(0, 1); return err },
		"burst":      func() error { _, err := routing.NewRateLimit(1, 0.9); return err },
		"beginnings": func() error { _, err := routing.NewPrefixAware(0, 0, 0); return err },
		"share":      func() error { _, err := routing.NewPrefixAware(1, 1.1, 0); return err },
		"slack":      func() error { _, err := routing.NewPrefixAware(1, 1, -1); return err },
		"limit":      func() error { _, err := routing.NewSLOAware(-1); return err },
		"tokens":     func() error { _, err := routing.NewSplitwise(0); return err },
		"spill":      func() error { _, err := routing.NewNearest(0, 1); return err },
		"lost": func() error {
			index := routing.Index{Remembered: 1, Loss: 1.1}
			_, err := routing.NewCached(routing.Scoring{}, index, 1)
			return err
		},
		"remembered": func() error {
			_, err := routing.NewCached(routing.Scoring{}, routing.Index{}, 1)
			return err
		},
		"weight": func() error {
			_, err := routing.NewCached(routing.Scoring{Queue: -1}, routing.Index{Remembered: 1}, 1)
			return err
		},
	} {
		if made() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, none := routing.NewKVAware(0, 0, 1)
	_, draw := routing.NewChoices(1, 1)
	_, queue := routing.NewQueueLimit(1)
	_, rate := routing.NewRateLimit(0.1, 1)
	_, any := routing.NewPrefixAware(1, 0, 0)
	_, whole := routing.NewPrefixAware(1, 1, 0)
	_, own := routing.NewSLOAware(0)
	_, one := routing.NewSplitwise(1)
	_, near := routing.NewNearest(1, 1)
	_, lost := routing.NewCached(routing.Scoring{}, routing.Index{Remembered: 1, Loss: 1}, 1)
	if err := errors.Join(none, draw, queue, rate, any, whole, own, one, near, lost); err != nil {
		t.Error(err)
	}
}
