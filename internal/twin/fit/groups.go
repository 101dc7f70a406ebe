package fit

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Quantities of data.
const (
	TTFT  = "TTFT"
	TPOT  = "TPOT"
	E2E   = "E2E"
	Rate  = "output rate"
	Steps = "steps"
)

// datum is a measured figure of a group of requests, intervals or steps of a run.
type datum struct {
	run      int
	quantity string
	measured float64
	// deviation is the standard deviation of the logarithm of measured over predicted, without an
	// error of the factors.
	deviation float64
	// held says that the datum is not fitted to, and whole that it summarises all of a part of the
	// run rather than for a group of it.
	held, whole bool
	// predicted returns the figure of a simulated run.
	predicted func(o *requestRecorder) float64
}

// model is the error that remains with the best factors, by experience with the servers of
// internal/validation: mean latencies of fitted runs stay off by 1 to 2 %.
const model = 0.015

// sumModel is the error that remains with sums over intervals, of whose requests only mean lengths
// are known.
const sumModel = 0.03

// groupsOfLoad is the number of groups into which the requests of a run are divided by the load
// that they met.
const groupsOfLoad = 3

// fewest is the least number of requests, or steps, for which a group has figures.
const fewest = 8

// data lists the data of all runs. Of each run, the last part of the time is held out; of runs with
// nothing but figures of the whole, the last part of the runs.
func data(runs []observed.Run, hold float64) []datum {
	var list []datum
	only := 0
	for i := range runs {
		if summaryOnly(&runs[i]) {
			only++
		}
	}
	seen := 0
	for i := range runs {
		r := &runs[i]
		switch {
		case len(r.Requests) > 0:
			list = append(list, requestData(i, r, hold)...)
		case len(r.Intervals) > 0:
			list = append(list, intervalData(i, r, hold)...)
		case summaryOnly(r):
			seen++
			held := only >= 3 && seen > int(math.Ceil(float64(only)*(1-hold)))
			list = append(list, summaryData(i, r, held)...)
		}
	}
	return list
}

func summaryOnly(r *observed.Run) bool {
	return len(r.Requests) == 0 && len(r.Intervals) == 0 && len(r.Steps) == 0 &&
		r.Summary != observed.Figures{}
}

// figure is a quantity of requests, and how it is read of a simulated one; 0 where it is absent.
type figure struct {
	quantity  string
	measured  func(r *observed.Request) float64
	predicted func(s *served) float64
}

func figures() []figure {
	return []figure{
		{TTFT, func(r *observed.Request) float64 { return r.TTFT },
			func(s *served) float64 { return s.ttft }},
		{TPOT, (*observed.Request).TPOT, func(s *served) float64 { return s.tpot }},
		{E2E, func(r *observed.Request) float64 { return r.E2E },
			func(s *served) float64 { return s.e2e }},
	}
}

// requestData groups the requests of a run by the part of the time and by the requests in flight
// that they met.
func requestData(run int, r *observed.Run, hold float64) []datum {
	var list []datum
	load := slices.DeleteFunc(slices.Clone(r.Requests), func(q observed.Request) bool {
		return q.Failed
	})
	met := inFlight(load)
	split := lastSeen(load) * (1 - hold)
	if r.Load.Concurrency > 0 {
		list = append(list, rateDatum(run, load))
	}
	for _, held := range []bool{false, true} {
		var part []int
		for i := range load {
			if load[i].Output > 0 && load[i].Start() > split == held {
				part = append(part, i)
			}
		}
		list = append(list, groupData(run, load, part, held, true)...)
		slices.SortStableFunc(part, func(a, b int) int { return cmp.Compare(met[a], met[b]) })
		for k := range groupsOfLoad {
			group := part[k*len(part)/groupsOfLoad : (k+1)*len(part)/groupsOfLoad]
			list = append(list, groupData(run, load, group, held, false)...)
		}
	}
	return list
}

// lastSeen returns when the last request was sent whose times are known.
func lastSeen(list []observed.Request) float64 {
	last := 0.0
	for i := range list {
		if list[i].TTFT > 0 || list[i].E2E > 0 {
			last = max(last, list[i].Start())
		}
	}
	return last
}

// rateDatum returns the output rate of a run whose client waits for answers: it is not fitted to,
// for the latencies make it.
func rateDatum(run int, load []observed.Request) datum {
	tokens, first, last := 0, math.Inf(1), 0.0
	for i := range load {
		q := &load[i]
		tokens += q.Output
		first, last = min(first, q.Start()), max(last, q.Start()+q.E2E)
	}
	return datum{run, Rate, float64(tokens) / (last - first), model, false, true, outputRate}
}

// groupData returns the figures of the requests with these numbers.
func groupData(run int, all []observed.Request, group []int, held, whole bool) []datum {
	var list []datum
	for _, f := range figures() {
		var values []float64
		var numbers []int
		for _, i := range group {
			if v := f.measured(&all[i]); v > 0 {
				values, numbers = append(values, v), append(numbers, i)
			}
		}
		if len(values) < fewest {
			continue
		}
		mean, deviation := moments(values)
		noise := deviation / mean / math.Sqrt(float64(len(values)))
		list = append(list, datum{run, f.quantity, mean, math.Hypot(model, noise), held, whole,
			func(o *requestRecorder) float64 {
				sum, n := 0.0, 0
				for _, i := range numbers {
					if s := &o.requests[i]; s.done {
						sum += f.predicted(s)
						n++
					}
				}
				return sum / float64(n)
			}})
	}
	return list
}

