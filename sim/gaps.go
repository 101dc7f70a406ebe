package sim

// recordGaps notes the times between tokens that end with the first step of the leap.
func (b *Batch) recordGaps() {
	first := b.flight.end
	if b.flight.leaping {
		first = b.flight.start + b.flight.run.step(0)
	}
	if old := b.decodes - len(b.newcomers); old > 0 && !b.together {
		b.report.Gaps = append(b.report.Gaps, Gap{Span: first - b.lastToken, Count: int64(old)})
	}
	withheld := b.newcomers[:0]
	for _, s := range b.newcomers {
		b.gap(s, first)
		if s.FirstToken > first {
			withheld = append(withheld, s)
		}
	}
	b.newcomers = withheld
}

// gap notes the time between the token of s that comes out now and the one before it. Tokens that
// reach the user together come as one, and have no gap between them: several tokens of a step, the
// tokens that come out while the first one is held back, and whole answers of static batches.
func (b *Batch) gap(s *Sequence, now Time) {
	span := now - max(s.LastToken, s.FirstToken)
	if span <= 0 || b.together {
		return
	}
	if k := len(b.report.Gaps); k > 0 && b.report.Gaps[k-1].Span == span {
		b.report.Gaps[k-1].Count++
		return
	}
	b.report.Gaps = append(b.report.Gaps, Gap{Span: span, Count: 1})
}
