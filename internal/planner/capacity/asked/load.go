package asked

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// Probes is the number of requests of a workload for which latencies are bounded without a
// simulation.
const Probes = 400

// MostRead bounds the requests that are read of a recorded workload for the bounds, and ManyDrawn
// is how many are drawn of one that goes on: enough to know their mean work to a few per cent, also
// where a few of them are very long.
const (
	MostRead  = 200_000
	ManyDrawn = 20_000
)

// DrawnOf is how many requests of a workload are drawn for the bounds, if it does not end before.
func DrawnOf(p *Plan) int64 {
	if p.Steady() {
		return ManyDrawn
	}
	return Probes
}

// Work is the work of requests for a server, summed over them.
type Work struct {
	Requests float64
	// Prompt and output are numbers of tokens; fresh is the number of prompt tokens that no cache
	// can supply.
	Prompt, Fresh, Output float64
	// Stored is KV memory, in tokens times the steps for which a sequence that decodes alone keeps
	// them. own is the same without tokens that may be shared.
	Stored, Own float64
}

// Load is a workload as far as the bounds need it.
type Load struct {
	Work
	// Low is a bound from below of the work of an equal number of requests in the long run.
	Low Work
	// Kept is a bound from below of the work of the requests that keep the SLO, and tpot the
	// longest limit of any on the time per token; 0 where some request has no limit.
	Kept Work
	TPOT sim.Time
	// Lasts is the time from the first request to the last of a load that ends, in seconds.
	Lasts float64
	// Flow is the number of output tokens a second that the load asks for; 0 if that depends on the
	// fleet.
	Flow float64
	// Probes are requests, and promises their SLOs.
	Probes   []sim.Request
	Promises []metrics.SLO
	Target   float64
	// Stretches are parts of a workload that arrives at times that do not depend on answers, and
	// does not go on for ever.
	Stretches []stretch
	Words     string
}

// stretch is work that must be done within a time, whatever else happens.
type stretch struct {
	Work
	Seconds float64
}

// NewLoad reads the requests of a workload.
func (f *File) NewLoad(s *scenarios.Simulation) (*Load, error) {
	requests := Draw(s.Source, MostRead, int(DrawnOf(&f.Plan)))
	if err := s.Source.Err(); err != nil {
		return nil, scenarios.BadInput(err)
	}
	l := &Load{Words: strings.TrimSuffix(s.Source.Summary().Text,
		fmt.Sprintf("; %d requests", DrawnOf(&f.Plan)))}
	for i := range requests {
		l.Add(&requests[i])
	}
	l.Flow = flow(s.Source.Summary(), f.Plan.Peak(), &l.Work)
	if n := len(requests); f.Plan.Replayed() && n > 1 {
		last, err := f.rest(s.Source, l, &requests[n-1])
		if err != nil {
			return nil, err
		}
		l.Lasts = (last - requests[0].Arrival).Seconds()
		l.Flow = l.Output / max(1e-9, (last-requests[0].Arrival).Seconds())
		l.Stretches = stretches(requests, s)
	}
	figures, missed := figuresOf(requests), allowance(requests, s)
	if f.Plan.Replayed() {
		l.Low, l.Kept = l.Work, boundWithout(figures, missed)
	} else {
		l.Low, l.Kept = inTheLongRun(figures, missed)
	}
	l.TPOT = longestPace(requests, s)
	for i := range min(Probes, len(requests)) {
		r := &requests[i*len(requests)/min(Probes, len(requests))]
		l.Probes, l.Promises = append(l.Probes, *r), append(l.Promises, s.SLO(r.Class))
		l.Target = max(l.Target, least(s.SLO(r.Class)))
	}
	return l, nil
}

// rest reads the remaining requests of a load that is judged as a whole, and returns when the last
// request arrives.
func (f *File) rest(source sim.Source, l *Load, last *sim.Request) (sim.Time, error) {
	if !f.Plan.Scaled() {
		return last.Arrival, nil
	}
	most := max(WholeLoad, float64(f.Plan.Effort.MostRequests))
	for l.Requests <= most {
		more := Draw(source, 1, 1)
		if len(more) == 0 {
			return last.Arrival, source.Err()
		}
		last = &more[0]
		l.Add(last)
	}
	return 0, f.Refuse("workload", "found more than %.0f requests, and fleets of menu.scaling are "+
		"judged by all of them: give a shorter duration or period, plan a part of the rate, or "+
		"allow more with effort.most-requests", most)
}

// flow returns the output tokens that a workload asks for a second. The mean of a trace at a rate,
// which is not known beforehand, is taken from the requests that were drawn.
func flow(w workload.Summary, rate float64, drawn *Work) float64 {
	if w.Output == 0 {
		return rate * drawn.Output / max(1, drawn.Requests)
	}
	return w.Rate * w.Output
}

