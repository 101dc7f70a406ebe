package sim

// Victim returns the sequence that was admitted last over all batches of the replica, the usual one
// to preempt. It is nil while another batch of the pipeline is under way, whose memory cannot be
// taken: leave those out that lack memory, and they are tried again when it ends.
func (b *Batch) Victim() *Sequence {
	var last *Sequence
	for i := range b.r.batches {
		other := &b.r.batches[i]
		if other.flight.active {
			return nil
		}
		s := other.members.last
		for s != nil && s.held {
			s = s.links[batched].before
		}
		if s != nil && (last == nil || s.admitted > last.admitted) {
			last = s
		}
	}
	return last
}

// Preemptible yields the sequences in all batches of the replica, for policies that choose another
// victim; none while another batch is under way.
func (b *Batch) Preemptible(yield func(*Sequence) bool) {
	if b.Victim() == nil {
		return
	}
	for i := range b.r.batches {
		for s := b.r.batches[i].members.first; s != nil; s = s.newer() {
			if !s.held && !yield(s) {
				return
			}
		}
	}
}

// Preempt drops the KV cache of s, which is computed again later, and returns s. If s ran, it loses
// its place, and the scheduler that calls Preempt lets it wait again; it is not enqueued.
func (b *Batch) Preempt(s *Sequence) *Sequence {
	b.displace(s)
	b.r.memory.Release(s, false)
	s.Stored = 0
	return s
}

// Pause takes s out of its batch and returns it, to wait again as after Preempt. Its KV cache
// stays, and it goes on with Prefill. One that has stored nothing yet is preempted.
func (b *Batch) Pause(s *Sequence) *Sequence {
	b.displace(s)
	if s.Stored == 0 {
		b.r.memory.Release(s, false)
		return s
	}
	b.r.paused.insert(s, nil)
	return s
}

// SwapOut moves the KV cache of s to host memory; Prefill brings it back. If s ran, it loses its
// place, to wait again as after Preempt. SwapOut returns false, and does nothing, where s has no KV
// or host memory no room for it.
//
// The step under construction begins when its transfers are done, as in vLLM V0, whose copies are
// in the stream of the forward pass.
func (b *Batch) SwapOut(s *Sequence) bool {
	r, n := b.r, s.Context()
	if n == 0 || int64(n) > r.hostFree {
		return false
	}
	b.displace(s)
	r.memory.Release(s, false)
	s.Swapped, s.Stored = n, 0
	r.hostFree -= int64(n)
	b.transfer(n)
	return true
}

// swapIn brings the KV cache of s, for which memory is taken, back from host memory, or from
// another replica.
func (b *Batch) swapIn(s *Sequence) {
	if s.imported {
		s.imported = false
		b.effect(admitted, s)
	} else {
		b.r.hostFree += int64(s.Swapped)
		b.transfer(s.Swapped)
	}
	s.Stored, s.Swapped = s.Swapped, 0
}

// transfer puts the KV of n tokens on the link to host memory. The step under construction waits
// for it.
func (b *Batch) transfer(n int) {
	b.r.result.SwappedTokens += int64(n)
	b.occupyLink(b.r.host.Time.Of(n))
}

// fetch waits for what Memory brings from slower places for a newcomer.
func (b *Batch) fetch() {
	if b.r.tiered == nil {
		return
	}
	if tokens, busy := b.r.tiered.Fetched(); tokens > 0 {
		b.r.result.FetchedTokens += tokens
		b.occupyLink(busy)
	}
}

// occupyLink keeps the link to host memory busy for a time, once it is free. The step under
// construction waits for it.
func (b *Batch) occupyLink(busy Time) {
	b.r.linkFree = max(b.r.linkFree, b.r.now) + busy
	b.ready = b.r.linkFree
}

// displace takes s out of its batch and of the step under construction, or, where it is paused,
// out of the sequences that are.
func (b *Batch) displace(s *Sequence) {
	home := s.batch
	if home == nil {
		b.r.paused.remove(s)
		return
	}
	for i := range b.step.Prefill {
		if b.step.Prefill[i].Sequence == s {
			b.step.Prefill = append(b.step.Prefill[:i], b.step.Prefill[i+1:]...)
			break
		}
	}
	home.leave(s, false)
	if home.held == home.running {
		home.deliver(b.r.now)
	}
	s.Preemptions++
	b.r.result.Preemptions++
}