func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}

// inFlight returns how many requests each request met.
func inFlight(list []observed.Request) []int {
	met := make([]int, len(list))
	var ends []float64
	for i := range list {
		q := &list[i]
		now := q.Start()
		ends = slices.DeleteFunc(ends, func(end float64) bool { return end <= now })
		met[i] = len(ends)
		ends = append(ends, now+max(q.E2E, q.TTFT))
	}
	return met
}

// intervalData groups the intervals of a run by the part of the time and by their rate.
func intervalData(run int, r *observed.Run, hold float64) []datum {
	var list []datum
	last := &r.Intervals[len(r.Intervals)-1]
	split := (last.At + last.Seconds) * (1 - hold)
	for _, held := range []bool{false, true} {
		var part []*observed.Interval
		for i := range r.Intervals {
			v := &r.Intervals[i]
			if (v.At+v.Seconds/2 > split) == held && v.Requests >= 1 {
				part = append(part, v)
			}
		}
		list = append(list, sumData(run, part, held, true)...)
		slices.SortStableFunc(part, func(a, b *observed.Interval) int {
			return cmp.Compare(a.Requests/a.Seconds, b.Requests/b.Seconds)
		})
		for k := range groupsOfLoad {
			list = append(list, sumData(run,
				part[k*len(part)/groupsOfLoad:(k+1)*len(part)/groupsOfLoad], held, false)...)
		}
	}
	return list
}

// sumData returns the means of sums over intervals, as counters of servers give them: requests for
// TTFT and E2E, and tokens for TPOT.
func sumData(run int, group []*observed.Interval, held, whole bool) []datum {
	var list []datum
	for _, f := range []struct {
		quantity string
		of       func(v *observed.Interval) (mean, weight float64)
		sim      func(s *served) (sum, weight float64)
		spread   float64 // of single requests, relative to the mean
	}{
		{TTFT, func(v *observed.Interval) (float64, float64) { return v.TTFT, v.Requests },
			func(s *served) (float64, float64) { return s.ttft, 1 }, 0.5},
		{TPOT, func(v *observed.Interval) (float64, float64) { return v.TPOT, v.OutputTokens },
			func(s *served) (float64, float64) { return s.e2e - s.ttft, float64(s.output - 1) },
			0.1},
		{E2E, func(v *observed.Interval) (float64, float64) { return v.E2E, v.Requests },
			func(s *served) (float64, float64) { return s.e2e, 1 }, 0.3},
	} {
		sum, weight, requests := 0.0, 0.0, 0.0
		for _, v := range group {
			if mean, w := f.of(v); mean > 0 && w > 0 {
				sum, weight, requests = sum+mean*w, weight+w, requests+v.Requests
			}
		}
		if requests < fewest {
			continue
		}
		list = append(list, datum{run, f.quantity, sum / weight,
			math.Hypot(sumModel, f.spread/math.Sqrt(requests)), held, whole,
			func(o *requestRecorder) float64 {
				sum, weight := 0.0, 0.0
				for i := range o.requests {
					if s := &o.requests[i]; s.done && within(group, s.at) {
						a, b := f.sim(s)
						sum, weight = sum+a, weight+b
					}
				}
				return sum / weight
			}})
	}
	return list
}

func within(group []*observed.Interval, at float64) bool {
	return slices.ContainsFunc(group, func(v *observed.Interval) bool {
		return at >= v.At && at < v.At+v.Seconds
	})
}

// summaryData returns the figures of a whole run.
func summaryData(run int, r *observed.Run, held bool) []datum {
	var list []datum
	f := &r.Summary
	add := func(quantity string, measured, noise float64,
		predicted func(o *requestRecorder) float64) {
		if measured > 0 {
			list = append(list, datum{run, quantity, measured, math.Hypot(model, noise), held, true,
				predicted})
		}
	}
	for i, q := range []struct{ mean, median float64 }{{f.TTFT, f.TTFT50}, {f.TPOT, f.TPOT50},
		{f.E2E, f.E2E50}} {
		of := figures()[i]
		if q.median > 0 && q.mean == 0 {
			add(of.quantity, q.median, 0.02, func(o *requestRecorder) float64 {
				return quantile(o, of.predicted, 0.5)
			})
			continue
		}
		add(of.quantity, q.mean, 0.01,
			func(o *requestRecorder) float64 { return mean(o, of.predicted) })
	}
	if r.Load.Concurrency > 0 || r.Load.Rate == 0 { // else the rate is the client's
		add(Rate, f.OutputRate, 0.01, outputRate)
	}
	return list
}

func values(o *requestRecorder, of func(s *served) float64) []float64 {
	var list []float64
	for i := range o.requests {
		if s := &o.requests[i]; s.done && of(s) > 0 {
			list = append(list, of(s))
		}
	}
	return list
}

func mean(o *requestRecorder, of func(s *served) float64) float64 {
	m, _ := moments(values(o, of))
	return m
}

func quantile(o *requestRecorder, of func(s *served) float64, p float64) float64 {
	list := values(o, of)
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(p*float64(len(list)-1)+0.5)]
}

func outputRate(o *requestRecorder) float64 {
	tokens, first := 0, math.Inf(1)
	for i := range o.requests {
		if s := &o.requests[i]; s.done {
			tokens += s.output
			first = min(first, s.at)
		}
	}
	return float64(tokens) / (o.last - first)
}