// Draw takes requests from a source, up to most of them; likely is how many there probably are.
func Draw(source sim.Source, most, likely int) []sim.Request {
	list := make([]sim.Request, 0, likely)
	for at := source.NextArrival(); at != sim.Never && len(list) < most; at = source.NextArrival() {
		var r sim.Request
		source.Next(&r)
		source.Done(&r, at)
		list = append(list, r)
	}
	return list
}

// Add counts a request.
func (w *Work) Add(r *sim.Request) {
	p, out := float64(r.Prompt), float64(r.Output)
	w.Requests++
	w.Prompt += p
	w.Output += out
	w.Stored += float64(out * (p + out/2))
	if len(r.Content) == 0 {
		w.Fresh += p
		w.Own += float64(out * (p + out/2))
	} else {
		w.Own += float64(out * out / 2)
	}
}

// pieces is into how many stretches a recorded workload is divided at most.
const pieces = 32

// stretches divides requests into the whole, halves, quarters and so on. The requests of a stretch
// have come when it ends, and requests that keep the SLO are answered a longest answer later.
func stretches(requests []sim.Request, s *scenarios.Simulation) []stretch {
	missed := allowance(requests, s)
	var list []stretch
	for n := 1; n <= pieces && n <= len(requests); n *= 2 {
		for i := range n {
			part := requests[i*len(requests)/n : (i+1)*len(requests)/n]
			longest := longestAnswer(part, s)
			if longest < 0 {
				return nil // no limit on answers
			}
			lasts := part[len(part)-1].Arrival - part[0].Arrival + longest
			if w := boundWithout(figuresOf(part), missed); w.Requests > 0 {
				list = append(list, stretch{w, lasts.Seconds()})
			}
		}
	}
	return list
}

// allowance returns the number of requests that need not keep the SLO.
func allowance(requests []sim.Request, s *scenarios.Simulation) int {
	missed := 0.0
	for i := range requests {
		missed += 1 - least(s.SLO(requests[i].Class))
	}
	return int(math.Ceil(missed))
}

// longestPace returns the longest limit on the time per token; 0 if some requests have no limit.
func longestPace(requests []sim.Request, s *scenarios.Simulation) sim.Time {
	longest := sim.Time(0)
	for i := range requests {
		limit := s.SLO(requests[i].Class).TPOT
		if limit == 0 {
			return 0
		}
		longest = max(longest, limit)
	}
	return longest
}

// longestAnswer returns the longest time that one of the requests may take under its SLO; negative
// if there is no limit.
func longestAnswer(requests []sim.Request, s *scenarios.Simulation) sim.Time {
	longest := sim.Time(0)
	for i := range requests {
		r, slo := &requests[i], s.SLO(requests[i].Class)
		limit := slo.TTFT + slo.TPOT*sim.Time(r.Output-1)
		if slo.TTFT == 0 || slo.TPOT == 0 {
			limit = sim.Never
		}
		if slo.E2E > 0 {
			limit = min(limit, slo.E2E)
		}
		if limit == sim.Never {
			return -1
		}
		longest = max(longest, limit)
	}
	return longest
}

// boundWithout returns a lower bound of the work of all requests except any missed of them, from
// their figures, which it sorts. It leaves out the largest values of each figure.
func boundWithout(figures [][]float64, missed int) Work {
	sums := make([]float64, len(figures))
	for k, list := range figures {
		slices.Sort(list)
		for _, v := range list[:max(0, len(list)-missed)] {
			sums[k] += v
		}
	}
	return workOf(sums)
}

// figuresOf lists the work of each request, by figure.
func figuresOf(requests []sim.Request) [][]float64 {
	figures := make([][]float64, 6)
	for k := range figures {
		figures[k] = make([]float64, len(requests))
	}
	for i := range requests {
		var w Work
		w.Add(&requests[i])
		for k, v := range w.figures() {
			figures[k][i] = v
		}
	}
	return figures
}

func (w *Work) figures() [6]float64 {
	return [6]float64{w.Requests, w.Prompt, w.Fresh, w.Output, w.Stored, w.Own}
}

func workOf(figures []float64) Work {
	return Work{figures[0], figures[1], figures[2], figures[3], figures[4], figures[5]}
}

// workConfidence is the confidence of the intervals of the work of drawn requests.
const workConfidence = 0.999

// inTheLongRun bounds from below the work of the number of requests that were drawn, as it is in
// the long run, and with it the work of all except any missed of them: by the lower ends of the
// intervals of the means. It sorts the figures of the requests.
func inTheLongRun(figures [][]float64, missed int) (all, kept Work) {
	low, shares := make([]float64, len(figures)), make([]float64, len(figures))
	for k, list := range figures {
		if len(list) < 2*BatchCount {
			return Work{}, Work{}
		}
		mean := stats.BatchMean(list, BatchCount, workConfidence)
		low[k], shares[k] = max(0, mean.Mean-mean.Half)*float64(len(list)), 1
		if mean.Mean > 0 {
			shares[k] = max(0, 1-mean.Half/mean.Mean)
		}
	}
	kept = boundWithout(figures, missed)
	for k, v := range kept.figures() {
		shares[k] *= v
	}
	return workOf(low), workOf(shares)
}
