package accuracy

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Reliability says how often ranges of one kind hold what was measured of one quantity: of the rows
// of a table, or of an engine where Table is empty.
type Reliability struct {
	// Class says what ranges rest on that are made without the rows and without their group: on the
	// other half of the server's rows, on other servers, or on other releases. It is empty for the
	// rows of the report in the ranges that results have, which rest on these rows, too.
	Class    evidence.Class `json:"left_out,omitempty"`
	Table    string         `json:"table,omitempty"`
	Engine   string         `json:"engine,omitempty"`
	Quantity string         `json:"quantity"`
	// Rows and Servers count what was measured. Inside is the share in the ranges of 80 %, each
	// server counting the same.
	Rows    int     `json:"rows"`
	Servers int     `json:"servers"`
	Inside  float64 `json:"inside"`
	// Score is the interval score over that of the best single width; 0 for the ranges of results.
	Score float64 `json:"score,omitempty"`
}

// shown returns the rows of the report as samples in the ranges of results, with no class.
func (r *Report) shown() []Sample {
	var list []Sample
	for _, s := range r.served() {
		e := s.evidence()
		list = append(list, Sample{server: server{s.Key, s.quantity}, Table: s.Table,
			off: s.deviation, held: e.Spread.Of(s.quantity, 0)})
	}
	weigh(list)
	return list
}

// Judged returns the rows of the report in the ranges of results, and as samples that were left out
// in the ranges that other groups ask for.
func (r *Report) Judged() []Sample {
	list := r.Samples(evidence.Calibrated().Kernels)
	Calibrate(list, nil)
	return append(r.shown(), list...)
}

// reliability says of each class, table and quantity, and of each engine, how often ranges hold
// what was measured.
func reliability(all []Sample) []Reliability {
	type part struct{ table, engine string }
	parts := map[Reliability][]Sample{}
	for i := range all {
		s := &all[i]
		for _, p := range []part{{table: s.Table}, {engine: engines.Of(s.Key.Engine)}, {}} {
			k := Reliability{Class: s.Class, Table: p.table, Engine: p.engine, Quantity: s.Quantity}
			parts[k] = append(parts[k], *s)
		}
	}
	var list []Reliability
	everything := func(*Sample) bool { return true }
	for k, samples := range parts {
		seen := map[server]bool{}
		for i := range samples {
			seen[samples[i].server] = true
		}
		weigh(samples)
		k.Rows, k.Servers, k.Inside = len(samples), len(seen), Inside(samples, everything)
		if k.Class != "" {
			k.Score = Score(samples, everything)
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Reliability) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Table, b.Table),
			cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Quantity, b.Quantity))
	})
	return list
}

// Calibrated reports whether ranges hold the share of values that they are to hold.
func Calibrated(share float64) bool { return share >= 0.75 && share <= 0.85 }

// ByChance reports whether a share of servers' values may differ from what ranges are to hold as it
// does because servers are few: fewer than five, or by two standard deviations at most.
func ByChance(share float64, servers int) bool {
	return servers < 5 || math.Abs(share-intervalLevel) <=
		2*math.Sqrt(intervalLevel*(1-intervalLevel)/float64(servers))
}

// verdict says in words how often ranges hold.
func (k *Reliability) verdict() string {
	switch {
	case Calibrated(k.Inside):
		return ""
	case ByChance(k.Inside, k.Servers):
		return "few"
	case k.Inside < intervalLevel:
		return "too narrow"
	}
	return "too wide"
}

// classWords says what rows the ranges of a class are held to.
var classWords = map[evidence.Class]string{
	"": "rows above, in the ranges of results, which rest on them too",
	evidence.Same: "halves of the rows of an engine, GPU and model left out of the fit, beside " +
		"the other half",
	evidence.Other:   "servers left out of the fit with all of their engine, GPU and model",
	evidence.Outside: "releases left out of the fit with all within a few months",
}

