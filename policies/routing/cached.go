package routing

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// Scoring says how a Cached router compares replicas.
type Scoring struct {
	// Prefix, Usage and Queue are the weights of what a replica has of the prompt, of its free KV
	// memory and of its empty queue, each from 0 to 1. The replica with the highest sum is taken
	// (gateway-api-inference-extension, pkg/epp: prefix-cache-scorer, kv-cache-utilization-scorer,
	// queue-scorer and max-score-picker).
	Prefix, Usage, Queue float64
	// Spread measures what a replica has of the prompt from the least to the most that any replica
	// has which has anything, in place of from nothing to all (llm-d-inference-scheduler:
	// indexedScoresToNormalizedScoredPods).
	Spread bool
	// Blocks takes the replica with the least sum of Prefix × the blocks that are to be computed
	// and the blocks in use, each with the prompt's blocks that the replica does not have, in place
	// of the weights (Dynamo: lib/llm/src/kv_router/scheduler.rs, DefaultWorkerSelector, at
	// temperature 0). Dynamo counts blocks in use from the prompts that it sent; here the memories
	// tell them, with the blocks of answers and without the blocks of waiting requests.
	Blocks bool
}

// Cached sends each request to the replica with the best score by what it has of the prompt and how
// busy it is, and to any of equal ones. How busy replicas are is always fresh.
type Cached struct {
	scoring Scoring
	index   Index
	rng     *rand.Rand
	scores  []replicaScore
	sent    []backlog // by replica
}

// replicaScore has the parts of a replica's score.
type replicaScore struct {
	replica        int
	found, of      int // blocks of the prompt
	usage, waiting float64
	used           int64
}

// NewCached returns the router with an index of its own.
func NewCached(s Scoring, i Index, seed uint64) (*Cached, error) {
	if s.Prefix < 0 || s.Usage < 0 || s.Queue < 0 {
		return nil, fmt.Errorf("weights are %g, %g and %g, want 0 or more", s.Prefix, s.Usage,
			s.Queue)
	}
	if err := i.check(); err != nil {
		return nil, err
	}
	return &Cached{scoring: s, index: i, rng: stream(seed)}, nil
}

// Exact reports whether the router needs memories that report what they store.
func (c *Cached) Exact() bool { return c.index.Exact }

// Route implements sim.Router.
func (c *Cached) Route(r *sim.Request, pool *sim.Pool) int {
	c.scores = c.scores[:0]
	for n := range pool.Len() {
		i := pool.At(n)
		found, of := c.index.find(i, r, pool)
		s := pool.State(i)
		c.scores = append(c.scores, replicaScore{i, found, of,
			float64(s.Used) / float64(s.Capacity), float64(s.Waiting), s.Used})
	}
	bounds := c.bounds()
	best, most, equal := 0, c.score(&c.scores[0], &bounds, pool), 1
	for n := 1; n < len(c.scores); n++ {
		switch v := c.score(&c.scores[n], &bounds, pool); {
		case v > most:
			best, most, equal = n, v, 1
		case v == most:
			if equal++; c.rng.IntN(equal) == 0 {
				best = n
			}
		}
	}
	chosen := &c.scores[best]
	if c.scoring.Blocks {
		c.sent[chosen.replica].add(int64(r.Prompt), chosen.of-chosen.found)
	}
	c.index.sent(chosen.replica)
	return chosen.replica
}

// backlog lists requests sent to a replica whose prompts may not be computed yet, the oldest first.
type backlog struct {
	prompts []sentPrompt
	first   int   // the place of the oldest
	tokens  int64 // of all prompts
	missing int   // of all blocks
}

// sentPrompt is a prompt and the number of its blocks that the replica did not have.
type sentPrompt struct {
	tokens int64
	blocks int
}

func (b *backlog) add(tokens int64, blocks int) {
	if b.first > len(b.prompts)/2 { // takes the place of what was computed
		b.prompts = append(b.prompts[:0], b.prompts[b.first:]...)
		b.first = 0
	}
	b.prompts = append(b.prompts, sentPrompt{tokens, blocks})
	b.tokens, b.missing = b.tokens+tokens, b.missing+blocks
}

// left returns the number of blocks to compute where prompts of the given number of tokens are not
// computed yet. The prompts that came first count as computed first.
func (b *backlog) left(tokens int64) int {
	for b.first < len(b.prompts) && b.tokens > tokens {
		p := &b.prompts[b.first]
		b.tokens, b.missing = b.tokens-p.tokens, b.missing-p.blocks
		b.first++
	}
	return b.missing
}

// scoreBounds are the least and the most of all replicas.
type scoreBounds struct {
	shortest, longest float64 // of their queues
	fewest, most      int     // blocks of the replicas that have anything
}

func (c *Cached) bounds() scoreBounds {
	b := scoreBounds{shortest: c.scores[0].waiting, longest: c.scores[0].waiting}
	for i := range c.scores {
		s := &c.scores[i]
		b.shortest, b.longest = min(b.shortest, s.waiting), max(b.longest, s.waiting)
		if s.found > 0 && (b.fewest == 0 || s.found < b.fewest) {
			b.fewest = s.found
		}
		b.most = max(b.most, s.found)
	}
	return b
}

// score returns the score of a replica: by blocks, or the sum of weighted scores from 0 to 1.
func (c *Cached) score(s *replicaScore, b *scoreBounds, pool *sim.Pool) float64 {
	if c.scoring.Blocks {
		for len(c.sent) <= s.replica {
			c.sent = append(c.sent, backlog{})
		}
		missing := s.of - s.found
		coming := c.sent[s.replica].left(pool.Pending(s.replica)) + missing
		return -c.scoring.Prefix*float64(coming) - float64(s.used+int64(missing))
	}
	prefix, queue := 0.0, 1.0
	switch {
	case s.found == 0: // there is nothing to score
	case !c.scoring.Spread:
		prefix = float64(s.found) / float64(s.of)
	case b.fewest == b.most:
		prefix = 1
	default:
		prefix = float64(s.found-b.fewest) / float64(b.most-b.fewest)
	}
	if b.longest > b.shortest {
		queue = (b.longest - s.waiting) / (b.longest - b.shortest)
	}
	return c.scoring.Prefix*prefix + c.scoring.Usage*(1-s.usage) + c.scoring.Queue*queue
}
