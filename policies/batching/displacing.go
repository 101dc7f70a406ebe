package batching

import "github.com/llmsim/llmsim/sim"

// Displacing is a Continuous in which a waiting sequence takes the place of a running sequence that
// comes after it in order.
type Displacing struct {
	Continuous
	order displacing
}

// newRanked returns the scheduler of vLLM V1 with an order by rank. If displace is true, a waiting
// sequence may take the place of a running one. If swap is true, sequences that give way move to
// host memory; otherwise they are computed again.
func newRanked(limits Limits, order ranked, displace, swap bool) (sim.Scheduler, error) {
	d := &Displacing{order: displacing{ranked: order}}
	c, err := newContinuous(limits, &d.order.ranked)
	if err != nil {
		return nil, err
	}
	c.swap = swap
	if !displace {
		return c, nil
	}
	d.Continuous = *c
	d.waiting = &d.order
	return d, nil
}

// Entered implements sim.Listener.
func (d *Displacing) Entered(*sim.Batch, *sim.Sequence) {}

// Joined implements sim.Listener.
func (d *Displacing) Joined(b *sim.Batch, s *sim.Sequence) {
	if s.Decoding() {
		d.order.lane(b).push(d.order.fromBehind(b, s))
	}
}

// Left implements sim.Listener.
func (d *Displacing) Left(b *sim.Batch, s *sim.Sequence, _ bool) {
	if s.Decoding() {
		d.order.lane(b).remove(s)
	}
}

// displacing is an order by rank in which the first waiting sequence may take the place of the last
// running one.
type displacing struct {
	ranked
	// decoding holds the decoding sequences of each lane, the last in order on top. The ranks of
	// all of them change by one token a step, so that their order stays. With drafts a sequence may
	// be faster; it moves down when it comes to the top.
	decoding []heap
}

// lane returns the decoding sequences in b.
func (d *displacing) lane(b *sim.Batch) *heap {
	for len(d.decoding) <= b.Lane() {
		d.decoding = append(d.decoding, heap{})
	}
	return &d.decoding[b.Lane()]
}

// fromBehind returns the place of s, which runs in b, in the reversed order, as it was before the
// first step of b.
func (d *displacing) fromBehind(b *sim.Batch, s *sim.Sequence) entry {
	rank := *d.ranks.Of(s)
	if d.consumed {
		rank -= float64(int64(s.Progress()) - b.Steps())
	}
	return entry{-rank, -s.ID, s}
}

func (d *displacing) displaced(b *sim.Batch) *sim.Sequence {
	var last entry
	for q := d.lane(b); q.len() > 0; {
		last = d.fromBehind(b, q.entries[0].s)
		if last.rank == q.entries[0].rank {
			break
		}
		q.replace(0, last)
	}
	for _, s := range b.Prefilling() {
		if e := d.fromBehind(b, s); last.s == nil || e.before(&last) {
			last = e
		}
	}
	if last.s == nil {
		return nil
	}
	if e := d.place(last.s); e.before(&d.waiting.entries[0]) {
		return nil
	}
	return last.s
}

func (d *displacing) ignoresArrivals(bool) bool { return false }
