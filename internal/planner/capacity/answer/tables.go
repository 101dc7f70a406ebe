package answer

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// mostRows is the largest number of fleets that a page shows.
const mostRows = 24

// Contender is up to how many times the price of the answer fleets of other kinds of replicas are
// looked for.
const Contender = 1.4

// tables returns the fleets that were compared, with what is said of them.
func (a *Answer) tables() (list doc.Blocks) {
	switch a.Goal.Find {
	case asked.FindJob:
		list = a.jobs()
	case asked.FindThroughput:
		list = a.reaches()
	case asked.FindFront:
		front := a.Front()
		list = append(texts(fmt.Sprintf("No other fleet is as good as one of these in price, "+
			"latency and energy at once (%d of %d that keep the SLO):", len(front),
			len(a.Points))), a.points(front, mostRows)...)
	default:
		list = a.shapes()
	}
	return append(doc.Blocks{{Kind: doc.Gap}}, list...)
}

// Front returns the fleets of the front, by price.
func (a *Answer) Front() []Point {
	var list []Point
	for _, p := range a.Points {
		if p.Front {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Hourly, b.Hourly), cmp.Compare(a.Latency, b.Latency))
	})
	return list
}

// money heads a column of amounts a unit.
func (a *Answer) money(unit string) string { return a.Currency.Unit() + unit }

// points returns the table of at most `most` simulated fleets.
func (a *Answer) points(list []Point, most int) doc.Blocks {
	table := doc.Block{Kind: doc.Table, Left: []int{0, 4}, Header: []string{"replicas",
		a.money("/h"),
		a.Goal.Measure, "Wh/1M", "evidence"}}
	for i := range list[:min(len(list), most)] {
		q := &list[i]
		table.Rows = append(table.Rows, []string{fmt.Sprintf("%d of %s", q.Replicas, q.Label),
			fmt.Sprintf("%.2f", q.Hourly), units.Figure(q.Latency), units.Figure(q.Energy),
			string(q.Grade)})
	}
	left := ""
	if len(list) > len(table.Rows) {
		left = "All are in plan.json of --out."
	}
	return append(doc.Blocks{table}, texts(left,
		"Latency and energy are simulated with slow steps: "+
			"at the asked confidence, by how far predictions of such servers were off "+
			"(docs/validation.md).")...)
}

func (a *Answer) reaches() doc.Blocks {
	table := doc.Block{Kind: doc.Table, Left: []int{0, 4}, Header: []string{"replicas", "1/s",
		a.money("/h"), "peak power", "evidence"}}
	for i := range a.Throughputs {
		r := &a.Throughputs[i]
		table.Rows = append(table.Rows, []string{fmt.Sprintf("%d of %s", r.Replicas, r.Label),
			units.Figure(r.Rate), fmt.Sprintf("%.2f", r.Hourly), units.FormatPower(r.Watts),
			string(r.Grade)})
	}
	return append(doc.Blocks{table}, texts("Each fleet was simulated whole, at rates in steps of "+
		"about 3%.")...)
}

// jobWords says how long a job takes.
func (d *Deployment) jobWords() string {
	words := fmt.Sprintf("The whole job simulated, with steps as predicted, takes %s hours.",
		units.Figure(d.JobHours))
	if d.JobShare < 1 {
		words = fmt.Sprintf("With steps as predicted, the simulated %s of the job take %s hours, "+
			"and so all of it about %.2g.", units.Percent(d.JobShare), units.Figure(d.JobHours),
			d.JobHours/d.JobShare)
	}
	return words
}

func (a *Answer) jobs() doc.Blocks {
	table := doc.Block{Kind: doc.Table, Left: []int{0, 4}, Header: []string{"replicas", "hours",
		a.money(""), a.money("/1M tokens"), "evidence"}}
	first, measured, longer := "", "", 0.0
	for i := range a.Jobs {
		j := &a.Jobs[i]
		if longer = max(longer, j.Interruptions); i == 0 {
			first = fmt.Sprintf("%d requests; each fleet was simulated with slow steps, at the "+
				"asked confidence by how far predictions of such servers were off:", j.Requests)
		}
		table.Rows = append(table.Rows, []string{fmt.Sprintf("%d of %s", j.Replicas, j.Label),
			units.Figure(j.Hours), fmt.Sprintf("%.2f", j.Dollars), units.Figure(j.PerMillion),
			string(j.Grade)})
	}
	if j := a.measuredJob(); j != nil {
		measured = fmt.Sprintf("The cheapest option of which a similar server was measured: %s of "+
			"%s, %s, %s hours.", units.Plural(j.Replicas, "replica"), j.Label,
			a.Currency.Cents(j.Dollars), units.Figure(j.Hours))
	}
	if longer > 0 {
		measured += fmt.Sprintf(" The hours of spot fleets are up to %s longer than simulated, by "+
			"the mean number of interruptions.", units.Percent(longer))
	}
	if d := a.Chosen; d != nil && d.JobShare > 0 && d.JobShare < 1 {
		measured += fmt.Sprintf(" %s of the requests were simulated; hours are in proportion.",
			units.Percent(d.JobShare))
	}
	return append(append(texts(first), table), texts(strings.TrimSpace(measured))...)
}

