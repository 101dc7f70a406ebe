package sim_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// attentive is a scheduler that keeps the sequences of each batch as it is told of them, with
// whether they decode.
type attentive struct {
	*batching.Continuous
	t       *rapid.T
	batches map[*sim.Batch]map[*sim.Sequence]bool
	gone    *int
}

func (a *attentive) Entered(b *sim.Batch, s *sim.Sequence) {
	if a.batches[b] == nil {
		a.batches[b] = map[*sim.Sequence]bool{}
	}
	if _, inside := a.batches[b][s]; inside {
		a.t.Fatalf("request %d enters twice", s.ID)
	}
	a.batches[b][s] = false
}

func (a *attentive) Joined(b *sim.Batch, s *sim.Sequence) {
	if decodes, inside := a.batches[b][s]; !inside || decodes {
		a.t.Fatalf("request %d joins, inside %v and decoding %v", s.ID, inside, decodes)
	}
	a.batches[b][s] = true
}

func (a *attentive) Left(b *sim.Batch, s *sim.Sequence, gone bool) {
	if _, inside := a.batches[b][s]; !inside {
		a.t.Fatalf("request %d leaves a batch that it is not in", s.ID)
	}
	delete(a.batches[b], s)
	if gone {
		*a.gone++
	}
}

func (a *attentive) Schedule(b *sim.Batch) sim.Decision {
	a.check(b)
	d := a.Continuous.Schedule(b)
	a.check(b)
	return d
}

// check holds what was told against what the batch says.
func (a *attentive) check(b *sim.Batch) {
	decodes := 0
	for s := range b.All {
		does, inside := a.batches[b][s]
		if !inside {
			a.t.Fatalf("request %d is in a batch, and nobody was told", s.ID)
		}
		if does {
			decodes++
		}
	}
	if len(a.batches[b]) != b.Running() || decodes != b.Decodes() {
		a.t.Fatalf("%d sequences run, %d of them decode; %d and %d were told of", b.Running(),
			b.Decodes(), len(a.batches[b]), decodes)
	}
}

// Listeners are told of each sequence that enters, joins and leaves a batch, so that they know whom
// each batch has, and each request is gone once.
func TestListenersKnowTheBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		gone := 0
		c.make = func() (sim.Scheduler, error) {
			s, err := batching.NewVLLMV1(c.maxSequences, c.budget, c.chunk)
			return &attentive{s, t, map[*sim.Batch]map[*sim.Sequence]bool{}, &gone}, err
		}
		config, _ := c.config(t, math.MaxInt64)
		r, err := sim.Run(context.Background(), config)
		testkit.OK(t, err)
		if int64(gone) != r.Completed {
			t.Fatalf("%d requests are gone, %d completed", gone, r.Completed)
		}
	})
}
