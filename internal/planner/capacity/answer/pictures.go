//go:build !js

package answer

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
)

// Page writes the answers as a page with pictures, which needs no other file.
func (a *Answers) Page(w io.Writer) error {
	var p doc.Blocks
	title := a.Name
	for _, answer := range a.Models {
		if title == "" {
			title = answer.Model
		}
		list, _ := answer.page(Short, len(a.Models) > 1).blocks(unlimited)
		p = append(p, list...)
		pictures, err := answer.pictures()
		if err != nil {
			return err
		}
		p = append(p, pictures...)
		p = append(append(p, heading("What was looked at")...), answer.tables()...)
		p = append(p, answer.search()...)
	}
	return p.Page(w, title)
}

// seriesOf returns a series with a point for each element of a list.
func seriesOf[E any](name string, list []E, at func(*E) (x, y float64)) plots.Series {
	s := plots.Series{Name: name}
	for i := range list {
		x, y := at(&list[i])
		s.X, s.Y = append(s.X, x), append(s.Y, y)
	}
	return s
}

// pictures are what the answer's figures look like.
func (a *Answer) pictures() (list doc.Blocks, err error) {
	for _, draw := range []func() (string, *plot.Plot, error){a.drawKept, a.drawLatency,
		a.drawJobs, a.drawCost, a.drawMonths, a.drawPaid} {
		words, p, err := draw()
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		svg, err := plots.SVG(p)
		if err != nil {
			return nil, err
		}
		list = append(list, texts(words)...)
		list.Picture(svg)
	}
	return list, nil
}

// of returns the load of a point as it is drawn.
func (p *LoadPoint) of() float64 {
	switch {
	case p.Users > 0:
		return float64(p.Users)
	case p.Share > 0:
		return 100 * p.Share
	}
	return p.Rate
}

// load returns the load of the chosen fleet as it is drawn, the name of its axis, and what says one
// in words.
func (a *Answer) load() (here float64, axis string, words func(load float64) string) {
	switch d := a.Chosen; {
	case d.Users > 0:
		return float64(a.Chosen.Users), "users", func(n float64) string {
			return units.Plural(int(n), "user")
		}
	case len(d.Curve) > 0 && d.Curve[0].Share > 0:
		return 100, "load (% of the asked one)", func(percent float64) string {
			return units.Percent(percent/100) + " of the load"
		}
	}
	return a.Rate, "requests/s", units.FigureOfRate
}

// drawKept draws the share of requests that meet the SLO against the load.
func (a *Answer) drawKept() (string, *plot.Plot, error) {
	d := a.Chosen
	if d == nil || len(d.Curve) == 0 {
		return "", nil, nil
	}
	load, axis, named := a.load()
	most, last := 0.0, d.Curve[len(d.Curve)-1].of()
	kept := seriesOf(d.running(), d.Curve, func(p *LoadPoint) (x, y float64) {
		if p.Met {
			most = max(most, p.of())
		}
		return p.of(), 100 * p.Kept
	})
	here := plots.Series{Name: "the load", X: []float64{load}, Y: []float64{100 * d.Kept}}
	title := "The fleet meets the SLO up to " + named(most)
	switch most {
	case last:
		title += ", the highest load simulated"
	case 0:
		title = "At no load does the fleet meet the SLO"
	}
	c := plots.Curves{Title: title, X: axis, Y: "requests within the SLO (%)",
		Series: []plots.Series{kept, here}, Percent: true,
		Limit: a.SLO.Percentile, LimitName: "what the SLO asks"}
	p, err := c.Draw()
	words := "All replicas up, with steps as predicted, the fleet meets the SLO at "
	asked := "; the load is " + named(load) + "."
	if d.Curve[0].Share > 0 {
		asked = "."
	}
	switch most {
	case 0:
		words = fmt.Sprintf("At no load that was simulated, from %s, does the fleet meet the "+
			"SLO.", named(d.Curve[0].of()))
	case last:
		words += named(most) + ", the highest of the loads that were simulated" + asked
	default:
		words += named(most) + ", and not at the next load that was simulated" + asked
	}
	return words, p, err
}

