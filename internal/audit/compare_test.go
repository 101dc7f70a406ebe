package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// The figures of each side of a comparison are the means over its seeds of what `llmsim scenario`
// gives for that side and seed: of the requests that are left after the warm-up, and where nothing
// is left out, of the result itself. Differences are those of the figures.
func TestComparisonsAreOfScenarios(t *testing.T) {
	registry, n, from := policies.Default(), testkit.Cases(60), firstSeed()
	compared, whole := 0, 0
	for seed := from; seed < from+uint64(n); seed++ {
		var sides []object
		for of := seed; len(sides) < 2 && of < seed+20; of += 7 {
			s := drawScenario(registry, of)
			if _, err := repair(&drawer{of, registry}, s); err == nil {
				sides = append(sides, s)
			}
		}
		if len(sides) < 2 {
			continue
		}
		l := &laws{}
		nothingLeftOut, err := compareSides(l, registry, sides)
		if errors.Is(err, errLong) || err != nil && scenarios.IsInputError(err) {
			continue
		}
		l.that(err == nil, "%v", err)
		if compared++; nothingLeftOut {
			whole++
		}
		if len(l.wrong) > 0 {
			t.Errorf("scenario %d: %s\nand %s\n%s", seed, text(sides[0]), text(sides[1]),
				strings.Join(l.wrong, "\n"))
		}
	}
	t.Logf("%d of %d pairs were compared, %d without a warm-up", compared, n, whole)
	if compared < n/2 || whole == 0 && n >= 60 {
		t.Errorf("only %d of %d pairs were compared, %d without a warm-up", compared, n, whole)
	}
}

// replications is the number of seeds of a comparison.
const replications = 2

// compareSides holds a comparison of scenarios against runs of each. It reports whether no requests
// were left out.
func compareSides(l *laws, registry *policies.Registry, sides []object) (whole bool, err error) {
	defer panics(&err)
	seed := uint64(0)
	if given, known := plainJSON(text(sides[0]))["seed"].(float64); known {
		seed = uint64(given)
	}
	runs := make([][]*run, len(sides))
	var variants []compare.Variant
	var results []*scenarios.Result
	for i, s := range sides {
		for k := range uint64(replications) {
			of := copied(s)
			of["seed"] = seed + k
			r, err := execute(registry, of, 1, false)
			if err != nil {
				return false, err
			}
			runs[i], results = append(runs[i], r), append(results, r.result)
		}
		variants = append(variants, compare.Variant{Label: fmt.Sprint(i), Name: "audit.json",
			Load: func() (*scenarios.File, error) { return parse(s, 1) }})
	}
	c, err := compare.Run(context.Background(), variants, compare.Options{
		Replications: replications, Confidence: 0.95, Workers: 1, NoInterval: true})
	if err != nil {
		return false, err
	}
	for i := range runs {
		runs[i] = runs[i][:c.Replications]
	}
	var out bytes.Buffer
	l.that(doc.Print(&out, c.Blocks(nil)) == nil, "the comparison is not printed")
	l.words("compare", strings.ReplaceAll(out.String(), "∞", ""))
	// What is shown beside each other has one denominator of prices. Where a single change makes
	// the load's rate none, all prices are of whole runs.
	if scenarios.PriceAlike(results...); slices.ContainsFunc(c.Variants, pricedWhole(runs)) {
		for _, r := range results {
			r.PriceWholeRun()
		}
	}
	for i := range c.Variants {
		v := &c.Variants[i]
		met := 0.0
		for _, r := range runs[i] {
			if r.result.SLOMet {
				met++
			}
		}
		l.same("share of runs that keep the SLO", v.SLOMet, met/float64(c.Replications), 0)
		for j := range v.Figures {
			f := &v.Figures[j]
			sum, slack := 0.0, 0.0
			for _, r := range runs[i] {
				x, off := afterWarmUp(r, f.Name, c.WarmUp)
				sum, slack = sum+x/float64(c.Replications), slack+off
			}
			name := fmt.Sprintf("side %d: %s", i, f.Name)
			l.that(math.IsNaN(sum) == f.Value.IsZero() || sum == 0, "%s is %v, want %v", name,
				f.Value, sum)
			if math.IsNaN(sum) {
				continue
			}
			l.same(name, f.Value.Mean, sum, slack)
			if first := &c.Variants[0].Figures[j]; !f.Difference.IsZero() {
				l.same(name+": difference", f.Difference.Mean, f.Value.Mean-first.Value.Mean,
					1e-9*math.Abs(f.Value.Mean)+1e-9)
			}
			if c.WarmUp == 0 {
				l.ofResult(name, f, runs[i])
			}
		}
	}
	return c.WarmUp == 0, nil
}

