package sim

// markEnded marks s, which has ended, so that every remaining note of it is stale. Its fields keep
// their values until s is reused, since the last step of s may still be reported to observers.
func (s *Sequence) markEnded() {
	s.epoch++
	s.life++
}

// reset prepares s for another request. It keeps the space of the content.
func (s *Sequence) reset() {
	content, epoch, life := s.Content[:0], s.epoch, s.life
	*s = Sequence{} // in place, and then these, which is quicker than a copy of a whole value
	s.Content, s.epoch, s.life = content, epoch, life
}

// beginAnew prepares s, whose replica failed, to begin anew.
func (s *Sequence) beginAnew() {
	*s = Sequence{Request: s.Request, Retries: s.Retries + 1, epoch: s.epoch + 1,
		Cached: s.Cached, matched: s.matched,
		journey: journey{life: s.life, place: awaitingRetry, stage: s.stage}}
}

// spares are sequences for reuse, linked with each other.
type spares struct{ latest *Sequence }

func (p *spares) take() *Sequence {
	s := p.latest
	if s == nil {
		return new(Sequence)
	}
	p.latest = s.links[resident].behind
	s.reset()
	return s
}

func (p *spares) put(s *Sequence) {
	s.markEnded()
	s.links[resident].behind, p.latest = p.latest, s
}

// allowBacklog lets requests wait in a backlog if the scheduler knows their order. It must not be
// called where something else refers to the sequences of waiting requests.
func (r *member) allowBacklog(from *spares) {
	scheduler, ok := r.scheduler.(InOrder)
	if _, adapters := r.memory.(AdapterMemory); !ok || !scheduler.InOrder() || adapters {
		return
	}
	r.backlog.put = from.put
	r.backlog.take = func() *Sequence {
		s := from.take()
		s.place, s.assigned, s.stage, s.at = atReplica, true, waits, r.load
		return s
	}
}
