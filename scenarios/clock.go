package scenarios

// startClock makes the clock that predicts the steps of a server.
func (s *server) startClock() {
	_, ownModel := modelFile(s.file.files(), s.locate("model", s.s.Model))
	clock, err := s.file.Clocks.clock(&s.s, ownModel, s.NewClock)
	if err != nil {
		s.problem("parallelism", "%v", err)
		return
	}
	s.addWarnings(clock.Warnings())
	s.Clock = clock
}
