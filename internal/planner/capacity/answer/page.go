package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Level is how much of an answer is printed.
type Level uint8

// The levels: about ten lines, at most mostLines, or all.
const (
	Brief Level = iota
	Short
	Whole
)

// mostLines is the largest number of lines of a short page.
const mostLines = 25

// rank is how dispensable a part of a page is: what has a higher rank is left out first.
type rank uint8

const (
	essential rank = iota // never left out
	likely                // how likely the fleet keeps the SLO
	asides                // where requests come from, the goal, and what serves today
	chosenSettings
	measurement // what a measurement may save
	alternatives
	reasons
	commands
	changes
	sources
	commandsOfMeasurement
)

// page is what is said of an answer, in order. Each part is printed in the first of its ways that
// fits.
type page []struct {
	rank rank
	ways []doc.Blocks
}

// add adds a part, and the shorter ways to say it. An empty part is left out.
func (g *page) add(r rank, ways ...doc.Blocks) {
	if len(ways[0]) > 0 {
		*g = append(*g, struct {
			rank rank
			ways []doc.Blocks
		}{r, ways})
	}
}

// text adds paragraphs, without the empty ones.
func (g *page) text(r rank, paragraphs ...string) {
	for _, words := range paragraphs {
		g.add(r, texts(words))
	}
}

// texts returns paragraphs, without the empty ones.
func texts(paragraphs ...string) (list doc.Blocks) {
	for _, words := range paragraphs {
		if words != "" {
			list = append(list, doc.Block{Kind: doc.Text, Words: words})
		}
	}
	return list
}

// items returns the items of a list.
func items(list []string) (blocks doc.Blocks) {
	for _, words := range list {
		blocks = append(blocks, doc.Block{Kind: doc.Item, Words: words})
	}
	return blocks
}

func heading(words string) doc.Blocks { return doc.Blocks{{Kind: doc.Heading, Words: words}} }

// unlimited is a number of lines that no page has.
const unlimited = math.MaxInt

// blocks returns the essential parts and, in the order of their ranks, the other parts that fit
// into the given number of lines, and how many lines they are.
func (g page) blocks(most int) (list doc.Blocks, lines int) {
	parts := make([]doc.Blocks, len(g))
	kept := 0 // lines for essential parts to come, at their shortest
	for _, part := range g {
		if part.rank == essential {
			kept += part.ways[len(part.ways)-1].Lines()
		}
	}
	for r := essential; r <= commandsOfMeasurement; r++ {
		for i, part := range g {
			if part.rank != r {
				continue
			}
			if r == essential {
				kept -= part.ways[len(part.ways)-1].Lines()
			}
			for k, way := range part.ways {
				n := way.Lines()
				if lines+n+kept <= most || r == essential && k == len(part.ways)-1 {
					parts[i] = way
					lines += n
					break
				}
			}
		}
	}
	return slices.Concat(parts...), lines
}

// odds says how likely the fleet keeps the SLO, how often such a chance came true, and, one idea a
// line, what fewer replicas would risk and cost.
func (d *Deployment) odds(a *Answer) (sure, known string, list []string) {
	if len(d.Chances) == 0 {
		return "", "", nil
	}
	up := ""
	if a.Spare > 0 {
		up = " up"
	}
	own, likely := d.chance(), a.likely()
	asked := fmt.Sprintf("each latency may be as late as in %.4g%% of cases", 100*a.Confidence)
	if !own.Decides() {
		sure = "How sure: " + asked + "; a chance of both together differs too much from draw to " +
			"draw of the load to be told."
	} else {
		sure = fmt.Sprintf("How sure: the SLO is kept in %s of cases over all errors of "+
			"predictions", own.words())
		if own.Probability < a.Confidence {
			sure += "; " + asked
		}
		sure += "."
		known = verified(evidence.ForecastOf{
			Evidence: own.CasesOf, Kept: own.CameTrue, Cases: own.Cases})
	}
	most, _ := d.Grade.Supported(1, false)
	var parts []string
	for _, c := range d.Chances {
		fewer := c.Replicas < own.Replicas
		told := fewer && likely != "" || !fewer && (own.Probability > most-Certain ||
			own.Decides() && c.Probability <= own.Probability)
		switch { // more keep it all the more
		case c.Replicas == own.Replicas || told:
		case c.Decides():
			parts = append(parts, fmt.Sprintf("with %d%s in %s", c.Replicas, up, c.words()))
		case fewer && own.Decides(): // a reader asks why one fewer is not the answer
			parts = append(parts, fmt.Sprintf("with %d%s in %s to %s", c.Replicas, up,
				units.Percent(c.Low), units.Percent(c.High)))
		}
	}
	if parts != nil {
		words := strings.Join(parts, ", ") + " of cases."
		list = append(list, strings.ToUpper(words[:1])+words[1:])
	}
	return sure, known, append(list, likely)
}