// measuredJob returns the cheapest fleet of a job that rests on measurements; nil if no such fleet
// is known, or if it is the answer.
func (a *Answer) measuredJob() *JobDone {
	i := slices.IndexFunc(a.Jobs, func(j JobDone) bool {
		return j.Grade == evidence.Measured || j.Grade == evidence.Here
	})
	if i <= 0 {
		return nil
	}
	return &a.Jobs[i]
}

// when says when the fleet runs; empty where its price is the same in all hours.
func (j *JobDone) when(c units.Currency) string {
	var list []string
	clock := func(hours float64) string {
		minutes := 60*j.From + int(math.Ceil(60*hours-rounding))
		words := fmt.Sprintf("%02d:%02d", minutes/60%24, minutes%60)
		if day := minutes / 60 / 24; day > 0 {
			words += fmt.Sprintf(" of day %d", day+1)
		}
		return words
	}
	for _, r := range j.Runs {
		words := fmt.Sprintf("from %s to %s", clock(r.From), clock(r.To))
		if len(j.Runs) > 1 {
			words += fmt.Sprintf(" (%s)", units.Plural(int(r.Requests), "request"))
		}
		list = append(list, words)
	}
	switch {
	case list == nil:
		return ""
	case j.Dollars < j.AtOnce:
		return fmt.Sprintf("It runs in the hours that cost least: %s. At once, by as few such "+
			"replicas as are in time, the job costs %s.", strings.Join(list, ", "),
			c.Cents(j.AtOnce))
	}
	return fmt.Sprintf("It runs at once, %s: no later hours cost less.", strings.Join(list, ", "))
}

// odds says how likely the fleet of the answer is in time.
func (j *JobDone) odds() string {
	_, record := j.Grade.Supported(j.InTime, false)
	return fmt.Sprintf("Over all errors of predicted step times (%s), it is in time in %s of "+
		"cases.%s", j.Grade, percentChance(j.InTime), verified(record))
}

// shapes returns the ranking of the kinds of replicas, and the limit of each below it.
func (a *Answer) shapes() doc.Blocks {
	if a.Shapes == nil {
		return nil
	}
	table := doc.Block{Kind: doc.Table, Left: []int{0, 6}, Header: []string{"replica", "KV ktok",
		"1/s each", "replicas", a.money("/h"), a.money("/1M"), "evidence"}}
	apart, bounded, together := false, false, false
	for i := range a.Shapes {
		s := &a.Shapes[i]
		apart = apart || !plainShape(s.Shape)
		row := []string{s.Shape, "–", "–", "–", "–", "–", string(s.Grade)}
		if s.KVTokens > 0 {
			row[1] = units.Figure(float64(s.KVTokens) / 1000)
		}
		if s.Rate > 0 {
			row[2] = a.rateEach(s)
			together = together || a.onlyAsFleet(s)
		}
		if s.Replicas > 0 {
			row[3] = fmt.Sprint(s.Replicas)
			if s.Fewest > 0 {
				row[3] = fmt.Sprintf("%d–%d", s.Fewest, s.Replicas)
			}
			row[4] = units.Figure(s.Hourly)
		} else if s.AtLeast > 0 {
			row[4], bounded = "≥ "+units.Figure(s.AtLeast), true
		}
		if s.PerMillion > 0 {
			row[5] = units.Figure(s.PerMillion)
		}
		table.Rows = append(table.Rows, row)
	}
	var words []string
	if together {
		words = append(words, "*: of a fleet that bears the load; a replica alone sustains less, "+
			"since a router shares requests more evenly than chance does.")
	}
	if bounded {
		words = append(words, fmt.Sprintf("≥: a bound from below, by the roofline and with any "+
			"settings. No such fleet is known for at most %g times the price of the answer.",
			Contender))
	}
	if a.FurtherShapes > 0 {
		words = append(words, fmt.Sprintf("%d more kinds of replicas are farther from being "+
			"chosen.", a.FurtherShapes))
	}
	if apart {
		words = append(words, "xP+yD: a group of x replicas that compute prompts and y replicas "+
			"that decode; all other replicas do both.")
	}
	if b := a.BestMeasured; b != nil {
		which := "The cheapest fleet above of which a similar server was measured"
		if b.Grade != evidence.Measured {
			which = fmt.Sprintf("No fleet above was measured. The cheapest with better "+
				"evidence (%s)", b.Grade)
		}
		words = append(words, fmt.Sprintf("%s: %s of %s, %s an hour.", which,
			units.Plural(b.Replicas, "replica"), b.Label, a.Currency.Cents(b.Hourly)))
	}
	list := append(doc.Blocks{table}, texts(append(words, a.tightest()...)...)...)
	list = append(append(list, doc.Block{Kind: doc.Gap}), texts("What limits each:")...)
	for i := range a.Shapes {
		s := &a.Shapes[i]
		words := s.Label + ": "
		if a.onlyAsFleet(s) {
			words += "one alone sustains " + units.FigureOfRate(s.Rate) + "; "
		}
		list = append(list, doc.Block{Kind: doc.Item, Words: words + s.Limit})
	}
	return list
}

