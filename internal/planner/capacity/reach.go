package capacity

import (
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report"
)

// reaches returns the fleets among which the one that serves most is to be found: of each option
// the largest.
func (s *search) reaches() []*reach {
	var list []*reach
	for i, o := range s.options {
		n := s.allowed(o) - s.spare
		switch {
		case o.unfit() != "":
			s.fates[i] = fate{kind: unfit}
		case o.tight:
			s.fates[i] = fate{kind: outOfReach, closest: o.alone}
		case n < 1:
			s.fates[i] = fate{kind: beyond}
		default:
			s.fates[i] = fate{kind: outdone}
			list = append(list, s.reach(i, n))
		}
	}
	return list
}

// reach returns what is known of n replicas of option i without a simulation.
func (s *search) reach(i, n int) *reach {
	o := s.options[i]
	return &reach{option: i, replicas: n, kept: grid + 1, ceiling: float64(n) * o.ceiling,
		price: float64(n+s.spare) * o.price}
}

// reachFarthest finds the fleet that serves the most requests a second within the limits of the
// goal, and returns the reach of each fleet.
func (s *search) reachFarthest(ctx context.Context) ([]*reach, error) {
	all, err := s.reachAlone(ctx)
	if err == nil && s.best >= 0 {
		err = s.raise(ctx, all)
	}
	return all, err
}

// reachAlone finds the fleet that serves the most at a rate that its replicas sustain alone. Of the
// fleets whose bounds are highest, those bounds are narrowed, until none is above what the best
// would serve if its replicas did what one does. That fleet is then simulated whole. Where it
// misses the SLO, less is known of it, and the search goes on.
func (s *search) reachAlone(ctx context.Context) ([]*reach, error) {
	s.best, s.fates = -1, make([]fate, len(s.options))
	all := s.reaches()
	open := reachHeap(append([]*reach(nil), all...))
	heap.Init(&open)
	served := 0.0 // the highest rate that any fleet is believed to serve
	for len(open) > 0 && open[0].highest() > 0 {
		if now := open.unknown(served); len(now) > 0 {
			if err := s.narrow(ctx, now, served); err != nil {
				return nil, err
			}
			for _, r := range now {
				if s.fates[r.option].kind != broken {
					served = max(served, r.rate(r.kept))
					heap.Push(&open, r)
				}
			}
			continue
		}
		r := heap.Pop(&open).(*reach)
		d, err := s.carries(ctx, r, r.highest())
		if err != nil {
			return nil, err
		}
		if d.kept {
			s.choose(r, open)
			break
		}
		if s.fates[r.option].kind != broken {
			fewer := s.lower(r)
			heap.Push(&open, r)
			if fewer != nil {
				all = append(all, fewer)
				heap.Push(&open, fewer)
			}
		}
		served = open.served()
	}
	return all, nil
}

// raise looks for a fleet that serves more than the answer. A fleet shares its requests more evenly
// than chance does, and may sustain more than its replicas do alone: the answer is tried at higher
// rates until it misses the SLO for sure, and so is each other fleet whose bound is above that.
func (s *search) raise(ctx context.Context, all []*reach) error {
	own := slices.IndexFunc(all, func(r *reach) bool {
		return r.option == s.best && r.replicas == s.fates[s.best].replicas
	})
	order := []*reach{all[own]}
	for i, r := range all {
		if i != own && !r.settling && s.fates[r.option].kind != broken {
			order = append(order, r)
		}
	}
	for _, r := range order {
		missed := 0 // in a row
		for place := r.above(s.rate); place > 0 && missed < misses; place-- {
			d, err := s.carries(ctx, r, r.rate(place))
			if err != nil {
				return err
			}
			switch {
			case d.kept:
				missed = 0
				s.replace(r, place)
			case d.far:
				missed = misses
			case d.sure:
				missed++
			}
		}
	}
	return nil
}