// pricedWhole reports whether a side has another price than its runs have by themselves.
func pricedWhole(runs [][]*run) func(compare.Outcome) bool {
	return func(v compare.Outcome) bool {
		i, err := strconv.Atoi(v.Label)
		fatal(err)
		const name = "cost_per_million_output_tokens"
		price := 0.0
		for _, r := range runs[i] {
			price += r.result.CostPerMillion / float64(len(runs[i]))
		}
		j := slices.IndexFunc(v.Figures, func(f compare.Figure) bool { return f.Name == name })
		return math.Abs(v.Figures[j].Value.Mean-price) > rounding*price
	}
}

// ofResult holds a figure of a comparison that leaves nothing out against those of results.
func (l *laws) ofResult(name string, f *compare.Figure, runs []*run) {
	m, scale := scenarios.MetricNamed(f.Name), 1.0
	switch {
	case f.Name == "output_throughput" || strings.HasPrefix(f.Name, "p99_"):
		return // counted while requests arrive; quantiles of few requests are interpolated
	case f.Name == "slo_attainment":
		scale = 100
	}
	sum := 0.0
	for _, r := range runs {
		sum += scale * m.Of(r.result) / float64(len(runs))
	}
	l.same(name+" of the result", f.Value.Mean, sum, 0)
}

// afterWarmUp returns a figure of a run without the first requests, and by how much the digits of
// requests.csv may change it. It is NaN where there is no such figure.
func afterWarmUp(r *run, name string, drop int) (value, slack float64) {
	rows := readRows(r.csv)
	slices.SortFunc(rows, func(a, b row) int { return int(a.id - b.id) })
	rows = rows[min(drop, len(rows)/2):]
	lists, kept, unsure, last := map[string][]float64{}, 0.0, 0.0, 0.0
	for i := range rows {
		q := &rows[i]
		last = max(last, q.arrival)
		cut := q.status == "cut"
		if q.status != "completed" && !cut {
			continue
		}
		lists["ttft"] = append(lists["ttft"], q.ttft)
		if !cut {
			lists["e2el"] = append(lists["e2el"], q.e2e)
		}
		if q.output > 1 && q.tpot > 0 {
			lists["tpot"] = append(lists["tpot"], q.tpot)
		}
		yes, tie := judged(r, q)
		if yes {
			kept++
		}
		if tie {
			unsure++
		}
	}
	requests := float64(max(1, len(rows)))
	switch name {
	case "slo_attainment":
		return 100 * kept / requests, 100 * unsure / requests
	case "output_throughput":
		if len(rows) == 0 || last <= rows[0].arrival {
			return r.result.OutputThroughput, 0
		}
		tokens, tied := 0.0, 0.0
		first := rows[0].arrival // requests from before the window may end within it
		for _, q := range readRows(r.csv) {
			if done := q.arrival + q.e2e/1000; q.e2e > 0 {
				if first <= done && done < last {
					tokens += float64(q.output)
				}
				if math.Abs(done-last) < 1e-8 || math.Abs(done-first) < 1e-8 {
					tied += float64(q.output)
				}
			}
		}
		switch { // the whole run counts if no answer ends within the window
		case tied > 0 && tokens <= tied: // whether one of the ties does is not known
			return 0, math.Inf(1)
		case tokens == 0:
			return r.result.OutputThroughput, 0
		}
		return tokens / (last - first), tied/(last-first) + 1e-6*tokens
	case "cost_per_million_output_tokens":
		if r.result.Cost == 0 {
			return math.NaN(), 0
		}
	case "p99_itl_ms":
		if len(lists["tpot"]) == 0 {
			return math.NaN(), 0
		}
	default:
		which, latency, _ := strings.Cut(strings.TrimSuffix(name, "_ms"), "_")
		list, known := lists[latency]
		switch {
		case !strings.HasSuffix(name, "_ms"):
		case !known:
			return math.NaN(), 0
		case which == "mean":
			return stat.Mean(list, nil), csvRounding
		default:
			slices.Sort(list)
			return stat.Quantile(0.99, stat.LinInterp, list, nil), csvRounding
		}
	}
	return scenarios.MetricNamed(name).Of(r.result), 0
}
