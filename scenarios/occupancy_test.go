package scenarios

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// waits is an observer that notes when requests begin and end to wait.
type waits struct {
	sim.NopObserver
	at []change
}

type change struct {
	time sim.Time
	n    int64
}

func (w *waits) Finished(s *sim.Sequence) {
	w.at = append(w.at, change{s.Arrival, 1}, change{s.Scheduled, -1})
}

// A burst of half a second in two hours, which falls between samples, is in the figures of the
// queue: they are those of the requests' own times.
func TestShortBurstsAreCounted(t *testing.T) {
	file, err := Parse("burst.yaml", []byte(`
model: llama-3.1-8b
hardware: h100-sxm
workload:
  rate:
    pattern: phases
    phases: [{rate: 1/s, for: 1h}, {rate: 4000/s, for: 500ms}, {rate: 1/s, for: 1h}]
  duration: 2h
  requests: 20000
  prompt: 100
  output: 4
`))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	seen := &waits{}
	r, err := s.Run(context.Background(), seen)
	testkit.OK(t, err)
	slices.SortFunc(seen.at, func(a, b change) int { return int(a.time - b.time) })
	var integral, waiting, peak int64
	for i, c := range seen.at {
		waiting += c.n
		if i+1 < len(seen.at) && seen.at[i+1].time > c.time {
			integral += waiting * int64(seen.at[i+1].time-c.time)
			peak = max(peak, waiting)
		}
	}
	mean := sim.Time(integral).Seconds() / r.Duration
	if r.PeakWaiting != peak || peak < 1000 || math.Abs(r.MeanWaiting/mean-1) > 1e-9 {
		t.Errorf("%v wait, and %d at most; requests say %v and %d", r.MeanWaiting, r.PeakWaiting,
			mean, peak)
	}
}