// chance returns the answer's own chance, the last but one.
func (d *Deployment) chance() Chance {
	if n := len(d.Chances); n > 0 {
		return d.Chances[max(0, n-2)]
	}
	return Chance{}
}

// verified says how many of the cases of a chance came true; "" without cases.
func verified(record evidence.ForecastOf) string {
	of := "measured cases"
	switch {
	case record.Cases == 0:
		return ""
	case record.Evidence == evidence.LeftOutOfFit:
		of = "cases of servers left out of the fit"
	case record.Evidence == evidence.OutsideOfFit:
		of = "cases of servers that no fit had seen"
	}
	return fmt.Sprintf(" Such a chance came true in %s of %s %s.", units.Count(int64(record.Kept)),
		units.Count(int64(record.Cases)), of)
}

// likely names the cheapest fleet that keeps the SLO in at least half of the cases, and says what
// the answer costs more, or that such chances came true as often for the cheaper fleet. It looks at
// fewer replicas of the answer's kind and at the fleets of Measurements, and returns "" where no
// fleet is cheaper.
func (a *Answer) likely() string {
	best, label := a.Chosen.Likely, "of them"
	for i := range a.Measurements {
		m := &a.Measurements[i]
		for k := range m.Fleets {
			f := &m.Fleets[k]
			if f.Probability >= 0.5 && (best == nil || f.Hourly < best.Hourly) {
				if best = f; m.Label != a.Chosen.Label {
					label = "of " + m.Label
				}
			}
		}
	}
	if best == nil {
		return ""
	}
	fleet := fmt.Sprintf("%s %s for %s an hour (%s)", units.Plural(best.Replicas, "replica"),
		label, a.Currency.Cents(best.Hourly), units.Percent(best.Probability))
	if a.asLikely(best) {
		return fmt.Sprintf("Cheaper, and as sure by what came true: %s. It misses the SLO where "+
			"each latency is as late as in %.4g%% of cases.", fleet, 100*a.Confidence)
	}
	sure := ""
	if a.Chosen.chance().Probability >= a.Confidence {
		sure = "sure "
	}
	return fmt.Sprintf("At even odds: %s; the %sanswer costs %s more.", fleet, sure,
		a.Currency.Cents(best.Less))
}

// asLikely reports whether the chance of a cheaper fleet reads like the answer's: what came true
// bounds both.
func (a *Answer) asLikely(f *CheaperFleet) bool {
	const digit = 0.01 // the last of a chance
	own := a.Chosen.chance()
	return len(a.Chosen.Chances) > 0 && own.Decides() &&
		f.Probability >= own.Probability-digit*(1+rounding)
}

// The widths of an interval of a probability: up to narrow the probability is told alone, up to
// wide with its interval, and beyond that nothing can be decided by it, and it is not told.
const (
	narrow = 0.02
	wide   = 0.2
)

// words returns a probability with its interval over seeds, where that is wider than a point.
func (c *Chance) words() string {
	words := percentChance(c.Probability)
	if c.Probability >= Certain && c.Probability <= 1-Certain && c.High-c.Low > narrow {
		words += fmt.Sprintf(" (%s–%s)", units.Percent(c.Low), units.Percent(c.High))
	}
	return words
}

// percentChance prints a probability that is known to about a hundredth.
func percentChance(p float64) string {
	switch {
	case p < Certain:
		return "less than 2%"
	case p > 1-Certain:
		return "more than 98%"
	}
	return units.Percent(p)
}

// words says by which rule a large fleet was judged, and on whole pages how well that is known;
// nothing for nil.
func (l *Law) words(whole bool) string {
	if l == nil {
		return ""
	}
	words := fmt.Sprintf("%d replicas were simulated for the fleet, at the same rate each.",
		l.Simulated)
	if whole {
		words += fmt.Sprintf(" In tests with up to 512 replicas, whole simulations gave from 4%% "+
			"fewer replicas to 2%% more. Fleets of more than %d replicas are sized to 1%%.",
			l.Whole)
	}
	return words
}

// running says how many accelerators run.
func (d *Deployment) running() string {
	words := units.Plural(d.Accelerators, "accelerator")
	if f := d.Scaled; f != nil {
		return fmt.Sprintf("%s replicas on average, on %s of at most %s",
			units.Figure(f.Mean), units.Figure(f.Accelerators), words)
	}
	return words
}

// fixed says what a fixed number of the replicas of a scaled fleet would cost.
func (d *Deployment) fixed(c units.Currency) string {
	f := d.Scaled
	if f == nil || f.Fixed == 0 {
		return ""
	}
	return fmt.Sprintf("A fixed number of them that keeps the SLO is %d, for %s an hour.", f.Fixed,
		c.Cents(f.FixedHourly))
}