// drawLatency draws the latencies of the fleet against the load.
func (a *Answer) drawLatency() (string, *plot.Plot, error) {
	d := a.Chosen
	if d == nil || len(d.Curve) == 0 {
		return "", nil, nil
	}
	_, axis, named := a.load()
	series := []plots.Series{
		seriesOf("TTFT p99", d.Curve, func(p *LoadPoint) (x, y float64) { return p.of(), p.TTFT }),
		seriesOf("TPOT p99", d.Curve, func(p *LoadPoint) (x, y float64) { return p.of(), p.TPOT })}
	first, last := d.Curve[0], d.Curve[len(d.Curve)-1]
	p, err := plots.Tradeoff(fmt.Sprintf("p99 TTFT goes from %s to %s ms", units.Figure(first.TTFT),
		units.Figure(last.TTFT)), axis, "latency", series, 0, "")
	return fmt.Sprintf("From %s to %s the 99th percentile of TTFT goes from %s to %s ms, of "+
		"TPOT from %s to %s ms.", named(first.of()), named(last.of()), units.Figure(first.TTFT),
		units.Figure(last.TTFT), units.Figure(first.TPOT), units.Figure(last.TPOT)), p, err
}

// drawJobs draws what a job costs against when it is done, for each fleet that is in time.
func (a *Answer) drawJobs() (string, *plot.Plot, error) {
	if len(a.Jobs) == 0 {
		return "", nil, nil
	}
	at := func(j *JobDone) (x, y float64) { return j.Hours, j.Dollars }
	best := a.Jobs[0]
	price := units.Currency(a.Currency).Cents(best.Dollars)
	p, err := plots.Cloud("The cheapest fleet does the job for "+price, "hours until it is done",
		"price of the job ("+a.money("")+")", seriesOf("other fleets in time", a.Jobs[1:], at),
		[]plots.Series{seriesOf("the answer", a.Jobs[:1], at)})
	return fmt.Sprintf("The answer does the job in %s hours for %s, with slow steps.",
		units.Figure(best.Hours), price), p, err
}

// drawCost draws what fleets cost against the load.
func (a *Answer) drawCost() (string, *plot.Plot, error) {
	if len(a.PriceCurves) == 0 {
		return "", nil, nil
	}
	load, axis, named := a.load()
	here := plots.Series{Name: "the answer", X: []float64{load}, Y: []float64{a.Chosen.Hourly}}
	series := []plots.Series{here}
	cheapest := map[string]bool{}
	for _, c := range a.PriceCurves {
		series = append(series, seriesOf(c.Label, c.Points, func(p *PricePoint) (x, y float64) {
			if a.cheapestAt(p.of()) == c.Label {
				cheapest[c.Label] = true
			}
			return p.of(), p.Hourly
		}))
	}
	words := ""
	if len(a.PriceCurves) > 1 {
		words = " No other of these kinds is cheaper at any of the loads."
	}
	if first := a.PriceCurves[0]; len(cheapest) > 1 || !cheapest[first.Label] {
		var at []string
		for _, p := range first.Points {
			if label := a.cheapestAt(p.of()); label != first.Label {
				at = append(at, fmt.Sprintf("%s at %s", label, named(p.of())))
			}
		}
		words = " Cheaper are: " + strings.Join(at, ", ") + "."
	}
	title := "The cheapest kind depends on the load"
	if len(a.PriceCurves) == 1 {
		title = "Price of " + a.PriceCurves[0].Label
	} else if len(cheapest) == 1 {
		title = "At each load, the cheapest are " + slices.Collect(maps.Keys(cheapest))[0]
	}
	c := plots.Curves{Title: title, X: axis, Y: "price (" + a.money("/h") + ")",
		Series: series}
	p, err := c.Draw()
	return "Each mark is the smallest fleet that keeps the SLO in simulations, spares down." +
		words, p, err
}

// of returns the load of a point as it is drawn.
func (p *PricePoint) of() float64 { return max(p.Rate, float64(p.Users)) }

