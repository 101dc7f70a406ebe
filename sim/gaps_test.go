package sim_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// ledger writes down when each request got its last token, from the steps that it sees replicas run
// one by one, and with that the gaps that observers are to be told.
type ledger struct {
	*rapid.T
	sim.Observer
	last    map[attempt]sim.Time
	running [][]attempt // by replica: who gets a token from the step that runs
	relays  []bool      // by replica: tokens go on with the KV cache
	// by replica: the steps until the user of a request with a relayed first token gets it
	firstChunk []float64
}

// attempt is a request, and how often it began anew.
type attempt struct {
	id      int64
	retries int
}

// clock shows the ledger the steps of a replica. It hides that the clock within can leap.
type clock struct {
	sim.StepClock
	ledger  *ledger
	replica int
}

func (c clock) Duration(step *sim.Step) sim.Time {
	var running []attempt
	for i := range step.Prefill {
		if p := &step.Prefill[i]; p.Sequence != nil && p.Last {
			running = append(running, attempt{p.Sequence.ID, p.Sequence.Retries})
		}
	}
	if step.Sequences != nil {
		for s := range step.Sequences {
			if step.Decodes > 0 {
				running = append(running, attempt{s.ID, s.Retries})
			}
		}
		c.ledger.running[c.replica] = running
	}
	return c.StepClock.Duration(step)
}

// relayed stands for the time of a token that its user gets when another replica begins with the
// request.
const relayed = -1

func (l *ledger) Steps(leap *sim.Leap) {
	var want, got []sim.Time
	for _, a := range l.running[leap.Replica] {
		last, ok := l.last[a]
		if last == relayed {
			last = leap.Start + sim.Time(l.firstChunk[leap.Replica]*float64(leap.End-leap.Start))
		}
		if ok && leap.End > last && !leap.Together {
			want = append(want, leap.End-last)
		}
		l.last[a] = max(leap.End, last)
		if l.relays[leap.Replica] {
			l.last[a] = relayed
		}
	}
	for _, g := range leap.Gaps {
		got = append(got, slices.Repeat([]sim.Time{g.Span}, int(g.Count))...)
	}
	for i := range leap.Prefill {
		p := &leap.Prefill[i]
		a := attempt{p.Sequence.ID, p.Sequence.Retries}
		if p.Last && !slices.Contains(l.running[leap.Replica], a) {
			l.Fatalf("a chunk of request %d is told, which the step did not compute", a.id)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		l.Fatalf("the gaps that end at %v on replica %d (-), as told (+):\n%s", leap.End,
			leap.Replica, cmp.Diff(want, got))
	}
	if len(got) > 0 && got[0] <= 0 {
		l.Fatalf("a gap of %v", got[0])
	}
}

// Each gap lies between two tokens of one request, whatever fails, goes away, moves or stops
// meanwhile, and each chunk is of a request that the step computed, also where the request ended
// with it.
func TestGapsAreBetweenTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		for _, k := range c.kinds {
			k.stages = 1 // so that the last step that a clock saw is the one that ends next
		}
		config, _ := c.config(t, 1)
		l := &ledger{T: t, Observer: config.Observer, last: map[attempt]sim.Time{},
			running: make([][]attempt, len(config.Replicas))}
		config.Observer = l
		for i := range config.Replicas {
			r := &config.Replicas[i]
			r.Clock = clock{r.Clock, l, i}
			l.relays = append(l.relays, r.Relays)
			l.firstChunk = append(l.firstChunk, r.FirstChunk)
		}
		if _, err := sim.Run(context.Background(), config); err != nil {
			t.Fatal(err)
		}
	})
}
