package routing_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// serveCached serves drawn requests on two to six replicas with small prefix caches, some over
// slower memory.
func serveCached(t *rapid.T, router sim.Router, requests sim.List) {
	c := sim.Config{Source: &requests, Router: router}
	var lower []memory.Tier
	for range rapid.IntRange(0, 2).Draw(t, "tiers") {
		lower = append(lower, memory.Tier{Blocks: 9, Fetch: sim.Microsecond})
	}
	for range rapid.IntRange(2, 6).Draw(t, "replicas") {
		s, err := batching.NewVLLMV1(4, 512, 0)
		testkit.OK(t, err)
		m, err := memory.NewTiered(rapid.Int64Range(20, 60).Draw(t, "blocks"), 16,
			memory.Tiering{Frequent: rapid.Bool().Draw(t, "lfu")}, lower...)
		testkit.OK(t, err)
		c.Replicas = append(c.Replicas, sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: paced{}})
	}
	_, err := sim.Run(context.Background(), c)
	testkit.OK(t, err)
}

// matched counts the blocks of a prompt that a replica's memory has, which is asked itself.
func matched(r *sim.Request, pool *sim.Pool, i int) (found, of int) {
	q := &sim.Sequence{Request: *r}
	q.Prompt++ // the last token of a prompt is always computed
	return memory.Cache(pool.Memory(i)).Match(q) / 16, r.Prompt / 16
}

// With an exact index that is always fresh, the chosen replica is the best by the formulas of the
// routers, where the memories say what they have.
func TestCachedChoosesTheBest(t *testing.T) {
	for name, scoring := range map[string]routing.Scoring{
		"gateway-api": {Prefix: 3, Usage: 2, Queue: 2},
		"llm-d":       {Prefix: 2, Usage: 1, Queue: 1, Spread: true},
		"dynamo":      {Prefix: 1, Blocks: true},
		"busy":        {Prefix: 1, Usage: 2, Queue: 2, Spread: true},
	} {
		rapid.Check(t, func(t *rapid.T) {
			c, err := routing.NewCached(scoring, routing.Index{Exact: true, Remembered: 1}, 3)
			testkit.OK(t, err)
			sentTo := map[int][][2]int{} // by replica, tokens of prompts and blocks not found
			watch := route(func(r *sim.Request, pool *sim.Pool) int {
				var scores, found, waiting []float64
				for i := range pool.Len() {
					n, _ := matched(r, pool, i)
					found = append(found, float64(n))
					waiting = append(waiting, float64(pool.State(i).Waiting))
				}
				some := slices.DeleteFunc(slices.Clone(found), func(n float64) bool {
					return n == 0
				})
				for i := range pool.Len() {
					of, s := float64(r.Prompt/16), pool.State(i)
					prefix, queue := found[i]/of, 1.0
					if scoring.Spread && found[i] > 0 {
						prefix = 1
						if least := slices.Min(some); least < slices.Max(some) {
							prefix = (found[i] - least) / (slices.Max(some) - least)
						}
					}
					if most := slices.Max(waiting); most > slices.Min(waiting) {
						queue = (most - waiting[i]) / (most - slices.Min(waiting))
					}
					score := scoring.Prefix*prefix + scoring.Queue*queue +
						scoring.Usage*(1-float64(s.Used)/float64(s.Capacity))
					if scoring.Blocks {
						missing, left := of-found[i], pool.Pending(i)
						score = -float64(s.Used) - 2*missing
						for _, sent := range slices.Backward(sentTo[i]) {
							if left -= int64(sent[0]); left >= 0 {
								score -= float64(sent[1])
							}
						}
					}
					scores = append(scores, score)
				}
				chosen := c.Route(r, pool)
				if best := slices.Max(scores); math.Abs(scores[chosen]-best) > 1e-9 {
					t.Fatalf("%s: replica %d was chosen, scores are %v", name, chosen, scores)
				}
				n, of := matched(r, pool, chosen)
				sentTo[chosen] = append(sentTo[chosen], [2]int{r.Prompt, of - n})
				return chosen
			})
			serveCached(t, watch, drawn(t))
		})
	}
}

// What is lost on the way is not known: with all events lost, replicas are alike but for their
// load, as they are to weights without the cache.
func TestLostEventsAreNotKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index := routing.Index{Exact: true, Loss: 1, Remembered: 1}
		deaf, err := routing.NewCached(routing.Scoring{Prefix: 3, Usage: 2, Queue: 2}, index, 3)
		testkit.OK(t, err)
		plain, err := routing.NewCached(routing.Scoring{Usage: 2, Queue: 2}, index, 3)
		testkit.OK(t, err)
		serveCached(t, route(func(r *sim.Request, pool *sim.Pool) int {
			chosen := deaf.Route(r, pool)
			if other := plain.Route(r, pool); other != chosen {
				t.Fatalf("replica %d was chosen, without the cache %d", chosen, other)
			}
			return chosen
		}), drawn(t))
	})
}