// cheapestAt is the kind whose fleet costs least at a load; of equal prices the first.
func (a *Answer) cheapestAt(load float64) string {
	label, least := "", math.Inf(1)
	for _, c := range a.PriceCurves {
		for _, p := range c.Points {
			if p.of() == load && p.Hourly < least {
				label, least = c.Label, p.Hourly
			}
		}
	}
	return label
}

// drawMonths draws the replicas of each kind over the months of a horizon.
func (a *Answer) drawMonths() (string, *plot.Plot, error) {
	h := a.Horizon
	if h == nil || len(h.Rentals) == 0 {
		return "", nil, nil
	}
	var series []plots.Series
	for _, k := range h.Kinds {
		month := 0.0
		series = append(series, seriesOf(k.Label, k.Replicas, func(n *int) (x, y float64) {
			month++
			return month, float64(*n)
		}))
	}
	series = append(series, h.drawMixed()...)
	c := plots.Curves{Title: "Replicas that the load of each month needs", X: "month",
		Y: "replicas", Series: series}
	p, err := c.Draw()
	return fmt.Sprintf("Over %d months the cheapest schedule costs %s.", h.Months,
		a.whole(h.Cost)), p, err
}

// drawMixed returns the replicas of either kind while two serve at once.
func (h *Horizon) drawMixed() []plots.Series {
	if len(h.Mixed) == 0 {
		return nil
	}
	older := plots.Series{Name: h.Mixed[0].Older + ", of two"}
	newer := plots.Series{Name: h.Mixed[0].Newer + ", of two"}
	for _, f := range h.Mixed {
		for m := f.From; m <= f.To; m++ {
			older.X, older.Y = append(older.X, float64(m)), append(older.Y, float64(f.Kept))
			newer.X, newer.Y = append(newer.X, float64(m)), append(newer.Y, float64(f.Added))
		}
	}
	return []plots.Series{older, newer}
}

// drawPaid draws what is paid in each month of a horizon, and after it for what is committed.
func (a *Answer) drawPaid() (string, *plot.Plot, error) {
	h := a.Horizon
	if h == nil || len(h.Rentals) == 0 {
		return "", nil, nil
	}
	all := h.paid("")
	series := []plots.Series{{Name: "in all"}}
	seen := map[string]bool{}
	for i := range h.Rentals {
		label := h.Rentals[i].Label
		if by := h.paid(label); !seen[label] && !slices.Equal(by, all) {
			series = append(series, plots.Series{Name: label, Y: by})
		}
		seen[label] = true
	}
	series[0].Y = all
	for i := range series {
		for m := range all {
			series[i].X = append(series[i].X, float64(m+1))
		}
	}
	c := plots.Curves{Title: "Rent of each month", X: "month", Y: "rent (" + a.money("") + ")",
		Series: series}
	p, err := c.Draw()
	return fmt.Sprintf("The rent goes from %s in the first month to %s in the last of the horizon.",
		a.whole(all[0]), a.whole(all[h.Months-1])), p, err
}

// WriteFront draws the fleets that were simulated for a front into dir. Without points it draws
// nothing.
func (a *Answer) WriteFront(dir string) error {
	front := a.Front()
	if len(front) == 0 {
		return nil
	}
	at := func(q *Point) (x, y float64) { return q.Hourly, q.Latency }
	others := slices.DeleteFunc(slices.Clone(a.Points), func(q Point) bool { return q.Front })
	byEnergy := slices.Clone(front)
	slices.SortStableFunc(byEnergy, func(a, b Point) int { return cmp.Compare(a.Energy, b.Energy) })
	var series []plots.Series
	for third := range 3 {
		part := byEnergy[third*len(front)/3 : (third+1)*len(front)/3]
		if len(part) > 0 {
			series = append(series, seriesOf(fmt.Sprintf("front, up to %s Wh for 1M tokens",
				units.Figure(part[len(part)-1].Energy)), part, at))
		}
	}
	p, err := plots.Cloud("Fleets that keep the SLO", "price of the fleet ("+a.money("/h")+")",
		a.Goal.Measure[:len(a.Goal.Measure)-len("_ms")]+" (ms)",
		seriesOf("beaten by another", others, at), series)
	if err != nil {
		return err
	}
	return plots.Save(dir, "front", p)
}
