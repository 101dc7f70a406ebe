package page

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
)

// Sample is a sim.Observer that keeps an even sample of the finished requests, of bounded size
// (Vitter, "Random sampling with a reservoir", 1985, algorithm R). The same run gives the same
// sample.
type Sample struct {
	sim.NopObserver
	limit    int
	seen     int64
	rng      *rand.Rand
	requests []Request
}

// Request is what the page shows of a request. Times are in seconds.
type Request struct {
	ID      int64   `json:"id"`
	Arrival float64 `json:"at"`
	Prompt  int     `json:"prompt"`
	Output  int     `json:"output"`
	TTFT    float64 `json:"ttft"`
	TPOT    float64 `json:"tpot"`
	E2E     float64 `json:"e2e"`
}

// NewSample returns a sample of at most limit requests.
func NewSample(limit int) *Sample {
	return &Sample{limit: limit, rng: rand.New(rand.NewPCG(0, 0))}
}

// Finished implements sim.Observer.
func (s *Sample) Finished(q *sim.Sequence) {
	s.seen++
	at := len(s.requests)
	if at == s.limit {
		if at = int(s.rng.Int64N(s.seen)); at >= s.limit {
			return
		}
	} else {
		s.requests = append(s.requests, Request{})
	}
	s.requests[at] = Request{
		ID: q.ID, Arrival: short(q.Arrival), Prompt: q.Prompt, Output: q.Output,
		TTFT: short(q.TTFT()), TPOT: short(q.TPOT()), E2E: short(q.E2E()),
	}
}

// short is a time in seconds, to the microsecond: more digits would only make the page larger.
func short(t sim.Time) float64 { return float64(t/sim.Microsecond) / 1e6 }

// Requests returns the sample.
func (s *Sample) Requests() []Request { return s.requests }
