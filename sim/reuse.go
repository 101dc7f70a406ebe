package sim

// expire marks s, which has ended, so that every remaining note of it is stale. Its fields keep
// their values until s is reused, since the last step of s may still be reported to observers.
func (s *Sequence) expire() {
	s.epoch++
	s.life++
}

// reset prepares s for another request. It keeps the space of the content.
func (s *Sequence) reset() {
	*s = Sequence{Request: Request{Content: s.Content[:0]}, epoch: s.epoch,
		journey: journey{life: s.life}}
}

// again prepares s, whose replica failed, to begin anew.
func (s *Sequence) again() {
	*s = Sequence{Request: s.Request, Retries: s.Retries + 1, epoch: s.epoch + 1,
		journey: journey{life: s.life, place: comingBack}}
}
