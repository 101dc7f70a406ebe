package simtest

import "github.com/llmsim/llmsim/sim"

// scheduler is a sim.Scheduler under watch. It is a Listener as well, and passes on what it hears.
type scheduler struct {
	sim.Scheduler
	listener sim.Listener
	record   *record
	replica  int
	// Sequences that got a place in the step under construction, and that lost theirs.
	entered, displaced int
}

// withdrawing is one that is a Withdrawer too.
type withdrawing struct {
	scheduler
	withdrawer sim.Withdrawer
}

func (w *withdrawing) Withdraw(s *sim.Sequence) {
	before := w.Waiting()
	w.withdrawer.Withdraw(s)
	w.counted("Withdraw", s, before, before-1)
}

func watchScheduler(s sim.Scheduler, r *record, replica int) sim.Scheduler {
	w := scheduler{Scheduler: s, record: r, replica: replica}
	w.listener, _ = s.(sim.Listener)
	if withdrawer, ok := s.(sim.Withdrawer); ok {
		return &withdrawing{w, withdrawer}
	}
	return &w
}

func (w *scheduler) Enqueue(s *sim.Sequence) {
	before := w.Waiting()
	w.Scheduler.Enqueue(s)
	w.counted("Enqueue", s, before, before+1)
}

// counted reports where the number of sequences that wait is not the one that a call leaves.
func (w *scheduler) counted(call string, s *sim.Sequence, before, want int) {
	if n := w.Waiting(); n != want {
		w.record.problem("%s of request %d: the scheduler of replica %d says that %d sequences "+
			"wait, and %d before", call, s.ID, w.replica, n, before)
	}
}

func (w *scheduler) Schedule(b *sim.Batch) sim.Decision {
	waiting := w.Waiting()
	w.entered, w.displaced = 0, 0
	d := w.Scheduler.Schedule(b)
	if want := waiting - w.entered + w.displaced; w.Waiting() != want {
		w.record.problem("at %v the scheduler of replica %d says that %d sequences wait; of %d, "+
			"%d got a place and %d lost theirs",
			b.Now(), w.replica, w.Waiting(), waiting, w.entered, w.displaced)
	}
	if d.Steps < 1 && b.Running() > 0 {
		w.record.problem("at %v the scheduler of replica %d returns a decision for %d steps, "+
			"want 1 or more", b.Now(), w.replica, d.Steps)
	}
	return d
}

func (w *scheduler) Entered(b *sim.Batch, s *sim.Sequence) {
	w.entered++
	if w.listener != nil {
		w.listener.Entered(b, s)
	}
}

func (w *scheduler) Joined(b *sim.Batch, s *sim.Sequence) {
	if w.listener != nil {
		w.listener.Joined(b, s)
	}
}

func (w *scheduler) Left(b *sim.Batch, s *sim.Sequence, gone bool) {
	if !gone {
		w.displaced++
	}
	if w.listener != nil {
		w.listener.Left(b, s, gone)
	}
}

// memory is a sim.Memory under watch.
type memory struct {
	sim.Memory
	record  *record
	replica int
}

// tiered is one that is a TieredMemory too.
type tiered struct {
	*memory
	of sim.TieredMemory
}

func (m tiered) Fetched() (tokens int64, busy sim.Time) { return m.of.Fetched() }

func (w *memory) Clock(now func() sim.Time) {
	if of, ok := w.Memory.(sim.ClockedMemory); ok {
		of.Clock(now)
	}
}

func watchMemory(m sim.Memory, r *record, replica int) sim.Memory {
	w := &memory{m, r, replica}
	if of, ok := m.(sim.TieredMemory); ok {
		return tiered{w, of}
	}
	return w
}

func (w *memory) problem(format string, args ...any) {
	w.record.problem("the memory of replica %d: "+format, append([]any{w.replica}, args...)...)
}

// used returns the units in use, and checks that they are possible.
func (w *memory) used() int64 {
	n := w.Used()
	if n < 0 || n > w.Capacity() {
		w.problem("%d of %d units are in use", n, w.Capacity())
	}
	return n
}

func (w *memory) Match(s *sim.Sequence) int {
	n := w.Memory.Match(s)
	if n < 0 || n >= s.Remaining() {
		w.problem("Match finds %d tokens of request %d, of which %d are to be computed", n, s.ID,
			s.Remaining())
	}
	return n
}

func (w *memory) Extend(s *sim.Sequence, n int, reserve int64) bool {
	before := w.used()
	ok := w.Memory.Extend(s, n, reserve)
	after := w.used()
	if !ok && after != before {
		w.problem("Extend refuses %d tokens of request %d, and changes the units in use from "+
			"%d to %d", n, s.ID, before, after)
	}
	if ok && w.Capacity()-after < reserve {
		w.problem("Extend leaves %d units, want the reserve of %d", w.Capacity()-after, reserve)
	}
	return ok
}

func (w *memory) Release(s *sim.Sequence, done bool) {
	before := w.used()
	w.Memory.Release(s, done)
	if after := w.used(); after > before {
		w.problem("Release of request %d takes units: %d were in use, then %d", s.ID, before, after)
	}
}

func (w *memory) Headroom(lane int, limit int64) int64 {
	n := w.Memory.Headroom(lane, limit)
	switch {
	case n < 0 || n > limit:
		w.problem("Headroom is %d steps, of %d at most", n, limit)
	case n > 0 && w.Memory.Growth(lane, n) > w.Capacity()-w.used():
		w.problem("Headroom is %d steps, which take %d units, of which %d are left", n,
			w.Memory.Growth(lane, n), w.Capacity()-w.used())
	}
	return n
}

func (w *memory) Advance(lane int, steps int64) {
	before, growth := w.used(), int64(0)
	if steps > 0 {
		growth = w.Memory.Growth(lane, steps)
	}
	w.Memory.Advance(lane, steps)
	if after := w.used(); after != before+growth {
		w.problem("Advance by %d steps takes %d units, where Growth said %d", steps, after-before,
			growth)
	}
}

// Forget passes on that the replica failed or was switched off.
func (w *memory) Forget() {
	if f, ok := w.Memory.(sim.Forgetter); ok {
		f.Forget()
	}
}
