package capacity

import (
	"context"
	"runtime"
	"sync"

	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// lookahead begins simulations that a search will need unless it finds a better fleet before. They
// are those of the next options in order, so that cores and workers have work while one option is
// tried. Their results are used if they are needed, and dropped otherwise, so the answer does not
// depend on them.
type lookahead struct {
	s      *search
	ahead  int // options to look ahead
	begun  map[int]int
	slots  chan struct{}
	trials oracle.Trials
	group  sync.WaitGroup
}

func (s *search) newLookahead() *lookahead {
	l := &lookahead{s: s, ahead: max(runtime.GOMAXPROCS(0), s.Trials.Workers) - 1,
		begun: map[int]int{}}
	l.slots = make(chan struct{}, max(1, l.ahead))
	l.trials = *s.Trials
	l.trials.Ahead = true
	return l
}

// begin simulates the next options that may win, each with as many replicas as the search would.
func (l *lookahead) begin(ctx context.Context, next []int) {
	s := l.s
	if s.best < 0 || l.trials.Recorded {
		return // nothing is known yet of what the search will ask
	}
	other := s.Judge
	other.Trials = &l.trials
	for k, found := 0, 0; k < len(next) && found < l.ahead; k++ {
		o := s.options[next[k]]
		if !s.mayWin(o.Index) {
			continue
		}
		found++
		ask := other.Enough
		n, _ := s.first(o)
		if o.Scaled() {
			ask, n = firstAsked(&other, o, s.fixed)
		}
		if l.begun[o.Index] == n {
			continue
		}
		select {
		case l.slots <- struct{}{}:
		default:
			return // enough is under way
		}
		l.begun[o.Index] = n
		l.group.Go(func() {
			defer func() { <-l.slots }()
			_, _ = ask(ctx, o, n) // an error shows again where the trial is needed
		})
	}
}

// close waits for the simulations that run.
func (l *lookahead) close() { l.group.Wait() }
