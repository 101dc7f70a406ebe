package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// rounding is the relative error of sums of floating-point numbers.
const rounding = 1e-9

// laws collects what is wrong with a run.
type laws struct{ wrong []string }

func (l *laws) that(holds bool, format string, args ...any) {
	if !holds && len(l.wrong) < 20 {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// same holds if two figures are the same but for rounding.
func (l *laws) same(what string, got, want, slack float64) {
	l.that(math.Abs(got-want) <= slack+rounding*math.Abs(want), "%s: %v, want %v", what, got, want)
}

// problems says what is wrong with a run by itself.
func (r *run) problems() []string {
	l := &laws{}
	l.wrong = append(l.wrong, r.watch.problems()...)
	rows := readRows(r.csv)
	l.conservation(r, rows)
	l.requests(r, rows)
	l.window(r)
	l.money(r)
	l.shares(r)
	l.figures("result", plainJSON(r.json))
	return l.wrong
}

// row is a line of requests.csv.
type row struct {
	id, class, prompt, output, cached, preemptions int64
	status                                         string
	arrival, queue, ttft, tpot, e2e                float64
}

// readRows reads requests.csv by the names of its columns.
func readRows(table []byte) (list []row) {
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	names := strings.Split(lines[0], ",")
	for _, line := range lines[1:] {
		cells := strings.Split(line, ",")
		number := func(name string) float64 {
			x, err := strconv.ParseFloat(cells[slices.Index(names, name)], 64)
			fatal(err)
			return x
		}
		whole := func(name string) int64 { return int64(number(name)) }
		list = append(list, row{whole("id"), whole("class"), whole("prompt_tokens"),
			whole("output_tokens"), whole("cached_tokens"), whole("preemptions"),
			cells[slices.Index(names, "status")], number("arrival_s"), number("queue_ms"),
			number("ttft_ms"), number("tpot_ms"), number("e2el_ms")})
	}
	return list
}

// conservation: each request ends once, in one way, and classes, tenants and pools have all between
// them.
func (l *laws) conservation(r *run, rows []row) {
	result, counted := r.result, map[string]int64{}
	for i := range rows {
		counted[strings.TrimPrefix(rows[i].status, "rejected: ")]++
	}
	all := result.Endings
	l.that(all.Sent() == int64(len(r.watch.ends)) && all.Sent() == int64(len(rows)),
		"%d requests ended, requests.csv has %d, and the result %+v", len(r.watch.ends), len(rows),
		all)
	ends := map[string]int64{"completed": all.Completed, sim.TimedOut.String(): all.TimedOut,
		sim.Cancelled.String(): all.Cancelled, "cut": all.Cut, sim.Lost.String(): all.Lost}
	rejected := all.Rejected
	for status, n := range counted {
		if want, known := ends[status]; known {
			l.that(n == want, "%s: requests.csv has %d, the result %d", status, n, want)
		} else {
			rejected -= n
		}
	}
	l.that(rejected == 0, "requests.csv counts %v, and the result has %d rejected", counted,
		all.Rejected)
	asked := r.simulation.Scenario.Workload.Requests
	warm := r.simulation.Scenario.Caches // the requests that fill caches do not count
	short := all.Sent() < asked && r.simulation.Scenario.Workload.Duration == 0 &&
		(warm == nil || warm.Start != "warm")
	l.that(!short || strings.Contains(strings.Join(result.Warnings, "\n"),
		fmt.Sprintf("of the %d requests", asked)),
		"%d of %d requests ended, and no warning says why", all.Sent(), asked)
	l.that(all.Sent() > 0 || !result.SLOMet, "the SLO is met without a request")
	for what, groups := range map[string]map[string]metrics.ClassSummary{
		"classes": result.Classes, "tenants": result.Tenants} {
		var sum metrics.Endings
		for _, g := range groups {
			sum.Completed += g.Completed
			sum.Rejected += g.Rejected
			sum.TimedOut += g.TimedOut
			sum.Cancelled += g.Cancelled
			sum.Cut += g.Cut
			sum.Lost += g.Lost
		}
		l.that(len(groups) == 0 || sum == all, "%s have %+v, all together %+v", what, sum,
			all)
	}
	completed := result.Completed
	for i := range result.Pools {
		completed -= result.Pools[i].Completed
	}
	l.that(len(result.Pools) == 0 || completed == 0, "pools completed all but %d requests",
		completed)
}

// requests: the figures of the result are those of its requests.
func (l *laws) requests(r *run, rows []row) {
	l.group("", r, rows, -1, &r.result.Summary.Latencies, r.result.Endings,
		r.result.TotalInputTokens, r.result.TotalOutputTokens, r.result.Attainment,
		r.result.Goodput)
	for i, c := range r.simulation.Scenario.Workload.Classes {
		g, known := r.result.Classes[c.Name]
		l.that(known, "class %s is not in the result", c.Name)
		if known {
			l.group("class "+c.Name+": ", r, rows, int64(i), &g.Latencies, g.Endings,
				g.TotalInputTokens, g.TotalOutputTokens, g.Attainment, g.Goodput)
		}
	}
}

// csvRounding is by how much a time in requests.csv may be off, in ms.
const csvRounding = 0.6e-6

// group holds the figures of a class, or of all requests, against the rows of requests.csv.
func (l *laws) group(name string, r *run, rows []row, class int64, x *metrics.Latencies,
	ends metrics.Endings, input, output int64, kept metrics.Attainment, goodput float64) {
	var ttft, tpot, e2e []float64
	var in, out, good, partly, unsure, completed int64
	var queue float64
	for i := range rows {
		q := &rows[i]
		cut := q.status == "cut"
		if class >= 0 && q.class != class || q.status != "completed" && !cut {
			continue
		}
		queue += q.queue
		ttft = append(ttft, q.ttft)
		if !cut {
			completed++
			in, out = in+q.prompt, out+q.output
			e2e = append(e2e, q.e2e)
		}
		if q.output > 1 && q.tpot > 0 {
			tpot = append(tpot, q.tpot)
		}
		l.that(q.cached >= 0 && q.cached <= q.prompt,
			"request %d: %d cached tokens of a prompt of %d", q.id, q.cached, q.prompt)
		l.that(q.queue <= q.ttft && q.ttft <= q.e2e+csvRounding, "request %d: queue %v, TTFT %v, "+
			"E2E %v ms", q.id, q.queue, q.ttft, q.e2e)
		l.that(math.Abs(q.ttft+q.tpot*float64(q.output-1)-q.e2e) <=
			csvRounding*float64(q.output+2), "request %d: TTFT %v and %d gaps of %v are not the "+
			"E2E of %v ms", q.id, q.ttft, q.output-1, q.tpot, q.e2e)
		yes, tie := judged(r, q)
		switch {
		case yes && cut:
			partly++
		case yes:
			good++
		}
		if tie {
			unsure++
		}
	}
	l.that(completed == ends.Completed, "%srequests.csv has %d completed, the result %d", name,
		completed, ends.Completed)
	l.that(in == input && out == output, "%srequests.csv has %d and %d tokens in and out, the "+
		"result %d and %d", name, in, out, input, output)
	for what, of := range map[string]struct {
		list                            []float64
		mean, median, p90, p95, p99, sd float64
	}{
		"TTFT": {ttft, x.MeanTTFT, x.MedianTTFT, x.P90TTFT, x.P95TTFT, x.P99TTFT,
			known(x.StdTTFT)},
		"TPOT": {tpot, x.MeanTPOT, x.MedianTPOT, x.P90TPOT, x.P95TPOT, x.P99TPOT,
			known(x.StdTPOT)},
		"E2EL": {e2e, x.MeanE2EL, x.MedianE2EL, x.P90E2EL, x.P95E2EL, x.P99E2EL,
			known(x.StdE2EL)},
	} {
		if len(of.list) == 0 {
			l.that(of.mean == 0 && of.p99 == 0, "%s%s: %+v without a request", name, what, of)
			continue
		}
		sum := 0.0
		for _, t := range of.list {
			sum += t
		}
		l.same(name+"mean "+what, of.mean, sum/float64(len(of.list)), csvRounding)
		least, most := slices.Min(of.list), slices.Max(of.list)
		last := least * (1 - 1e-9)
		for i, q := range []float64{of.median, of.p90, of.p95, of.p99, most * (1 + 1e-9)} {
			l.that(q >= last-csvRounding, "%s%s: quantile %d is %v, below %v", name, what, i, q,
				last)
			last = q
		}
		l.that(of.mean >= least-csvRounding && of.mean <= most+csvRounding,
			"%s%s: mean %v outside of %v to %v", name, what, of.mean, least, most)
		l.that(of.sd <= (most-least)+csvRounding, "%s%s: a deviation of %v for values from %v to "+
			"%v", name, what, of.sd, least, most)
	}
	if class < 0 && completed > 0 && r.result.Phases != nil {
		l.same("mean queue", r.result.MeanQueue, queue/float64(len(ttft)), csvRounding)
	}
	if sent := float64(ends.Sent()); sent > 0 {
		l.that(math.Abs(kept.All*sent-float64(good+partly)) <= float64(unsure)+1e-6,
			"%s%v of %v requests kept the SLO, and by requests.csv %d do", name, kept.All*sent,
			sent, good+partly)
		l.that(math.Abs(goodput*r.result.Duration-float64(good)) <= float64(unsure)+1e-6,
			"%sgoodput %v/s in %v s, and by requests.csv %d requests are good", name, goodput,
			r.result.Duration, good)
	}
}

func known(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// judged reports whether a row keeps the limits for single requests, and whether one of them is so
// near that the digits of the row do not say. The rest of an answer that was cut would have come at
// the pace of what the user had.
func judged(r *run, q *row) (kept, unsure bool) {
	kept = true
	slo, e2e, slack := r.simulation.SLO(int(q.class)), q.e2e, csvRounding
	if q.status == "cut" {
		for i := range r.watch.record.Rejected {
			if end := &r.watch.record.Rejected[i]; end.ID == q.id {
				e2e += q.tpot * float64(end.Output-end.Answered)
				slack *= float64(end.Output + 1)
			}
		}
	}
	for _, pair := range [][2]float64{{slo.TTFT.Milliseconds(), q.ttft},
		{slo.TPOT.Milliseconds(), q.tpot}, {slo.E2E.Milliseconds(), e2e}} {
		if pair[0] == 0 {
			continue
		}
		kept = kept && pair[1] <= pair[0]
		unsure = unsure || math.Abs(pair[1]-pair[0]) <= slack
	}
	return kept, unsure
}

// window: rates, states and shares are taken over the whole run.
func (l *laws) window(r *run) {
	s, window := r.result, r.result.Duration
	last := 0.0
	for i := range r.watch.record.Finished {
		f := &r.watch.record.Finished[i]
		last = max(last, (f.Arrival + f.E2E).Seconds())
	}
	for i := range r.watch.record.Rejected {
		last = max(last, r.watch.record.Rejected[i].Left.Seconds())
	}
	asked := sim.Time(r.simulation.Scenario.Workload.Duration).Seconds()
	warm := r.simulation.Scenario.Caches // which takes the first part of the asked time
	l.that(window >= last && (window == last || window == asked ||
		warm != nil && warm.Start == "warm" && window <= asked), "the window of %v s ends before "+
		"the last request at %v s, or after it and the asked %v s", window, last, asked)
	l.same("requests by rate", s.RequestThroughput*window, float64(s.Completed), 0)
	l.same("output tokens by rate", s.OutputThroughput*window, float64(s.TotalOutputTokens), 0)
	l.same("tokens by rate", s.TotalTokenThroughput*window,
		float64(s.TotalOutputTokens+s.TotalInputTokens), 0)
	// Little's law: what was in the system, summed over time and over requests
	var spent sim.Time
	for i := range r.watch.record.Finished {
		f := &r.watch.record.Finished[i]
		spent += f.LastToken - f.Arrival
	}
	l.same("requests in the system times time", (s.MeanRunning+s.MeanWaiting)*window,
		(spent + r.watch.stayed).Seconds(), 0)
	l.that(s.MeanWaiting <= float64(s.PeakWaiting)*(1+rounding), "waiting: mean %v, peak %v",
		s.MeanWaiting, s.PeakWaiting)
	l.that(s.KVUsage <= s.PeakKVUsage*(1+rounding), "KV: mean %v, peak %v", s.KVUsage,
		s.PeakKVUsage)
	l.that(s.MeanDecodeBatch <= float64(s.PeakBatch)*(1+rounding), "batch: mean %v, peak %v",
		s.MeanDecodeBatch, s.PeakBatch)
	l.that(s.Goodput <= s.RequestThroughput*(1+rounding), "goodput %v of %v/s", s.Goodput,
		s.RequestThroughput)
}

// money: the price is that of the time, and the whole is the sum of the pools.
func (l *laws) money(r *run) {
	s := r.result
	scaled := strings.Contains(string(r.json), `"scaling": {`)
	if !scaled {
		l.same("accelerator hours", s.AcceleratorHours,
			float64(s.Accelerators)*s.Duration/3600, 0)
	}
	memory := strings.Contains(string(r.json), "-price") ||
		strings.Contains(string(text(plainJSON(r.json)["scenario"].(object))), `"price":"listed"`) ||
		r.simulation.Scenario.Memory.Price.Amount > 0
	if len(s.Pools) == 0 && !memory && !strings.Contains(string(r.json), `"pools"`) {
		sp := r.simulation.Scenario.Speculation
		if sp == nil || sp.Accelerator == "" {
			l.same("cost", s.Cost, s.AcceleratorHours*r.simulation.Scenario.Hardware.Price.Amount,
				0)
		}
	}
	var cost, hours, energy float64
	unpriced := false
	for i := range s.Pools {
		p := &s.Pools[i]
		cost, hours, energy = cost+p.Cost, hours+p.AcceleratorHours, energy+p.Energy
		unpriced = unpriced || p.Cost == 0 && p.AcceleratorHours > 0
		l.that(p.MeanReplicas <= float64(p.Replicas)+1e-9, "pool %s: %v of %d replicas", p.Name,
			p.MeanReplicas, p.Replicas)
	}
	if len(s.Pools) > 0 {
		if unpriced {
			cost = 0
		}
		l.same("cost of the pools", cost, s.Cost, 0)
		l.same("hours of the pools", hours, s.AcceleratorHours, 0)
		l.same("energy of the pools", energy, s.Energy, 0)
	}
	if t := s.TokenCosts; t != nil {
		n := scenarios.CountTokens(&s.Summary)
		l.same("cost of the tokens", (t.Input*float64(n.Input-n.Cached)+
			t.Cached*float64(n.Cached)+t.Output*float64(n.Output))/1e6, s.Cost, 1e-12)
	}
	if s.TotalOutputTokens > 0 {
		l.same("energy by token", s.EnergyPerMillion*float64(s.TotalOutputTokens)/1e6, s.Energy, 0)
	}
}

// shares: what is a share by the list of figures is in [0, 1], and parts of a whole sum to it.
func (l *laws) shares(r *run) {
	result := plainJSON(r.json)
	for _, m := range scenarios.Metrics() {
		value, found := lookup(result, m)
		if !found {
			continue
		}
		switch m.Unit {
		case scenarios.Share:
			slack := rounding
			if m.Name == "mfu" || m.Name == "mbu" {
				slack = 1e-6 // steps take whole ticks
			}
			l.that(value >= 0 && value <= 1+slack || free(r, m.Name), "%s is a share of %v", m.Name,
				value)
		case scenarios.Percent:
			l.that(value >= 0 && value <= 100*(1+rounding) || m.Signed, "%s is %v%%", m.Name, value)
		}
		l.that(value >= 0 || m.Signed, "%s is %v", m.Name, value)
	}
	l.that(!strings.Contains(strings.Join(r.result.Warnings, "\n"), "error of llmsim"),
		"warnings %q", r.result.Warnings)
	k := r.result.KVShares
	sum := k.Tokens + k.Reserved + k.Internal + k.External
	l.that(sum == 0 || math.Abs(sum-1) < rounding,
		"the parts of the KV memory sum to %v", sum)
}

// free reports whether a scenario says itself how quick something is, so that the peak of its
// accelerators does not bound it.
func free(r *run, name string) bool {
	return (name == "mfu" || name == "mbu") && (r.simulation.Scenario.Steps != nil ||
		strings.Contains(string(r.json), `"steps": {`) || strings.Contains(string(r.json),
		`"factors": {`) || strings.Contains(strings.Join(r.result.Warnings, "\n"),
		name+" is ") && strings.Contains(string(r.json), `"operators": "`))
}

// orElse returns the first text that is not empty.
func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// lookup finds a figure in a decoded result.
func lookup(result object, m scenarios.Metric) (float64, bool) {
	var at any = result
	for _, step := range strings.Split(orElse(m.Path, m.Name), ".") {
		of, ok := at.(object)
		if !ok {
			return 0, false
		}
		at = of[step]
	}
	x, ok := at.(float64)
	return x, ok
}

// figures: no figure is negative that cannot be, and shares by name are shares, wherever they are.
func (l *laws) figures(name string, value any) {
	switch value := value.(type) {
	case float64:
		key := name[strings.LastIndex(name, ".")+1:]
		signed := key == "seed" || strings.HasSuffix(key, "bias") || signedKeys()[key]
		l.that(value >= 0 || signed, "%s is %v", name, value)
		share := strings.HasSuffix(key, "_share") || key == "busy" ||
			key == "link_busy" || strings.Contains(name, "attainment.")
		l.that(!share || value <= 1+rounding, "%s is a share of %v", name, value)
	case object:
		for _, key := range sortedKeys(value) {
			if key != "scenario" {
				l.figures(name+"."+key, value[key])
			}
		}
	case []any:
		for i := range value {
			l.figures(name, value[i])
		}
	case string:
		l.words(name, value)
	}
}

// signedKeys holds the last keys of the figures that may be negative.
var signedKeys = sync.OnceValue(func() map[string]bool {
	keys := map[string]bool{}
	for _, m := range scenarios.Metrics() {
		if m.Signed {
			path := orElse(m.Path, m.Name)
			keys[path[strings.LastIndex(path, ".")+1:]] = true
		}
	}
	return keys
})

// words: no sentence has a number that is none.
func (l *laws) words(name, words string) {
	for _, bad := range []string{"NaN", "+Inf", "-Inf", "∞", "%!", "e+1", "-0 ",
		"9,223,372,036,854,775,80"} {
		l.that(!strings.Contains(words, bad) || strings.Contains(name, ".scenario"),
			"%s says %q", name, words)
	}
}

// differences says in what another way to run a scenario gives another result: nothing may.
func (r *run) differences(how string, other *run) (list []string) {
	if other.watch != nil {
		if d := cmp.Diff(r.watch.record, other.watch.record); d != "" {
			list = append(list, how+" (+) changes events:\n"+d)
		}
	}
	if d := cmp.Diff(string(r.csv), string(other.csv)); d != "" {
		list = append(list, how+" (+) changes requests.csv:\n"+d)
	}
	if d := cmp.Diff(r.result.Summary, other.result.Summary); d != "" {
		list = append(list, how+" (+) changes the summary:\n"+d)
	}
	if string(r.json) == string(other.json) {
		return list
	}
	if d := cmp.Diff(plainJSON(r.json), plainJSON(other.json)); d != "" {
		list = append(list, how+" (+) changes the result:\n"+d)
	}
	return list
}
