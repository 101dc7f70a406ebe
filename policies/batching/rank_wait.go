package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// RankWait lets the prompts of data-parallel ranks wait for each other, because all ranks take
// their steps together: prompts start in a step for which every rank has one, and else in every
// step that is Steps steps after the last such (attention_dp_config of TensorRT-LLM with
// enable_balance, timeout_iters Steps and batching_wait_iters 0). They also start while some rank
// decodes nothing. A request goes to the rank with the fewest requests, and a rank has its share of
// the places and of the token budget. The zero value starts prompts at once, wherever there is
// room (tensorrt_llm/_torch/pyexecutor/py_executor.py, _balance_adp_requests, v1.1).
type RankWait struct {
	// Ranks is the number of data-parallel ranks, Steps the most steps for which prompts wait. The
	// wait is on if Ranks is above 1 and Steps above 0.
	Ranks, Steps int
}

func (w RankWait) validate(l *Limits, chunked bool) error {
	switch {
	case w.Steps < 0:
		return fmt.Errorf("rank-wait is %d, want 0 (start at once) or more", w.Steps)
	case w.on() && chunked:
		return fmt.Errorf("rank-wait is %d and chunked-context is true: how chunks wait for other "+
			"ranks is not modelled", w.Steps)
	case w.on() && (l.MaxSequences < w.Ranks || l.TokenBudget < w.Ranks):
		return fmt.Errorf("rank-wait is %d: max-sequences is %d and token-budget %d, want at "+
			"least one for each of %d ranks", w.Steps, l.MaxSequences, l.TokenBudget, w.Ranks)
	}
	return nil
}

// on reports whether prompts wait.
func (w RankWait) on() bool { return w.Steps > 0 && w.Ranks > 1 }

// ranks has the waiting sequences of each rank in their order of arrival. A request stays on the
// rank that arrive gave it. Ranks are in [0, Ranks).
type ranks struct {
	RankWait
	place    sim.PerSequence[place]
	waiting  []fifo     // of each rank
	requests []int      // of each rank, waiting or running: arrive adds, left and Withdraw subtract
	lanes    []rankLane // by number of the lane
	turn     int        // the rank whose first sequence starts next; admit alone sets it
}

// place says where a sequence is.
type place struct {
	rank     int
	decoding bool // in a batch, from joined to left
}

// rankLane is the state of a batch. For each rank, 0 <= decoding <= running.
type rankLane struct {
	opened            int64 // Batch.Steps in the step in which prompts could start last
	running, decoding []int // numbers of sequences of each rank: entered, joined and left count
}

func newRanks(w RankWait) *ranks {
	return &ranks{RankWait: w, waiting: make([]fifo, w.Ranks), requests: make([]int, w.Ranks)}
}

// arrive gives a request to the rank with the fewest.
func (k *ranks) arrive(s *sim.Sequence) {
	rank := 0
	for r, n := range k.requests {
		if n < k.requests[rank] {
			rank = r
		}
	}
	k.requests[rank]++
	*k.place.Of(s) = place{rank: rank}
}

func (k *ranks) queue(s *sim.Sequence) *fifo    { return &k.waiting[k.place.Of(s).rank] }
func (k *ranks) add(s *sim.Sequence)            { k.queue(s).add(s) }
func (k *ranks) remove(s *sim.Sequence)         { k.queue(s).remove(s) }
func (k *ranks) first() *sim.Sequence           { return k.waiting[k.turn].first() }
func (k *ranks) ignoresArrivals(full bool) bool { return full }

func (k *ranks) len() (n int) {
	for r := range k.waiting {
		n += k.waiting[r].len()
	}
	return n
}

func (k *ranks) victim(b *sim.Batch) *sim.Sequence  { return b.Victim() }
func (k *ranks) displaced(*sim.Batch) *sim.Sequence { return nil }

func (k *ranks) lane(b *sim.Batch) *rankLane {
	for len(k.lanes) <= b.Lane() {
		k.lanes = append(k.lanes, rankLane{running: make([]int, k.Ranks),
			decoding: make([]int, k.Ranks)})
	}
	return &k.lanes[b.Lane()]
}

// entered, joined and left follow a sequence of a batch.
func (k *ranks) entered(b *sim.Batch, s *sim.Sequence) { k.lane(b).running[k.place.Of(s).rank]++ }

func (k *ranks) joined(b *sim.Batch, s *sim.Sequence) {
	at := k.place.Of(s)
	at.decoding = true
	k.lane(b).decoding[at.rank]++
}

func (k *ranks) left(b *sim.Batch, s *sim.Sequence, gone bool) {
	at, lane := k.place.Of(s), k.lane(b)
	lane.running[at.rank]--
	if at.decoding {
		lane.decoding[at.rank]--
		at.decoding = false
	}
	if gone {
		k.requests[at.rank]--
	}
}

// admit starts the prompts of each rank where they may start in this step, and returns the number
// of steps for which the decision holds if nothing arrives or ends.
func (k *ranks) admit(b *sim.Batch, c *Continuous) int64 {
	lane, period := k.lane(b), int64(k.Steps)
	since := (b.Steps() - lane.opened) % period
	if since > 0 && lane.busy() && !k.all(b, c, lane) {
		if k.len() == 0 {
			return sim.Forever
		}
		return period - since
	}
	lane.opened = b.Steps()
	if b.Decodes() == 0 {
		lane.opened-- // this step is not counted
	}
	decodes, tokens := max(1, b.Decodes()), b.DecodeTokens()
	for k.turn = range k.Ranks {
		budget := c.limits.TokenBudget/k.Ranks - (lane.decoding[k.turn]*tokens+decodes-1)/decodes
		for first := true; budget > 0 && k.waiting[k.turn].len() > 0; first = false {
			if !k.room(c, lane, k.turn) || !k.fits(b, c, budget, first) {
				break
			}
			n := c.start(b, math.MaxInt)
			if n == 0 {
				break
			}
			budget -= n
		}
	}
	if k.len() == 0 {
		return sim.Forever
	}
	return period
}

// busy reports whether every rank decodes.
func (l *rankLane) busy() bool {
	for _, n := range l.decoding {
		if n == 0 {
			return false
		}
	}
	return true
}

// all reports whether a prompt of every rank can start.
func (k *ranks) all(b *sim.Batch, c *Continuous, lane *rankLane) bool {
	for r := range k.waiting {
		if k.waiting[r].len() == 0 || !k.room(c, lane, r) ||
			c.accept != nil && !c.accept(b, k.waiting[r].first()) {
			return false
		}
	}
	return true
}

// fits reports whether the prompt of the first sequence of the rank whose turn it is fits into the
// budget. The first to start may exceed it if it would never start otherwise.
func (k *ranks) fits(b *sim.Batch, c *Continuous, budget int, first bool) bool {
	s := k.first()
	tokens := s.Remaining()
	if tokens > budget && s.Stored == 0 && s.Swapped == 0 {
		tokens -= b.Memory().Match(s)
	}
	return tokens <= budget ||
		first && tokens > (c.limits.TokenBudget-c.limits.MaxSequences)/k.Ranks
}

// room reports whether a rank has a free place.
func (k *ranks) room(c *Continuous, lane *rankLane, rank int) bool {
	return lane.running[rank] < c.limits.MaxSequences/k.Ranks
}
