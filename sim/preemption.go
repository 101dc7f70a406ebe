package sim

// Victim returns the sequence that was admitted last over all batches of the replica, which is the
// usual one to preempt. It returns nil while another batch of the pipeline runs a step, since
// memory of that batch cannot be taken. The scheduler then leaves out the sequences that lack
// memory, and they are tried again when that step ends.
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
// victim. It yields no sequence while another batch runs a step.
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

// Preempt drops the KV cache of s, which will be computed again, and returns s. If s ran, it loses
// its place in the batch. The scheduler that calls Preempt must put s back among its waiting
// sequences; Enqueue is not called.
func (b *Batch) Preempt(s *Sequence) *Sequence {
	b.displace(s)
	b.r.memory.Release(s, false)
	s.Stored = 0
	return s
}

// Pause takes s out of its batch and returns it, to wait again as after Preempt. The KV cache of s
// stays, and Prefill continues with it. A sequence that has stored nothing yet is preempted
// instead.
func (b *Batch) Pause(s *Sequence) *Sequence {
	b.displace(s)
	if s.Stored == 0 {
		b.r.memory.Release(s, false)
		return s
	}
	b.r.paused.add(s)
	return s
}

// SwapOut moves the KV cache of s to host memory, and Prefill brings it back. If s ran, it loses
// its place, and waits again as after Preempt. SwapOut returns false, and does nothing, if s has no
// KV cache or host memory has no room for it.
//
// The step under construction begins when its transfers are done, as in vLLM V0, whose copies are
// in the stream of the forward pass.
func (b *Batch) SwapOut(s *Sequence) bool {
	r, n := b.r, s.Context()
	if n == 0 || int64(n) > r.host.room {
		return false
	}
	b.displace(s)
	r.memory.Release(s, false)
	s.Swapped, s.Stored = n, 0
	r.host.room -= int64(n)
	r.result.SwappedTokens += int64(n)
	b.transfers.add(r.host.time.Of(n), &r.host, r.now)
	return true
}

// swapIn brings the KV cache of s, for which memory is taken, back from host memory, or from
// another replica.
func (r *replica) swapIn(s *Sequence, t *transfers) {
	if s.imported {
		s.imported = false
		r.effects.add(admitted, s)
	} else {
		r.host.room += int64(s.Swapped)
		r.result.SwappedTokens += int64(s.Swapped)
		t.add(r.host.time.Of(s.Swapped), &r.host, r.now)
	}
	s.Stored, s.Swapped = s.Swapped, 0
}

// fetch puts on the link what the memory brings from slower memory for a newcomer.
func (r *replica) fetch(t *transfers) {
	if r.tiered == nil {
		return
	}
	if tokens, busy := r.tiered.Fetched(); tokens > 0 || busy > 0 {
		r.result.FetchedTokens += tokens
		if tokens > 0 {
			r.result.Fetching += busy
		}
		t.add(busy, &r.host, r.now)
	}
}

// displace takes s out of its batch and out of the step under construction. If s is paused,
// displace takes it out of the paused sequences.
func (b *Batch) displace(s *Sequence) {
	home := b.r.batchOf(s)
	if home == nil {
		b.r.paused.take(s)
		return
	}
	for i := range b.step.Prefill {
		if b.step.Prefill[i].Sequence == s {
			b.step.Prefill = append(b.step.Prefill[:i], b.step.Prefill[i+1:]...)
			break
		}
	}
	home.leave(s, false)
	b.r.effects.add(displaced, s)
	if home.held == home.running {
		home.deliver(b.r.now)
	}
	s.Preemptions++
	b.r.result.Preemptions++
}
