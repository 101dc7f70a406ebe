package validation

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// intervalLevel is the share of measurements that ranges of results are to hold.
const intervalLevel = 0.8

// served is a measured latency of a server, or what stands for one, with the logarithm of the
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
	switch c.Quantity {
	case "TTFT mean", "first token", "prompt":
		return "TTFT", false
	case "TPOT mean", "token p50", "token":
		return "TPOT", false
	case "TTFT p50", "TPOT p50":
		if hasMedians[c.Table] {
			return quantityFamily(c.Quantity), false
		}
	case "prefill rate":
		return "TTFT", true
	case "decode rate":
		return "TPOT", true
	}
	return "", false
}

// hasMedians are the tables that have medians rather than means.
var hasMedians = map[string]bool{"silicon_app": true, "sglang_cookbook": true,
	"accelerators_other": true}

// unsettled are tables that are compared, and to which no constants were fitted so far: ranges do
// not rest on their errors.
var unsettled = map[string]bool{"silicon_app": true, "sglang_cookbook": true,
	"accelerators_other": true, "llama_cpp_batched": true, "kv_reuse": true, "vllm_unique": true,
	"vllm_steps": true}

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
			if c.Key.Engine == "" || unsettled[c.Table] || quantity == "" || c.Predicted <= 0 ||
				c.Measured <= 0 {
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

// together are rows that are left out together: those of an engine, an accelerator and a model.
type together struct{ engine, gpu, model string }

func (s *served) together() together {
	return together{s.Key.Engine, s.Key.Accelerator, s.Key.Model}
}

// Where little was measured of a server or a pool, what is known of more counts too: as much as so
// many servers do for a pool, and as the same number of rows do for the width of a server's range.
// For its bias it counts as one row.
const (
	poolWorth  = 3
	widthWorth = 2
)

// calibration finds the ranges that hold four in five of the rows that it has.
type calibration struct{ rows []served }

// chosen are rows, each with a weight so that every server counts the same, by deviation.
type chosen struct {
	rows []served
	// of counts the rows of each server.
	of map[any]float64
}

func (c *calibration) choose(fits func(*served) bool) chosen {
	list := chosen{of: map[any]float64{}}
	for i := range c.rows {
		if s := &c.rows[i]; fits(s) {
			list.rows = append(list.rows, *s)
			list.of[s.Key]++
		}
	}
	return list
}

// quantile returns the weighted quantile of what each row has.
func (c *chosen) quantile(p float64, of func(*served) float64) float64 {
	type point struct{ x, weight float64 }
	points, total := make([]point, len(c.rows)), 0.0
	for i := range c.rows {
		points[i] = point{of(&c.rows[i]), 1 / c.of[c.rows[i].Key]}
		total += points[i].weight
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	sum := 0.0
	for _, x := range points {
		if sum += x.weight; sum >= p*total*(1-1e-12) {
			return x.x
		}
	}
	return 0
}

// off returns where the rows lie; false where there are none.
func (c *chosen) off() (evidence.Off, bool) {
	if len(c.rows) == 0 {
		return evidence.Off{}, false
	}
	bias := c.quantile(0.5, func(s *served) float64 { return s.deviation })
	within := c.quantile(intervalLevel,
		func(s *served) float64 { return math.Abs(s.deviation - bias) })
	return evidence.Off{Bias: bias, Within: max(within, leastWithin)}, true
}

// leastWithin is the narrowest range, to each side.
const leastWithin = 0.01

// pool returns the pool of an engine and kind of model, where an empty one stands for all, without
// some rows. What is known of a larger one counts as much as poolWorth groups of rows do.
func (c *calibration) pool(engine, experts, quantity string, without *together) evidence.Pool {
	rows := c.choose(func(s *served) bool {
		return s.quantity == quantity && (engine == "" || s.Key.Engine == engine) &&
			(experts == "" || evidence.Experts(s.Key.Model) == experts) &&
			(without == nil || s.together() != *without)
	})
	p := evidence.Pool{Engine: engine, Experts: experts, Quantity: quantity, Rows: len(rows.rows),
		Servers: len(rows.of)}
	own, known := rows.off()
	if p.Off = own; engine == "" {
		return p
	}
	larger := c.pool("", "", quantity, without)
	if experts != "" {
		larger = c.pool(engine, "", quantity, without)
	}
	if p.Off = larger.Off; known {
		groups := map[together]bool{}
		for i := range rows.rows {
			groups[rows.rows[i].together()] = true
		}
		part := float64(len(groups)) / float64(len(groups)+poolWorth)
		p.Off = between(larger.Off, own, part)
	}
	return p
}

// between returns what lies a part of the way from one to another.
func between(from, to evidence.Off, part float64) evidence.Off {
	return evidence.Off{
		Bias: float64((1-part)*from.Bias) + float64(part*to.Bias),
		Within: math.Exp(float64((1-part)*math.Log(from.Within)) +
			float64(part*math.Log(to.Within))),
	}
}

// before returns what is known of a row's server without its rows and those of its engine,
// accelerator and model.
func (c *calibration) before(s *served) evidence.Off {
	group := s.together()
	return c.pool(s.Key.Engine, evidence.Experts(s.Key.Model), s.quantity, &group).Off
}

// given returns where rows of a server lie of which some deviations are known, and what was known
// before. Of n of them that are no different from the next one, the one of rank 0.8·(n+1) is not
// exceeded by it in 80 of 100 cases (Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random
// World", 2005).
func given(before evidence.Off, deviations []float64) evidence.Off {
	n := float64(len(deviations))
	if n == 0 {
		return before
	}
	sorted := slices.Sorted(slices.Values(deviations))
	own := evidence.Off{Bias: (float64(n*quantile(sorted, 0.5)) + before.Bias) / (n + 1)}
	for i, d := range deviations {
		sorted[i] = math.Abs(d - own.Bias)
	}
	slices.Sort(sorted)
	rank := min(len(sorted), int(math.Ceil(intervalLevel*(n+1)-1e-9)))
	own.Within = max(leastWithin, sorted[rank-1])
	own.Within = between(before, own, n/(n+widthWorth)).Within
	return own
}

// server is a server and a quantity of which rows were measured.
type server struct{ key, quantity any }

// servers returns the rows of each server and quantity, by place.
func (c *calibration) servers() map[server][]int {
	list := map[server][]int{}
	for i := range c.rows {
		s := server{c.rows[i].Key, c.rows[i].quantity}
		list[s] = append(list[s], i)
	}
	return list
}

// Known returns the errors of each server that was measured, as evidence has them.
func (r *Report) Known() []evidence.Error {
	c := calibration{r.served(false)}
	var list []evidence.Error
	for _, places := range c.servers() {
		first := &c.rows[places[0]]
		e := evidence.Error{Key: first.Key, Quantity: first.quantity, Rows: len(places)}
		var errors, deviations []float64
		for _, i := range places {
			errors = append(errors, math.Abs(c.rows[i].Error()))
			deviations = append(deviations, c.rows[i].deviation)
		}
		slices.Sort(errors)
		before := c.before(first)
		e.Median, e.Off = quantile(errors, 0.5), given(before, deviations)
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b evidence.Error) int {
		return cmp.Compare(a.Record(), b.Record())
	})
	return list
}

// Pools returns how far predictions were off by engine and kind of model.
func (r *Report) Pools() []evidence.Pool {
	c := calibration{r.served(false)}
	kinds := map[[2]string]bool{{}: true}
	for i := range c.rows {
		k := &c.rows[i].Key
		kinds[[2]string{k.Engine, ""}] = true
		kinds[[2]string{k.Engine, evidence.Experts(k.Model)}] = true
	}
	var list []evidence.Pool
	for _, k := range slices.SortedFunc(maps.Keys(kinds), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		for _, quantity := range []string{"TPOT", "TTFT"} {
			if p := c.pool(k[0], k[1], quantity, nil); p.Rows > 0 {
				list = append(list, p)
			}
		}
	}
	return list
}