// MeanAccelerators is how many accelerators of a fleet run on average.
func (d *Deployment) MeanAccelerators() float64 {
	if d.Scaled != nil {
		return d.Scaled.Accelerators
	}
	return float64(d.Accelerators)
}

// words returns the result of the simulation in words; nothing for nil.
func (i *Interrupted) words() string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("With %s of spot replicas in %.3g hours of simulated time, "+
		"%s meet the SLO.", units.Plural(i.Interruptions, "preemption"), i.Hours,
		units.Percent(i.Kept))
}

// blocks says why a fleet misses the SLO, and what would help; nothing for nil.
func (a *Advice) blocks(confidence float64) doc.Blocks {
	if a == nil {
		return nil
	}
	return append(texts(fmt.Sprintf("With %s, steps %.3g times and TTFT %.3g times as long as "+
		"predicted, which %.3g%% of cases stay within, %s of the requests meet the SLO.",
		units.Plural(a.Replicas, "replica"), a.Slowdown, a.Slowdown*a.Late, 100*confidence,
		units.PercentOf(a.Kept, a.Target))), items(a.Insights)...)
}

// words says by which rules fleets were left out; nothing for nil.
func (u *Unproven) words() string {
	if u == nil {
		return ""
	}
	words := "Fleets were left out by rules that are not proven: "
	if u.Options > 0 {
		words = fmt.Sprintf("Of %s, fleets were left out by rules that are not proven: ",
			units.Plural(u.Options, "option"))
	}
	words += strings.Join(u.Rules, "; ") + "."
	if u.Checked > 0 {
		found := "none was better"
		if u.Better > 0 {
			found = fmt.Sprintf("%d were better than the answer so far", u.Better)
		}
		words += fmt.Sprintf(" %d of them were simulated in the end, and %s.", u.Checked, found)
	}
	return words
}

// blocks says what the deployment does beside the answer; nothing for nil.
func (t *Today) blocks(c units.Currency) doc.Blocks {
	if t == nil {
		return nil
	}
	cost := "without a price"
	if t.Hourly != nil {
		cost = c.Cents(*t.Hourly) + " an hour"
	}
	list := texts(fmt.Sprintf("Today: %s of %s, %s. At the predicted speed with all replicas up, "+
		"it %s the SLO (%s)%s.", units.Plural(t.Replicas, "replica"), t.Label, cost,
		keepsOrMisses(t.Met), units.Percent(t.Kept), t.beside(c)))
	if t.Steps != nil {
		list = append(list, texts("What to change, in this order:")...)
	}
	return append(list, items(t.Steps)...)
}

// beside says what the answer does with the same seeds.
func (t *Today) beside(c units.Currency) string {
	if t.AnswerKept == nil {
		return ""
	}
	words := fmt.Sprintf("; the answer %s it (%s)", keepsOrMisses(*t.AnswerMet),
		units.Percent(*t.AnswerKept))
	if t.Saved == nil {
		return words
	}
	words += " and costs " + less(c, *t.Saved)
	if t.SavedAsPlanned != nil {
		words += " if the replicas that stay cost what they cost today, and " +
			less(c, *t.SavedAsPlanned) + " at the plan's price"
	}
	return words
}

// less says how much less something costs.
func less(c units.Currency, saved float64) string {
	switch {
	case saved == 0:
		return "the same"
	case saved < 0:
		return c.Cents(-saved) + " an hour more"
	}
	return c.Cents(saved) + " an hour less"
}

func keepsOrMisses(met bool) string {
	if met {
		return "keeps"
	}
	return "misses"
}

// words says where a price is from.
func (p *Price) words() string {
	text := p.Accelerator + " " + p.Term
	if p.Term == "on-demand" {
		text = p.Accelerator
	}
	if p.Region != "" {
		text += " in " + p.Region
	}
	text += " at " + units.FormatPrice(p.Hourly, units.Currency(p.Currency)) + ": "
	if p.Provider != "" && !strings.Contains(p.Source, p.Provider) {
		text += p.Provider + ", "
	}
	text += cmp.Or(p.Source, "no source is given")
	switch {
	case p.Date == "":
		text += ", no date is known"
	case !strings.Contains(p.Source, p.Date[:min(len(p.Date), len("2026"))]):
		text += ", of " + p.Date
	}
	return text
}

// mostPrices bounds the prices that a page names.
const mostPrices = 12

// pricesDiffer reports whether the prices are not all of one provider, source and date.
func (a *Answer) pricesDiffer() bool {
	return slices.ContainsFunc(a.PricesOf, func(price Price) bool {
		first := &a.PricesOf[0]
		return price.Provider != first.Provider || price.Date != first.Date ||
			price.Source != first.Source
	})
}
