package sim

// decoders are the sequences of a batch that decode. All advance together: by one token in each
// step, or by what a forecast says. Only sequences that a visit must find are listed. Between the
// calls of a replica,
//
//	decodes is the number of members of the batch with Sequence.decoding
//	drafted is the sum of their Sequence.drafted, context the sum of their Sequence.Context
//
// join, drop, advance, draft, verifyEach, countLost and the methods of forecast change them.
type decoders struct {
	progress
	decodes int
	drafted int   // tokens drafted in the step that is formed or runs
	context int64 // tokens
	// finish has the sequences whose last step is known: all of them without drafts, with drafts
	// the foreseen ones that are complete within the block of draws.
	finish finishHeap
	// Each sequence had its last token at lastToken, except for the newcomers, in order: they began
	// to decode since then, or their users are still to get the first token.
	lastToken Time
	newcomers []*Sequence
	done      []*Sequence // complete with the step with drafts that ends now
}

// join adds s, whose prompt is complete.
func (d *decoders) join(s *Sequence) {
	s.joined = d.steps
	s.decoding, s.room = true, 0
	d.decodes++
	d.drafted += s.drafted
	d.context += int64(s.Stored)
}

// drop takes s out. Generated, Stored and LastToken of s hold from then on.
func (d *decoders) drop(s *Sequence) {
	fresh := s.advance() == 0
	if !fresh {
		s.LastToken = max(s.LastToken, d.lastToken)
	}
	if fresh || s.FirstToken > s.LastToken {
		d.newcomers = without(d.newcomers, s)
	}
	s.Generated, s.Stored = s.Progress(), s.Context()
	d.context -= int64(s.Stored)
	d.decodes--
	d.drafted -= s.drafted
	s.decoding = false
	s.epoch++
	if s.finishing {
		d.finish.markStale(s)
	}
}

// advance gives each sequence a token in each of some steps. The last one ends at the time end.
func (d *decoders) advance(steps int64, end Time) {
	d.steps += steps
	d.context += int64(d.decodes) * steps
	d.lastToken = end
}

// awaitFirstToken reports whether the user of a newcomer is still to get its first token.
func (d *decoders) awaitFirstToken(now Time) bool {
	for _, s := range d.newcomers {
		if s.FirstToken > now {
			return true
		}
	}
	return false
}

// recordGaps adds to the report the times between tokens that end with the first step of a leap, at
// the given time.
func (d *decoders) recordGaps(first Time, together bool, report *Leap) {
	if old := d.decodes - len(d.newcomers); old > 0 && !together {
		report.Gaps = append(report.Gaps, Gap{Span: first - d.lastToken, Count: int64(old)})
	}
	withheld := d.newcomers[:0]
	for _, s := range d.newcomers {
		if !together {
			report.addGap(s, first)
		}
		if s.FirstToken > first {
			withheld = append(withheld, s)
		}
	}
	d.newcomers = withheld
}

// addGap adds the time between the token of s that comes out now and the one before it. Tokens that
// reach the user together come as one, and have no gap between them: several tokens of a step, the
// tokens that come out while the first one is held back, and whole answers of static batches.
func (l *Leap) addGap(s *Sequence, now Time) {
	span := now - max(s.LastToken, s.FirstToken)
	if span <= 0 {
		return
	}
	if k := len(l.Gaps); k > 0 && l.Gaps[k-1].Span == span {
		l.Gaps[k-1].Count++
		return
	}
	l.Gaps = append(l.Gaps, Gap{Span: span, Count: 1})
}

func without(list []*Sequence, s *Sequence) []*Sequence {
	for i, other := range list {
		if other == s {
			if i < len(list)-1 { // often it is the last
				copy(list[i:], list[i+1:])
			}
			return list[:len(list)-1]
		}
	}
	return list
}