// Between two reports of a replica the index stays as it is, however the caches change.
func TestReportsOfCachesAreAsOldAsThePeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := sim.Time(rapid.IntRange(1, 60).Draw(t, "period")) * sim.Millisecond
		c, err := routing.NewCached(routing.Scoring{Prefix: 1}, routing.Index{Exact: true,
			Period: period, Remembered: 1}, 3)
		testkit.OK(t, err)
		due := sim.Time(0)
		var reported []map[uint64]bool // by replica, the blocks that texts began with
		texts := map[uint64]sim.Request{}
		requests := drawn(t)
		for i := range requests { // each prompt is one block of one text
			r := &requests[i]
			r.Content, r.Prompt = []sim.Segment{{ID: r.Content[0].ID, Tokens: 16}}, 16
			texts[r.Content[0].ID] = *r
		}
		serveCached(t, route(func(r *sim.Request, pool *sim.Pool) int {
			if pool.Now() >= due {
				reported, due = nil, pool.Now()+period
				for i := range pool.Len() {
					has := map[uint64]bool{}
					for id, text := range texts {
						n, _ := matched(&text, pool, i)
						has[id] = n == 1
					}
					reported = append(reported, has)
				}
			}
			id := r.Content[0].ID
			chosen := c.Route(r, pool)
			if !reported[chosen][id] && slices.ContainsFunc(reported,
				func(has map[uint64]bool) bool { return has[id] }) {
				t.Fatalf("replica %d was chosen at %v, which did not report text %d", chosen,
					pool.Now(), id)
			}
			return chosen
		}), requests)
	})
}

// An approximate index knows the last used of the blocks that were sent to a replica, as many as it
// remembers, whatever the replica keeps.
func TestApproximateIndexRemembersWhatWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 12).Draw(t, "remembered")
		c, err := routing.NewCached(routing.Scoring{Prefix: 1}, routing.Index{Remembered: most}, 3)
		testkit.OK(t, err)
		used := map[int][]uint64{} // by replica, the last used block last
		serveCached(t, route(func(r *sim.Request, pool *sim.Pool) int {
			blocks := memory.Names(nil, r.Content, 16)
			known := func(i int) (n int) {
				for n < len(blocks) && slices.Contains(used[i], blocks[n]) {
					n++
				}
				return n
			}
			chosen := c.Route(r, pool)
			for i := range pool.Len() {
				if known(i) > known(chosen) {
					t.Fatalf("replica %d was chosen, where %d blocks went, and to %d went %d",
						chosen, known(chosen), i, known(i))
				}
			}
			for _, b := range blocks {
				list := slices.DeleteFunc(used[chosen], func(o uint64) bool { return o == b })
				list = append(list, b)
				used[chosen] = list[max(0, len(list)-most):]
			}
			return chosen
		}), drawn(t))
	})
}

// What a replica stores after its report is not known before the next: requests for one text go to
// any replica until then, and after it only to the replicas that have the text.
func TestTextsAreKnownFromTheNextReport(t *testing.T) {
	const period, n = 100 * sim.Millisecond, 6
	c, err := routing.NewCached(routing.Scoring{Prefix: 1}, routing.Index{Exact: true,
		Period: period, Remembered: 1}, 3)
	testkit.OK(t, err)
	requests := sim.List{{Prompt: 8, Output: 1, Content: []sim.Segment{{ID: 2, Tokens: 8}}}}
	for i := range 40 {
		requests = append(requests, sim.Request{Prompt: 33, Output: 1,
			Arrival: sim.Time(i+1)*5*sim.Millisecond - 1,
			Content: []sim.Segment{{ID: 1, Tokens: 33}}})
	}
	before, after := map[int]bool{}, map[int]bool{}
	config := sim.Config{Source: &requests, Router: route(func(r *sim.Request, p *sim.Pool) int {
		chosen := c.Route(r, p)
		switch {
		case r.Content[0].ID == 2:
			return n - 1
		case p.Now() < period:
			before[chosen] = true
			return chosen % 2 // the others never have it
		}
		after[chosen] = true
		return chosen
	})}
	for range n {
		s, err := batching.NewVLLMV1(100, 1<<20, 0)
		testkit.OK(t, err)
		m, err := memory.NewPrefixCache(1000, 16)
		testkit.OK(t, err)
		config.Replicas = append(config.Replicas,
			sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: ticks{}})
	}
	_, err = sim.Run(context.Background(), config)
	testkit.OK(t, err)
	if len(before) != n {
		t.Errorf("before the report replicas %v were chosen, want all", before)
	}
	if len(after) != 2 || !after[0] || !after[1] {
		t.Errorf("after the report replicas %v were chosen, want 0 and 1", after)
	}
}

// Replicas with the best score get equally many requests each.
func TestEqualScoresAreDrawn(t *testing.T) {
	const n, sent = 5, 20_000
	c, err := routing.NewCached(routing.Scoring{Prefix: 1}, routing.Index{Remembered: 1}, 3)
	testkit.OK(t, err)
	var to [n]int
	serveAbroad(t, route(func(r *sim.Request, pool *sim.Pool) int {
		i := c.Route(r, pool)
		to[i]++
		return i
	}), [][]sim.Time{make([]sim.Time, n)}, slices.Repeat(sim.List{{Prompt: 1, Output: 1}}, sent))
	for i, got := range to {
		if want := float64(sent) / n; math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
			t.Errorf("replica %d got %d requests, want %g", i, got, want)
		}
	}
}
