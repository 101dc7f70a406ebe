package validation

import (
	"embed"
	"io/fs"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/metrics"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// outcome is a sim.Observer that keeps every request, for exact percentiles of any part of them.
type outcome struct {
	requests []answered
	rejected int
	last     sim.Time
	// gaps are the times between tokens.
	gaps *metrics.Distribution
	// rehearsal is a sample of the steps, nil where no sample is taken.
	rehearsal *rehearsal
	// key is the server's; zero for servers apart. open reports whether requests arrive whether
	// others are answered or not.
	key  servers.Key
	open bool
}

// keyed gives comparisons the server's key and the load.
func (o *outcome) keyed(list []accuracy.Comparison) []accuracy.Comparison {
	load := o.load()
	for i := range list {
		list[i].Key, list[i].Load = o.key, load
	}
	return list
}

// load returns what the requests asked of the server.
func (o *outcome) load() evidence.Load {
	l, first, n := evidence.Load{Open: o.open}, sim.Never, float64(len(o.requests))
	for i := range o.requests {
		r := &o.requests[i]
		first = min(first, r.arrival)
		l.Users += r.e2e.Seconds()
		l.Prompt += float64(r.prompt) / n
		l.Output += float64(r.output) / n
	}
	if n > 0 {
		l.Users /= (o.last - first).Seconds()
	}
	return l
}

// gapAccuracy is the relative accuracy of quantiles of the time between tokens.
const gapAccuracy = 0.001

func newOutcome() *outcome {
	gaps, err := metrics.NewDistribution(gapAccuracy)
	if err != nil {
		panic(err) // the accuracy is a constant
	}
	return &outcome{gaps: gaps}
}

// answered is a request that got its answer.
type answered struct {
	arrival, ttft, tpot, e2e sim.Time
	prompt, output           int
}

// Steps implements sim.Observer.
func (o *outcome) Steps(l *sim.Leap) {
	if o.rehearsal != nil {
		o.rehearsal.see(l)
	}
	for _, g := range l.Gaps {
		o.gaps.AddRepeated(g.Span, g.Count)
	}
	if l.Steps > 1 {
		o.gaps.AddSteps(l)
	}
}

// Finished implements sim.Observer.
func (o *outcome) Finished(s *sim.Sequence) {
	o.requests = append(o.requests, answered{s.Arrival, s.TTFT(), s.TPOT(), s.E2E(),
		s.Prompt, s.Output})
	o.last = max(o.last, s.Arrival+s.E2E())
}

// Rejected implements sim.Observer.
func (o *outcome) Rejected(*sim.Request, sim.Rejection) { o.rejected++ }

// Sampled implements sim.Observer.
func (o *outcome) Sampled(sim.Time, int, sim.State) {}

// arrivedIn returns what reports whether a request arrived in [from, to).
func arrivedIn(from, to sim.Time) func(arrival sim.Time) bool {
	return func(arrival sim.Time) bool { return arrival >= from && arrival < to }
}

// where returns the outcome of the requests that counts accepts by their arrivals.
func (o *outcome) where(counts func(arrival sim.Time) bool) *outcome {
	part := &outcome{key: o.key, open: o.open}
	for _, r := range o.requests {
		if counts(r.arrival) {
			part.requests = append(part.requests, r)
			part.last = max(part.last, r.arrival+r.e2e)
		}
	}
	return part
}

// figures returns mean, median and 90th and 99th percentile of TTFT, TPOT and E2E latency in ms, by
// the names of quantities.
func (o *outcome) figures() map[string]float64 {
	all := map[string]float64{}
	for name, of := range map[string]func(*answered) sim.Time{
		"TTFT": func(r *answered) sim.Time { return r.ttft },
		"TPOT": func(r *answered) sim.Time { return r.tpot },
		"E2E":  func(r *answered) sim.Time { return r.e2e },
	} {
		var values []float64
		for i := range o.requests {
			if v := of(&o.requests[i]); v > 0 {
				values = append(values, v.Milliseconds())
			}
		}
		addStatistics(all, name, values)
	}
	return all
}

// latenciesAndRate returns figures and the output rate.
func (o *outcome) latenciesAndRate() map[string]float64 {
	all := o.figures()
	all["output rate"] = o.outputRate()
	return all
}

// outputRate returns the output tokens a second from the first arrival to the last token.
func (o *outcome) outputRate() float64 {
	tokens, first := 0, sim.Never
	for _, r := range o.requests {
		tokens += r.output
		first = min(first, r.arrival)
	}
	return float64(tokens) / (o.last - first).Seconds()
}

// addStatistics adds mean, p50, p90 and p99 of values under name.
func addStatistics(all map[string]float64, name string, values []float64) {
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	all[name+" mean"] = sum / float64(len(values))
	all[name+" p50"] = accuracy.Quantile(values, 0.5)
	all[name+" p90"] = accuracy.Quantile(values, 0.9)
	all[name+" p99"] = accuracy.Quantile(values, 0.99)
}

//go:embed cited/*.csv
var citedFiles embed.FS

// Cited returns the project's own short tables: single figures that others published, each with its
// source.
func Cited() fs.FS {
	folder, err := fs.Sub(citedFiles, "cited")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return folder
}
