package fit

import (
	"context"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// Pair is a request, or the mean of the requests of an interval, as it was measured and as it is
// predicted. Times are in seconds; 0 is not known.
type Pair struct {
	// At is when it was sent, from the start of the run, and Weight the number of requests.
	At     float64    `json:"at"`
	Weight float64    `json:"weight"`
	Prompt float64    `json:"prompt"`
	Output float64    `json:"output"`
	TTFT   [2]float64 `json:"ttft"`
	TPOT   [2]float64 `json:"tpot"`
	E2E    [2]float64 `json:"e2e"`
}

// Compare runs the requests of a run through the twin, and returns each beside its prediction. Runs
// without requests are compared interval by interval; others have nothing to compare.
func (s *Server) Compare(ctx context.Context, f scenarios.Factors, r *observed.Run) ([]Pair,
	error) {
	if len(r.Requests) == 0 && len(r.Intervals) == 0 {
		return nil, nil
	}
	o, err := s.run(ctx, f, r)
	if err != nil {
		return nil, err
	}
	if len(r.Requests) == 0 {
		return intervalPairs(r, o), nil
	}
	var list []Pair
	n := 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Failed {
			continue
		}
		p := o.requests[n]
		n++
		if p.done && q.Output > 0 && (q.TTFT > 0 || q.E2E > 0) {
			list = append(list, Pair{q.Start(), 1, float64(q.Prompt), float64(q.Output),
				[2]float64{q.TTFT, p.ttft}, [2]float64{q.TPOT(), p.tpot},
				[2]float64{q.E2E, p.e2e}})
		}
	}
	return list, nil
}

func intervalPairs(r *observed.Run, o *requestRecorder) []Pair {
	var list []Pair
	for i := range r.Intervals {
		v := &r.Intervals[i]
		p := Pair{At: v.At, Weight: v.Requests}
		if v.Requests < 1 {
			continue
		}
		p.Prompt, p.Output = v.PromptTokens/v.Requests, v.OutputTokens/v.Requests
		for _, d := range sumData(0, []*observed.Interval{v}, false, true) {
			both := [2]float64{d.measured, d.predicted(o)}
			switch {
			case !observed.Finite(both[1]):
			case d.quantity == TTFT:
				p.TTFT = both
			case d.quantity == TPOT:
				p.TPOT = both
			case d.quantity == E2E:
				p.E2E = both
			}
		}
		list = append(list, p)
	}
	return list
}
