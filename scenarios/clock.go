package scenarios

import "github.com/llmsim/llmsim/models/steptime"

// clocked is a server with the clock that predicts its steps.
type clocked struct {
	*poolServer
	clock *steptime.Clock
}

// startClock makes the clock of a server.
func startClock(s *poolServer) *clocked {
	_, ownModel := modelFile(s.file.files(), s.locate("model", s.s.Model))
	clock, err := s.file.Clocks.clock(&s.s, ownModel, s.config.NewClock)
	if err != nil {
		s.problem("parallelism", "%v", err)
		return nil
	}
	s.addWarnings(clock.Warnings())
	return &clocked{s, clock}
}
