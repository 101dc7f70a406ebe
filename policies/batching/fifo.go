package batching

import "github.com/llmsim/llmsim/sim"

// fifo is the order of arrival. Sequences that gave way come first when they wait again. The
// sequence that started last gives way first.
type fifo struct{ queue sim.Queue }

func (f *fifo) add(s *sim.Sequence) {
	if s.Preemptions > 0 {
		f.queue.PushFront(s)
	} else {
		f.queue.Push(s)
	}
}

func (f *fifo) len() int               { return f.queue.Len() }
func (f *fifo) first() *sim.Sequence   { return f.queue.Front() }
func (f *fifo) remove(s *sim.Sequence) { f.queue.Remove(s) }

func (f *fifo) victim(b *sim.Batch) *sim.Sequence { return b.Victim() }

func (f *fifo) displaced(*sim.Batch) *sim.Sequence { return nil }

func (f *fifo) ignoresArrivals(full bool) bool { return full || f.queue.Len() > 0 }
