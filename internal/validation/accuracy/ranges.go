package accuracy

import (
	"cmp"
	"math"
	"slices"
	"strings"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// intervalLevel is the share of measurements that ranges of results are to hold.
const intervalLevel = 0.8

// served is a measured latency of a server, or what represents one, with the logarithm of the
// measured over the predicted time.
type served struct {
	*Comparison
	quantity string // "TPOT" or "TTFT"
	// shown is what it is called where ranges are compared: the quantity, or "rate" for the
	// throughput of a whole server, which the time of its steps decides.
	shown     string
	deviation float64
}

// latency returns what evidence calls a measured quantity of a server, or "", and whether it is a
// rate, which falls as times grow. A median counts where the table has no mean.
func latency(c *Comparison) (name string, rate bool) {
	if strings.HasSuffix(c.Case, Saturated) && !strings.Contains(c.Quantity, "rate") {
		return "", false // near capacity, an error is one of the load
	}
	switch c.Quantity {
	case "TTFT mean", "first token", "prompt":
		return "TTFT", false
	case "TPOT mean", "token p50", "token":
		return "TPOT", false
	case "TTFT p50", "TPOT p50":
		if hasMedians[c.Table] {
			return QuantityFamily(c.Quantity), false
		}
	case "prefill rate":
		return "TTFT", true
	case "decode rate":
		return "TPOT", true
	}
	return "", false
}

// Saturated ends the case of an open load that the server could not take: the client had its
// largest number of requests under way. What the server bears is compared there, as a rate: the
// latencies follow from the length of the run.
const Saturated = " in flight"

// hasMedians are the tables that have medians rather than means.
var hasMedians = map[string]bool{"silicon_app": true, "sglang_cookbook": true,
	"accelerators_other": true}

// served lists the latencies of servers, and their throughputs where rates is set.
func (r *Report) served(rates bool) []served {
	var list []served
	for i := range r.Tables {
		for j := range r.Tables[i].Rows {
			c := &r.Tables[i].Rows[j]
			quantity, rate := latency(c)
			shown := quantity
			if rates && (c.Quantity == "output rate" || c.Quantity == "tokens a node") {
				quantity, shown, rate = "TPOT", "rate", true
			}
			if c.Key.Engine == "" || quantity == "" || c.Predicted <= 0 || c.Measured <= 0 {
				continue
			}
			s := served{c, quantity, shown, math.Log(c.Measured / c.Predicted)}
			if rate {
				s.deviation = -s.deviation
			}
			list = append(list, s)
		}
	}
	return list
}

// widthWorth is how much what is known of the servers around counts for the width of a server's own
// range, in loads of the server. For its bias it counts as one.
const widthWorth = 0.5

// leastWithin is the narrowest range, to each side.
const leastWithin = 0.01

// between returns what lies a part of the way from one to another.
func between(from, to evidence.ErrorRange, part float64) evidence.ErrorRange {
	return evidence.ErrorRange{
		Bias: float64((1-part)*from.Bias) + float64(part*to.Bias),
		Within: math.Exp(float64((1-part)*math.Log(from.Within)) +
			float64(part*math.Log(to.Within))),
	}
}

// shape names the lengths and the release of a row: rows of one shape differ in their load alone,
// and have most of their error in common.
func (s *served) shape() string {
	load, lengths, several := strings.Cut(s.Case, ", ")
	if !several || !strings.HasPrefix(load, "concurrency") {
		lengths, _, _ = strings.Cut(s.Case, " ")
	}
	return s.Version + " " + lengths
}

// given returns where further rows of a server lie when some were measured, and what is known of
// the servers around it. Of n shapes that are no different from the next one, the one of rank
// 0.8·(n+1) is not exceeded by it in 80 of 100 cases (Vovk, Gammerman and Shafer, "Algorithmic
// Learning in a Random World", 2005).
func given(before evidence.ErrorRange, rows []served) evidence.ErrorRange {
	shapes := map[string]bool{}
	deviations := make([]float64, len(rows))
	for i := range rows {
		shapes[rows[i].shape()] = true
		deviations[i] = rows[i].deviation
	}
	n := float64(len(shapes))
	if n == 0 {
		return before
	}
	slices.Sort(deviations)
	median := Quantile(deviations, 0.5)
	own := evidence.ErrorRange{Bias: (float64(n*median) + before.Bias) / (n + 1)}
	own.Within = spreadOf(deviations, own.Bias, min(1, intervalLevel*(n+1)/n))
	own.Within = between(before, own, n/(n+widthWorth)).Within
	return own
}

// spreadOf returns the distance from a bias that the given share of deviations does not exceed.
func spreadOf(deviations []float64, bias, share float64) float64 {
	far := make([]float64, len(deviations))
	for i, d := range deviations {
		far[i] = math.Abs(d - bias)
	}
	slices.Sort(far)
	rank := min(len(far), max(1, int(math.Ceil(share*float64(len(far))-1e-9))))
	return max(leastWithin, far[rank-1])
}

// server is a server and a quantity with measured rows.
type server struct {
	Key      servers.Key
	Quantity string
}

// serversOf returns the rows of each server and quantity, in the order of their keys.
func serversOf(rows []served) (list []server, of map[server][]served) {
	of = map[server][]served{}
	for i := range rows {
		s := server{rows[i].Key, rows[i].quantity}
		if of[s] == nil {
			list = append(list, s)
		}
		of[s] = append(of[s], rows[i])
	}
	return list, of
}

// Errors returns the errors of each server of the report, as they are.
func (r *Report) Errors() []evidence.Error {
	return r.errorsOf(func(_ server, rows []served) evidence.ErrorRange {
		deviations := make([]float64, len(rows))
		for i := range rows {
			deviations[i] = rows[i].deviation
		}
		slices.Sort(deviations)
		bias := Quantile(deviations, 0.5)
		return evidence.ErrorRange{Bias: bias, Within: spreadOf(deviations, bias, intervalLevel)}
	})
}

// Known returns the errors of each server that was measured, as evidence has them: with where
// further rows of it lie.
func (r *Report) Known() []evidence.Error {
	return r.errorsOf(func(s server, rows []served) evidence.ErrorRange {
		return given(evidence.Unmeasured(s.Key, s.Quantity), rows)
	})
}

func (r *Report) errorsOf(off func(server, []served) evidence.ErrorRange) []evidence.Error {
	var list []evidence.Error
	order, of := serversOf(r.served(false))
	for _, s := range order {
		rows := of[s]
		e := evidence.Error{Key: s.Key, Quantity: s.Quantity, Rows: len(rows), Range: off(s, rows)}
		var errors []float64
		for i := range rows {
			errors = append(errors, math.Abs(rows[i].Error()))
			if v := rows[i].Version; v != "" && !slices.Contains(e.Versions, v) {
				e.Versions = append(e.Versions, v)
			}
		}
		slices.Sort(errors)
		slices.Sort(e.Versions)
		e.Median = Quantile(errors, 0.5)
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b evidence.Error) int {
		return cmp.Compare(a.Record(), b.Record())
	})
	return list
}

