package sim

// foresee turns the step with drafts that b has begun into a leap, where more steps are known. They
// are known until a sequence completes, if memory has room for all tokens that may be accepted.
func (b *Batch) foresee(d Decision, verify, stage Time) {
	r, f := b.r, &b.flight
	if r.foreseeing == nil || len(b.step.Prefill) > 0 || b.decodes == 0 || b.held > 0 ||
		d.Together || b.retryPrefill || b.ready > r.now || f.end-f.start != stage {
		return
	}
	limit := min(max(d.Steps, 1), r.maxLeap)
	if s := r.incoming.Front(); s != nil {
		limit = min(limit, max(s.visible-r.planned, 1))
	}
	if limit = b.known(limit); limit < 2 {
		return
	}
	k := &b.foresight
	k.ends, k.contexts, k.drafting = append(k.ends[:0], stage), append(k.contexts[:0],
		b.step.Context), append(k.drafting[:0], stage-verify)
	first := b.step.Context
	for i := int64(1); i < limit; i++ {
		b.step.Context += int64(b.decodes) + r.foreseeing.Sum(i-1)
		verify = max(r.clock.Duration(&b.step), 1)
		stage = max(r.foreseeing.Next(i, &b.step, verify), verify)
		if stage >= Never-1-f.start-k.ends[i-1] {
			break
		}
		k.ends = append(k.ends, k.ends[i-1]+stage)
		k.contexts = append(k.contexts, b.step.Context)
		k.drafting = append(k.drafting, stage-verify)
	}
	b.step.Context = first
	f.run.known, f.leaping, f.stored = k, true, 1
	f.ignoreArrivals = d.IgnoreArrivals
	steps := int64(len(k.ends))
	if span := max(d.Wake-r.now, 1); d.Wake > 0 && f.run.duration(steps) > span {
		steps = f.run.ending(span)
	}
	r.setSteps(b, steps)
}

// known returns for how many steps, at most limit, all sequences of b draft as in the step that has
// begun, and none completes before the last of them.
func (b *Batch) known(limit int64) int64 {
	r := b.r
	drafted := b.drafted / b.decodes
	limit = r.foreseeing.Foresee(drafted, limit)
	for limit > 1 && !r.roomy.Ample(b.decodes, int(limit)*(1+drafted)) {
		limit /= 2
	}
	if limit < 2 {
		return 1
	}
	for s := b.members.first; s != nil; s = s.newer() {
		if s.drafted != drafted || !s.decoding || s.Preemptions > 0 || s.FirstToken > r.now {
			return 1
		}
		left := int64(s.Output - s.Generated)
		if limit+r.foreseeing.Look(s, limit) < left {
			continue
		}
		for limit > 1 && limit-1+r.foreseeing.Known(s, limit-1) >= left {
			limit--
		}
	}
	return limit
}