// misses is at how many rates in a row a fleet misses the SLO for sure, but not by far, until it is
// not tried at higher ones: at one it may by chance.
const misses = 3

// replace makes a fleet the answer that serves more, at the rate of the search.
func (s *search) replace(r *reach, place int) {
	was := &s.fates[s.best]
	was.kind, was.words = simulated, fmt.Sprintf("%s serve less than %s/s",
		answer.Several(was.replicas, "replica"), report.Figure(s.rate))
	r.kept, r.missed, s.best = place, place-1, r.option
	fate := &s.fates[s.best]
	fate.kind, fate.words, fate.replicas = chosen, "", r.replicas
}

// carries decides whether the fleet keeps the SLO at a rate: simulated whole, with its spares down,
// over several seeds. If it does, that rate is the one of the search.
func (s *search) carries(ctx context.Context, r *reach, rate float64) (decision, error) {
	before, fate := s.rate, &s.fates[r.option]
	s.rate = rate
	d, err := s.decide(ctx, s.options[r.option], r.replicas, s.pessimism(r.option))
	if !d.kept {
		s.rate = before
	}
	if words, failed := failure(err); failed {
		fate.kind, fate.words = broken, words
		return decision{far: true}, nil
	}
	fate.closest = max(fate.closest, d.share)
	return d, err
}

// lower notes that a fleet misses the SLO at the highest rate that it might have sustained. It
// returns a smaller fleet of the option if that may serve more now, which only large ones do: their
// replicas serve as much as one does alone.
func (s *search) lower(r *reach) *reach {
	settling := r.settling
	r.missed, r.kept, r.settling = r.kept, r.kept+1, true
	n := min(r.replicas-1, int(float64(r.replicas)*r.rate(r.kept)/r.rate(r.missed)))
	if settling || n < 1 {
		return nil
	}
	fewer := s.reach(r.option, n)
	fewer.missed, fewer.kept = r.missed-1, r.missed
	return fewer
}

// choose makes a fleet the answer, and notes that the others serve less.
func (s *search) choose(best *reach, others reachHeap) {
	for _, r := range others {
		s.fates[r.option].words = fmt.Sprintf("%s serve less than %s/s",
			answer.Several(r.replicas, "replica"), report.Figure(r.rate(r.missed)))
	}
	s.best = best.option
	s.fates[s.best].kind, s.fates[s.best].words = chosen, ""
	s.fates[s.best].replicas = best.replicas
}

// narrow simulates each fleet once, where another is known to serve a rate.
func (s *search) narrow(ctx context.Context, list []*reach, served float64) error {
	return each(ctx, list, func(ctx context.Context, r *reach) error {
		o, fate := s.options[r.option], &s.fates[r.option]
		place := r.next(served)
		v, err := s.sustains(ctx, o, r.replicas, r.rate(place))
		if words, failed := failure(err); failed {
			fate.kind, fate.words = broken, words
			return nil
		}
		if err != nil {
			return err
		}
		fate.kind = simulated
		if v.sustained {
			r.kept = place
			return nil
		}
		r.missed = place
		fate.closest, fate.words = max(fate.closest, v.trial.Kept.Mean), s.lost(o, r.replicas, v)
		return nil
	})
}

// sustains decides whether n replicas of o sustain a rate: by one of them where they are alike,
// else by the whole fleet.
func (s *search) sustains(ctx context.Context, o *option, n int, rate float64) (verdict, error) {
	if _, taken := o.interrupted(); taken {
		rate = menu.Round(rate)
		t, err := s.withstands(ctx, o, n, rate, o.worst())
		return verdict{rate: rate / float64(n), sustained: t.kept(), trial: t}, err
	}
	if s.trials.file.Plan.Divisible() {
		return s.trials.sustains(ctx, o, rate/float64(n))
	}
	rate = menu.Round(rate)
	t, _, err := s.wholeAt(ctx, o, n, rate, o.worst(), 0)
	return verdict{rate: rate / float64(n), sustained: t.kept(), trial: t}, err
}