// Factor returns by how much the ranges around servers have to be widened to hold four in five of
// what was measured of servers that were left out of the fit, each counting the same.
func Factor(list []evidence.Error, quantity string) (factor float64, count int) {
	near := evidence.NeighboursOf(list)[quantity]
	var needed []float64
	for i := range list {
		e := &list[i]
		if e.Quantity != quantity {
			continue
		}
		count++
		around := evidence.FromNeighbours(e.Key, near)
		for _, x := range e.Range.Points() {
			if around.Within > 0 {
				needed = append(needed, math.Abs(x-around.Bias)/around.Within)
			}
		}
	}
	if len(needed) == 0 {
		return 1, 0
	}
	slices.Sort(needed)
	return Quantile(needed, intervalLevel), count
}

// BesideMeans returns by how much 99th percentiles of a latency are off beside the means of the
// same rows, and the number of rows: four in five are off by Bias ± Within more than the mean.
func (r *Report) BesideMeans(latency string) (beside evidence.ErrorRange, rows int) {
	type place struct {
		file string
		line int
	}
	means := map[place]float64{}
	deviation := func(c *Comparison) float64 { return math.Log(c.Measured / c.Predicted) }
	named := func(statistic string) []Comparison {
		return r.Rows(func(c *Comparison) bool {
			return c.Quantity == latency+statistic && c.Measured > 0 && c.Predicted > 0
		})
	}
	for _, c := range named(" mean") {
		means[place{c.File, c.Line}] = deviation(&c)
	}
	var list []float64
	for _, c := range named(" p99") {
		if mean, known := means[place{c.File, c.Line}]; known {
			list = append(list, deviation(&c)-mean)
		}
	}
	if len(list) == 0 {
		return beside, 0
	}
	slices.Sort(list)
	low, high := Quantile(list, (1-intervalLevel)/2), Quantile(list, (1+intervalLevel)/2)
	return evidence.ErrorRange{Bias: (low + high) / 2, Within: (high - low) / 2}, len(list)
}
