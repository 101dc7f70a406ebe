package kernels

import "sync/atomic"

// Task is the body of a parallel loop.
type Task interface {
	// Do does iteration i. worker is below Pool.Threads; no two calls with the same worker overlap,
	// so it can index scratch space.
	Do(worker, i int)
}

// Pool is a team of workers, the caller of Run being one. Run must not be called from two
// goroutines at once.
//
// A decode step is some eighty short loops with a barrier after each. Waking a parked thread costs
// more than such a loop, so workers spin while they wait for each other. A wait that is much longer
// means that other programs have the cores. Then the worker parks, and its core goes to a worker
// that still has work.
type Pool struct {
	workers []worker
	task    Task
	// state is the number of the loop in the upper half, then one bit while helpers may join it,
	// then how many are in it.
	state atomic.Uint64
	// waiting is set while the caller of Run is parked until the last helper leaves the loop, which
	// then sends to left.
	waiting atomic.Bool
	left    chan struct{}
	closed  atomic.Bool
}

const (
	oneLoop   = 1 << 32
	open      = 1 << 31
	inside    = open - 1
	loopShift = 32
)

// worker is a member of the team, alone on its cache lines.
type worker struct {
	span   atomic.Uint64 // iterations left: first in the upper half, one past the last in the lower
	parked atomic.Bool
	wake   chan struct{}
	_      [128 - 24]byte
}

// How often a worker looks before it parks: helpers for the next loop, some hundred microseconds,
// since sampling and scheduling lie between two steps; the caller for the end of a helper's last
// iteration, some ten microseconds.
const (
	helperSpins = 1 << 18
	callerSpins = 1 << 14
)

// NewPool starts a pool of the given number of threads, at least 1.
func NewPool(threads int) *Pool {
	p := &Pool{workers: make([]worker, max(threads, 1)), left: make(chan struct{}, 1)}
	for i := 1; i < len(p.workers); i++ {
		p.workers[i].wake = make(chan struct{}, 1)
		go p.help(i)
	}
	return p
}

// Threads returns the number of workers.
func (p *Pool) Threads() int { return len(p.workers) }

// Close ends the helpers. The pool must be idle, and cannot be used afterwards.
func (p *Pool) Close() {
	p.closed.Store(true)
	p.start()
}

// Run calls t.Do for 0 ≤ i < n, in no particular order, and returns when all calls have returned.
// Each worker starts on a contiguous share, because neighbouring iterations read neighbouring
// memory, and takes from the far end of another's when its own is done. Run does not allocate.
func (p *Pool) Run(n int, t Task) {
	threads := len(p.workers)
	if threads == 1 || n <= 1 {
		for i := range n {
			t.Do(0, i)
		}
		return
	}
	p.task = t
	for w := range p.workers {
		p.workers[w].span.Store(uint64(n*w/threads)<<32 | uint64(n*(w+1)/threads))
	}
	p.start()
	p.work(0)
	// All iterations are taken. Wait for the helpers that joined; one that the system has not
	// scheduled is not waited for.
	p.state.And(^uint64(open))
	p.wait()
}

// wait returns when no helper is in the loop, which is closed.
func (p *Pool) wait() {
	for range callerSpins {
		if p.state.Load()&inside == 0 {
			return
		}
	}
	for p.state.Load()&inside != 0 {
		p.waiting.Store(true)
		if p.state.Load()&inside == 0 && p.waiting.CompareAndSwap(true, false) {
			return // the last helper left before it could see that the caller waits
		}
		<-p.left // it may come from a helper that left an earlier loop, so look again
	}
}

// leave takes a helper out of the loop.
func (p *Pool) leave() {
	if p.state.Add(^uint64(0))&(open|inside) == 0 && p.waiting.CompareAndSwap(true, false) {
		p.left <- struct{}{}
	}
}

// start opens the next loop and wakes who is parked.
func (p *Pool) start() {
	p.state.Store((p.state.Load()>>loopShift+1)*oneLoop | open)
	for w := 1; w < len(p.workers); w++ {
		if p.workers[w].parked.CompareAndSwap(true, false) {
			p.workers[w].wake <- struct{}{}
		}
	}
}

// help is the life of helper w.
func (p *Pool) help(w int) {
	for seen := uint64(0); ; {
		seen = p.join(&p.workers[w], seen)
		if p.closed.Load() {
			return
		}
		p.work(w)
		p.leave()
	}
}

// join waits for an open loop other than seen, joins it and returns its number.
func (p *Pool) join(me *worker, seen uint64) uint64 {
	for {
		for range helperSpins {
			s := p.state.Load()
			if s&open != 0 && s>>loopShift != seen && p.state.CompareAndSwap(s, s+1) {
				return s >> loopShift
			}
		}
		me.parked.Store(true)
		s := p.state.Load()
		if s&open != 0 && s>>loopShift != seen && me.parked.CompareAndSwap(true, false) {
			continue // opened after the last look
		}
		<-me.wake
	}
}

// work does iterations until all are done: first worker w's own, from the front, then others', from
// the back.
func (p *Pool) work(w int) {
	for {
		i, ok := takeFirst(&p.workers[w].span)
		if !ok {
			break
		}
		p.task.Do(w, i)
	}
	for other := 1; other < len(p.workers); other++ {
		victim := &p.workers[(w+other)%len(p.workers)]
		for {
			i, ok := takeLast(&victim.span)
			if !ok {
				break
			}
			p.task.Do(w, i)
		}
	}
}

func takeFirst(span *atomic.Uint64) (int, bool) {
	for {
		s := span.Load()
		if s>>32 >= s&0xffffffff {
			return 0, false
		}
		if span.CompareAndSwap(s, s+1<<32) {
			return int(s >> 32), true
		}
	}
}

func takeLast(span *atomic.Uint64) (int, bool) {
	for {
		s := span.Load()
		if s>>32 >= s&0xffffffff {
			return 0, false
		}
		if span.CompareAndSwap(s, s-1) {
			return int(s&0xffffffff) - 1, true
		}
	}
}