// share returns the part of the load that each replica of the fleet of a shape has with the spares
// down; 0 without a fleet.
func (a *Answer) share(s *Shape) float64 {
	if s.Replicas <= a.Spare {
		return 0
	}
	return a.Rate / float64(s.Replicas-a.Spare)
}

// onlyAsFleet reports whether the replicas of a shape bear together what one alone does not.
func (a *Answer) onlyAsFleet(s *Shape) bool {
	return s.Rate > 0 && s.Rate < a.share(s)*(1-rounding)
}

// rounding is by how much two figures may differ by the rounding of sums and ratios alone.
const rounding = 1e-9

// rateEach prints the requests a second of a replica: what it sustains alone, or with a mark, what
// it has in a fleet that bears more. Times the replicas, what is printed is the load or more.
func (a *Answer) rateEach(s *Shape) string {
	share, mark := a.share(s), ""
	rate := max(s.Rate, share)
	if a.onlyAsFleet(s) {
		mark = "*"
	}
	unit := min(1, math.Pow10(int(math.Floor(math.Log10(rate)))-2)) // of the last digit printed
	if math.Floor(rate/unit)*unit < share*(1-rounding) {
		rate = math.Ceil(rate/unit) * unit
	}
	return units.Figure(rate) + mark
}

// tightest says where the fewest accelerators that hold the model serve much less, each, than
// more of them together.
func (a *Answer) tightest() (list []string) {
	const much = 1.1
	tightest, best := map[string]*Shape{}, map[string]*Shape{}
	var names []string
	each := func(s *Shape) float64 { return max(s.Rate, a.share(s)) / float64(s.GPUs) }
	for i := range a.Shapes {
		s := &a.Shapes[i]
		if s.Rate == 0 || !plainShape(s.Shape) {
			continue
		}
		t := tightest[s.Accelerator]
		if t == nil {
			names = append(names, s.Accelerator)
		}
		if t == nil || s.GPUs < t.GPUs {
			tightest[s.Accelerator] = s
		}
		if b := best[s.Accelerator]; b == nil || each(s) > each(b) {
			best[s.Accelerator] = s
		}
	}
	for _, name := range names {
		if t, b := tightest[name], best[name]; each(b) > much*each(t) {
			holds := "hold the model, and leave"
			if t.GPUs == 1 {
				holds = "holds the model, and leaves"
			}
			list = append(list, fmt.Sprintf(
				"%s %s KV memory for %s tokens: %s requests a second for each GPU. %s hold %s "+
					"tokens, and serve %s for each.",
				t.Shape, holds, units.Figure(float64(t.KVTokens)), units.Figure(each(t)), b.Shape,
				units.Figure(float64(b.KVTokens)), units.Figure(each(b))))
		}
	}
	return list
}

// plainShape reports whether replicas do both.
func plainShape(shape string) bool { return !strings.Contains(shape, "P+") }

// WriteCSV writes the outcome of every option, one row each, in the order of the menu.
func (a *Answer) WriteCSV(out io.Writer) error {
	rows := [][]string{{"option", "outcome", "why", "bound_requests_per_second"}}
	for _, f := range a.Outcomes {
		rows = append(rows, []string{f.Label, f.Kind, f.Words,
			strconv.FormatFloat(f.Ceiling, 'g', -1, 64)})
	}
	return csv.NewWriter(out).WriteAll(rows)
}