// writeReliability prints how often ranges hold what was measured.
func writeReliability(b *bytes.Buffer, list []Reliability) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "Ranges of results are to hold %.0f %% of what is measured. Each server counts "+
		"the same. Below, ranges of rows left out of the fit have constants that come from other "+
		"groups; a score of 1 is what the best single width for all rows has, less is better; "+
		"few: what so few servers hold by chance\n", 100*intervalLevel)
	var class *evidence.Class
	for i := range list {
		k := &list[i]
		if class == nil || *class != k.Class {
			class = &k.Class
			fmt.Fprintf(b, "  %s\n  %-28s %-6s %6s %8s %8s %6s\n", classWords[k.Class],
				"table or engine", "of", "rows", "servers", "inside", "score")
		}
		score := ""
		if k.Score > 0 {
			score = fmt.Sprintf("%.2f", k.Score)
		}
		line := fmt.Sprintf("  %-28s %-6s %6d %8d %6.0f %% %6s  %s",
			cmp.Or(k.Table, k.Engine, "all"), k.Quantity, k.Rows, k.Servers, 100*k.Inside, score,
			k.verdict())
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteByte('\n')
}

// ReliabilityPlots draws how often ranges hold what was measured, by table.
func (r *Report) ReliabilityPlots() (map[string]*plot.Plot, error) {
	var byTable []plots.Series
	var names []string
	at := map[string]int{}
	for _, k := range reliability(r.Judged()) {
		if k.Table == "" {
			continue
		}
		if _, seen := at[k.Table]; !seen {
			at[k.Table] = len(names)
			names = append(names, k.Table)
		}
		name := strings.TrimSpace(cmp.Or(string(k.Class), "as shown") + " " + k.Quantity)
		i := slices.IndexFunc(byTable, func(s plots.Series) bool { return s.Name == name })
		if i < 0 {
			i = len(byTable)
			byTable = append(byTable, plots.Series{Name: name})
		}
		byTable[i].X = append(byTable[i].X, float64(at[k.Table]))
		byTable[i].Y = append(byTable[i].Y, 100*k.Inside)
	}
	if len(byTable) == 0 {
		return nil, nil
	}
	tables, err := (&plots.Curves{Title: "Measured values in ranges of 80 %", X: "table",
		Y: "share in the range (%)", Series: byTable, Names: names, Points: true, Percent: true,
		Limit: 80, LimitName: "80 %, as it should be"}).Draw()
	return map[string]*plot.Plot{"reliability_by_table": tables}, err
}

// Bias is the median error, in percent of what was measured, of a metric of servers that have
// something in common. Each server counts the same, with the median of its rows.
type Bias struct {
	// Of is the engine, the accelerator, the kind of model or the load.
	Of, Metric string
	Servers    int
	// Fit is under the constants that ship, and LeftOut under constants that were fitted without
	// any row of the same engine, accelerator and model.
	Fit, LeftOut float64
}

// Biases returns the biases of that many servers or more, of the rows that a fit left out once.
func (r *Report) Biases(least int) ([]Bias, error) {
	known, err := models.Load()
	if err != nil {
		return nil, err
	}
	type part struct{ of, metric string }
	type server struct{ fit, left []float64 }
	parts := map[part]map[servers.Key]server{}
	for _, s := range r.served() {
		left := s.leftOut()
		if left == nil {
			continue
		}
		for _, of := range []string{engines.Of(s.Key.Engine), s.Key.Accelerator,
			kindOf(known, s.Key.Model), loadOf(s.Load.Users)} {
			p := part{of, s.quantity}
			if parts[p] == nil {
				parts[p] = map[servers.Key]server{}
			}
			one := parts[p][s.Key]
			parts[p][s.Key] = server{append(one.fit, s.deviation), append(one.left, *left.Group)}
		}
	}
	var list []Bias
	for p, of := range parts {
		var all server
		for _, one := range of {
			all.fit = append(all.fit, median(one.fit))
			all.left = append(all.left, median(one.left))
		}
		sign := -1.0 // of logarithms of the measured over the predicted time
		if p.metric == evidence.Rate {
			sign = 1
		}
		if len(of) >= least {
			list = append(list, Bias{p.of, p.metric, len(of),
				100 * math.Expm1(sign*median(all.fit)), 100 * math.Expm1(sign*median(all.left))})
		}
	}
	slices.SortFunc(list, func(a, b Bias) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Metric, b.Metric))
	})
	return list, nil
}

func kindOf(known *models.Catalog, model string) string {
	if m, err := known.Lookup(model); err == nil && m.Experts() != nil {
		return "models with experts"
	}
	return "dense models"
}

func loadOf(users float64) string {
	loads := []string{"up to 8 users", "9 to 64 users", "more than 64 users"}
	at, _ := slices.BinarySearch([]float64{8, 64}, users)
	return loads[at]
}
