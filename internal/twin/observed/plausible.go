package observed

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
)

// Limits of what servers can show.
const (
	// fewestAlike is the number of requests from which a pattern is one.
	fewestAlike = 8
	// fastest and slowest bound the median TPOT in seconds: a token from a cache in SRAM takes 0.2
	// ms, one from a disk 10 s.
	fastest, slowest = 20e-6, 30.0
	// consistent bounds E2E over TTFT + TPOT × (output − 1), of means: long answers that are slow,
	// or fast, move it by less.
	consistent = 2.5
)

// leastBusy is the least share of the time in which a server under test has a request, of at least
// fewestBusy of these.
const (
	leastBusy  = 0.02
	fewestBusy = 50
)

// Idle reports whether the requests of a run are so far apart that they say nothing of loads.
func (r *Run) Idle() bool {
	n, busy := len(r.Requests), 0.0
	for i := range r.Requests {
		busy += r.Requests[i].E2E
	}
	return n >= fewestBusy && busy > 0 && !r.Load.Untimed &&
		busy < leastBusy*(r.Requests[n-1].Start()-r.Requests[0].Start())
}

// BeginsAnew returns the number of the request with which the arrivals of a run in its source's
// order go from their latest third back to their first, once, and but for that never back by more
// than a tenth: two runs in one; 0 of one run.
func (r *Run) BeginsAnew() (at int) {
	if len(r.Requests) < fewestBusy || r.Load.Untimed {
		return 0
	}
	byArrival := func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) }
	first := slices.MinFunc(r.Requests, byArrival).Arrival
	span := slices.MaxFunc(r.Requests, byArrival).Arrival - first
	last := first
	for i := range r.Requests {
		switch now := r.Requests[i].Arrival; {
		case now >= last-span/10:
			last = max(last, now)
		case at > 0 || last < first+span*2/3 || now > first+span/3:
			return 0
		default:
			at, last = i, now
		}
	}
	return at
}

// twice counts the pairs of equal requests: sent at the same time, as long, and as late.
func (r *Run) twice() (n int) {
	type same struct {
		sent, ttft, e2e float64
		prompt, output  int
	}
	alike := map[same]int{}
	for i := range r.Requests {
		q := &r.Requests[i]
		alike[same{q.Start(), q.TTFT, q.E2E, q.Prompt, q.Output}]++
	}
	for _, count := range alike {
		if count == 2 {
			n++
		}
	}
	return n
}

// CheckRequests returns an error if latencies of requests contradict each other or are not a
// server's: columns that were exchanged or that have another unit.
func (r *Run) CheckRequests() error {
	var tpots []float64
	long, alike := 0, 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Failed || q.TTFT <= 0 || q.E2E <= 0 {
			continue
		}
		if q.TTFT > q.E2E+1e-3 {
			return fmt.Errorf("run %s: request %d, by arrival: found a first token %s after "+
				"sending and the last after %s, want the last no earlier", r.Name, i,
				units.FormatDuration(q.TTFT), units.FormatDuration(q.E2E))
		}
		if q.Output > 1 {
			long++
			if q.E2E-q.TTFT <= 1e-3*q.E2E {
				alike++
			} else {
				tpots = append(tpots, q.TPOT())
			}
		}
	}
	if long >= fewestAlike && 2*alike > long {
		return fmt.Errorf("run %s: found TTFT equal to E2E in %d of %d requests with several "+
			"tokens, want the time of the first token; if answers were not streamed, leave its "+
			"column out: E2E alone is fitted to", r.Name, alike, long)
	}
	if n := r.twice(); n >= fewestAlike && 20*n > 9*len(r.Requests) {
		return fmt.Errorf("run %s: found %d requests twice, with the same times, want each once: "+
			"were two copies of a file joined?", r.Name, n)
	}
	if len(tpots) < fewestAlike {
		return nil
	}
	slices.Sort(tpots)
	if m := tpots[len(tpots)/2]; m < fastest || m > slowest {
		return fmt.Errorf("run %s: found a median TPOT of %s, (E2E − TTFT)/(output − 1), want "+
			"%s to %s: are the columns of times in another unit than their names say?", r.Name,
			units.FormatDuration(m), units.FormatDuration(fastest), units.FormatDuration(slowest))
	}
	return nil
}

// CheckSummary returns an error if the figures of a run contradict each other.
func (r *Run) CheckSummary() error {
	f, output := &r.Summary, r.Load.Output
	for _, q := range []struct {
		name           string
		mean, p50, p99 float64
	}{{"TTFT", f.TTFT, f.TTFT50, f.TTFT99}, {"TPOT", f.TPOT, f.TPOT50, f.TPOT99},
		{"E2E", f.E2E, f.E2E50, f.E2E99}} {
		if q.p99 > 0 && q.p50 > q.p99*1.001 {
			return fmt.Errorf("run %s: found a median %s of %s above its p99 of %s", r.Name, q.name,
				units.FormatDuration(q.p50), units.FormatDuration(q.p99))
		}
	}
	for _, q := range []struct {
		name            string
		ttft, tpot, e2e float64
	}{{"mean", f.TTFT, f.TPOT, f.E2E}, {"median", f.TTFT50, f.TPOT50, f.E2E50}} {
		sum := q.ttft + q.tpot*max(0, output-1)
		switch {
		case q.e2e == 0 || output < 2:
		case q.ttft > q.e2e*1.001:
			return fmt.Errorf("run %s: found a %s TTFT of %s above the E2E of %s, want it below",
				r.Name, q.name, units.FormatDuration(q.ttft), units.FormatDuration(q.e2e))
		case q.ttft > 0 && q.tpot > 0 && (q.e2e > consistent*sum || q.e2e < sum/consistent):
			return fmt.Errorf("run %s: found a %s E2E of %s, want about TTFT + TPOT × "+
				"(output − 1), or %s with %.0f tokens: is a column in another unit, or "+
				"another one?", r.Name, q.name,
				units.FormatDuration(q.e2e), units.FormatDuration(sum), output)
		}
	}
	return nil
}
