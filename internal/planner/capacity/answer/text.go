package answer

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// page says what was asked, what the answer is and how certain, what comes after it, and what would
// change it. At a lower level, it leaves out what only a higher one shows.
func (a *Answer) page(level Level, several bool) *page {
	g, d, whole := &page{}, a.Chosen, level == Whole
	if a.Name != "" && (several || level > Brief) {
		g.add(essential, heading(a.Name))
	}
	if level > Brief {
		a.addAsked(g, whole, several)
	}
	if d == nil {
		a.addNone(g, whole)
	} else {
		a.addFleet(g, whole)
		if words := a.Horizon.brief(a); words != nil {
			g.add(likely, words, words[:1])
		}
		a.addOthers(g, whole)
	}
	if whole {
		g.add(reasons, a.Horizon.tables(a))
		g.add(reasons, a.tables())
		if a.Today != nil || a.Sensitivity != nil {
			g.add(reasons, doc.Blocks{{Kind: doc.Gap}})
		}
	}
	g.add(asides, a.Today.blocks(a.Currency))
	for i := range a.Measurements {
		if i == 0 || whole {
			a.Measurements[i].add(g, a, level > Brief)
		}
	}
	if d != nil {
		a.addChanges(g, whole)
	}
	if d != nil && level > Brief && (whole || !several) {
		g.add(commands, d.start(), texts(d.emitted()))
	}
	if whole {
		g.add(reasons, a.search())
	}
	return g
}

// addAsked adds the load, and where prices are from: only the chosen fleet's, or all.
func (a *Answer) addAsked(g *page, whole, several bool) {
	asked, load := asides, a.Model
	if several {
		asked = sources
	}
	if a.Load != "" { // else no server was built that the load could be drawn for
		load += "; " + a.Load
	}
	prices := ""
	if a.Prices != "" {
		prices = "Prices: " + a.Prices
	}
	g.add(asked, texts(load, prices))
	for i := range a.PricesOf {
		if price := &a.PricesOf[i]; whole && i < mostPrices || price.Chosen {
			g.text(sources, "Price of "+price.words())
		}
	}
	if whole && len(a.PricesOf) > mostPrices {
		g.text(sources, "The sources of all prices are in --format json.")
	}
	if whole && a.pricesDiffer() {
		g.text(sources, "These prices differ in provider, source or date, so fleets may differ in "+
			"cost for that reason too.")
	}
	if whole {
		g.add(asides, doc.Blocks{{Kind: doc.Gap}})
	}
}

// addNone says that there is no answer, and which option comes nearest.
func (a *Answer) addNone(g *page, whole bool) {
	n := a.Nearest
	if n == nil {
		g.add(essential, heading("No option of the menu can be built."))
		for _, pruned := range a.Pruned {
			g.add(reasons, items([]string{pruned.Example}))
		}
		return
	}
	g.add(essential, heading(a.Goal.Missed()))
	if a.Goal.Find == asked.FindJob {
		return
	}
	g.text(essential, fmt.Sprintf("The nearest option is %s, where %s of the requests meet it: %s.",
		n.Label, units.Percent(n.Kept), n.Limit))
	g.add(essential, a.knownOff())
	a.addOthersOff(g)
	if whole {
		g.add(reasons, n.Advice.blocks(a.Confidence))
	}
}

// addFleet adds the fleet, what it costs, and how certain it is to keep the SLO.
func (a *Answer) addFleet(g *page, whole bool) {
	d, c := a.Chosen, a.Currency
	g.add(essential, heading(d.heading(a.Spare)))
	g.text(asides, a.SentOn)
	g.text(likely, a.Warnings...)
	if words := a.Goal.Words(); words != "" {
		g.text(asides, "Goal: "+words)
	}
	g.text(essential, fmt.Sprintf("Cost: %s an hour for %s; %s for a million output tokens.",
		c.Cents(d.Hourly), d.running(), c.Format(units.Figure(d.PerMillion))), d.fixed(c))
	if d.JobHours > 0 {
		g.text(essential, d.jobWords())
		if len(a.Jobs) > 0 {
			j := &a.Jobs[0]
			pauses := ""
			if j.Dollars < j.AtOnce {
				pauses = " with pauses"
			}
			g.text(essential, j.when(c))
			g.text(likely, fmt.Sprintf("With steps as slow as the asked confidence demands: %s "+
				"hours%s, %s.", units.Figure(j.Hours), pauses, c.Cents(j.Dollars)), j.odds())
		}
		g.add(essential, a.knownOff())
	} else {
		g.add(essential, texts("SLO: "+a.slo()+"."),
			texts(fmt.Sprintf("SLO: one for each of %d classes.", len(a.ClassSLOs))))
		a.addKept(g)
		sure, known, fewer := d.odds(a)
		g.add(likely, texts(sure+known), texts(sure))
		g.text(likely, fewer...)
		g.text(reasons, d.Law.words(whole))
	}
	a.addOthersOff(g)
	g.text(chosenSettings, a.Tuned.words(a)...)
	if words, short := a.Tuned.plainCache(a.Currency); words != "" {
		g.add(essential, texts(words), texts(short))
	}
	if d.Sold != nil {
		g.text(reasons, "The tokens of an hour are worth "+diagnosis.DescribeRevenue(d.Sold, c)+".")
	}
	if whole {
		g.text(reasons, d.more()...)
		g.text(reasons, d.Insights...)
		g.add(reasons, d.OneFewer.blocks(a.Confidence))
	}
}

// knownOff says in what way the predictions for the fleet are known to be off.
func (a *Answer) knownOff() (list doc.Blocks) {
	for _, words := range a.KnownOff {
		list = append(list, texts("Known to be off: "+words+".")...)
	}
	return list
}

// addOthersOff adds the same of other options.
func (a *Answer) addOthersOff(g *page) {
	for _, words := range a.OthersOff {
		g.text(likely, "Known to be off, of other options: "+words+".")
	}
}

// addKept adds what share of the requests meets the SLO, and in what way that is known to be off,
// or where the page is full only that it is.
func (a *Answer) addKept(g *page) {
	words := a.Chosen.keeps(a.Spare)
	if a.KnownOff == nil {
		g.text(essential, words)
		return
	}
	g.add(essential, append(texts(words), a.knownOff()...),
		texts(strings.Replace(words, asPredicted, asPredicted+", known to be off", 1)))
}

// asPredicted begins what simulations say of a fleet.
const asPredicted = "With steps as predicted"

// keeps says what share of the requests meets the SLO in simulations.
func (d *Deployment) keeps(spare int) string {
	words := fmt.Sprintf("%s, %s of the requests meet it", asPredicted, units.Percent(d.Kept))
	if spare > 0 {
		words += fmt.Sprintf(", %s with %d down", units.Percent(d.KeptWithoutSpares), spare)
	}
	var classes []string
	for _, c := range d.Classes {
		classes = append(classes, units.Percent(c.Kept)+" of "+c.Name)
	}
	if classes != nil {
		words += " (" + strings.Join(classes, ", ") + ")"
	}
	return words + "; " + d.Binds + " binds."
}

// more says what else is known of a fleet.
func (d *Deployment) more() []string {
	list := []string{fmt.Sprintf("A million output tokens take %s GPU-hours and at most %s Wh.",
		units.Figure(d.GPUHours), units.Figure(d.EnergyPerMillion))}
	if d.Carbon > 0 {
		list = append(list, fmt.Sprintf("For that energy at most %s g of CO2 are emitted.",
			units.Figure(d.Carbon)))
	}
	return append(list, d.Interrupted.words())
}

// addOthers adds the fleets beside the answer.
func (a *Answer) addOthers(g *page, whole bool) {
	if a.Goal.Find == asked.FindFront && !whole {
		g.add(alternatives, a.points(a.Front(), 10), a.points(a.Front(), 5),
			a.points(a.Front(), 2))
	} else if !whole {
		for _, next := range a.next() {
			g.text(alternatives, "Next: "+next+".")
		}
	}
	if a.ClassesApart > 0 {
		g.text(alternatives, fmt.Sprintf("With servers of their own for some classes it is %s an "+
			"hour at least.", a.Currency.Cents(a.ClassesApart)))
	}
	g.text(alternatives, a.alone())
	if o := a.Growth; o != nil && o.Replicas > 0 {
		g.text(alternatives, fmt.Sprintf("For %g times the rate: %s.", o.Factor,
			o.words(a.Currency)))
	} else if o != nil {
		g.text(alternatives, fmt.Sprintf("For %g times the rate no option of the menu suffices.",
			o.Factor))
	}
}

// addChanges adds which inputs change the answer: inputs with the same answer together, or where
// these lines do not fit, which inputs change it.
func (a *Answer) addChanges(g *page, whole bool) {
	if a.Sensitivity == nil {
		return
	}
	among := "settings tried"
	if a.Contenders > 0 {
		among = fmt.Sprintf("%d nearest options", a.Contenders)
	}
	wrong := "If an input is wrong by 10%, among the " + among
	var answers, changing, same []string
	inputs := map[string][]string{}
	for _, s := range a.Sensitivity {
		if !s.Changes {
			same = append(same, s.Input)
			continue
		}
		if changing = append(changing, s.Input); inputs[s.Answer] == nil {
			answers = append(answers, s.Answer)
		}
		inputs[s.Answer] = append(inputs[s.Answer], s.Input)
	}
	var lines []string
	for _, words := range answers {
		lines = append(lines, words+": "+strings.Join(inputs[words], ", ")+".")
	}
	if whole && same != nil {
		lines = append(lines, "the same: "+strings.Join(same, ", ")+".")
	}
	if answers == nil {
		g.text(changes, wrong+", the answer is the same.")
		return
	}
	g.add(changes, append(texts(wrong+", the answer is:"), items(lines)...),
		texts(wrong+", the answer changes with "+strings.Join(changing, ", ")+"."))
}

// nextBest is the number of further fleets that a page names.
const nextBest = 2

// maxNextRatio bounds the alternatives that a short page names: fleets that cost or take more than
// 4 times as much as the answer, or serve less than a quarter of its requests, are in the table of
// the whole page only.
const maxNextRatio = 4

// next names the fleets that come after the chosen one, with what they were compared by.
func (a *Answer) next() []string {
	var list []string
	add := func(worse float64, replicas int, label, words string) {
		if label != a.Chosen.Label && len(list) < nextBest && worse <= maxNextRatio {
			list = append(list, fmt.Sprintf("%s of %s, %s", units.Plural(replicas, "replica"),
				label, words))
		}
	}
	for i := range a.Shapes {
		s := &a.Shapes[i]
		if worse := s.Hourly / a.Chosen.Hourly; s.Replicas > 0 && (!a.Joint || worse >= 1) {
			add(worse, s.Replicas, s.Label, fmt.Sprintf("%s an hour (%s)",
				a.Currency.Cents(s.Hourly), s.Grade))
		}
	}
	for i := range a.Throughputs {
		r := &a.Throughputs[i]
		add(a.Rate/r.Rate, r.Replicas, r.Label, fmt.Sprintf("%s (%s)",
			units.FigureOfRate(r.Rate), r.Grade))
	}
	for i := range a.Points {
		q := &a.Points[i]
		add(q.Latency/a.Points[0].Latency, q.Replicas, q.Label, fmt.Sprintf("%s %s (%s)",
			a.Goal.Measure, units.Figure(q.Latency), q.Grade))
	}
	for i := range a.Jobs {
		j := &a.Jobs[i]
		add(j.Dollars/a.Jobs[0].Dollars, j.Replicas, j.Label, fmt.Sprintf("%s, %s hours (%s)",
			a.Currency.Cents(j.Dollars), units.Figure(j.Hours), j.Grade))
	}
	return list
}

// alone names the fleet that would be the answer if there were no other models.
func (a *Answer) alone() string {
	for i := range a.Shapes {
		if s := &a.Shapes[i]; a.Joint && s.Replicas > 0 && s.Hourly < a.Chosen.Hourly*(1-1e-9) {
			return fmt.Sprintf("Alone, this model would have %s of %s for %s an hour; all models "+
				"together cost less with those accelerators elsewhere.",
				units.Plural(s.Replicas, "replica"), s.Label, a.Currency.Cents(s.Hourly))
		}
	}
	return ""
}

func (a *Answer) slo() string {
	var parts []string
	for _, c := range a.ClassSLOs {
		parts = append(parts, c.Class+" "+c.SLO.Words())
	}
	words := a.SLO.Words()
	if parts != nil {
		words = strings.Join(parts, "; ")
	}
	if a.Rate > 0 {
		words = units.FigureOfRate(a.Rate) + ", " + words
	}
	if a.Spare > 0 {
		words += fmt.Sprintf("; also with %d down", a.Spare)
	}
	return words
}

// heading names the fleet, some of whose replicas are spare.
func (d *Deployment) heading(spare int) string {
	words := units.Plural(d.Replicas, "replica") + " of " + d.Label
	if d.Scaled != nil {
		words = fmt.Sprintf("%d to %s", d.Scaled.Fewest, words)
	}
	switch {
	case spare > 0 && d.SparesPaired:
		words += fmt.Sprintf(", %dP+%dD of them spare", spare, spare)
	case spare > 0:
		words += fmt.Sprintf(", %d of them spare", spare)
	}
	if d.Users > 0 {
		send := "send"
		if d.Users == 1 {
			send = "sends"
		}
		words += fmt.Sprintf(", for %s who %s %s requests a second",
			units.Plural(d.Users, "user"), send, units.Figure(d.Sent))
	}
	return "Answer: " + words + " (" + string(d.Grade) + ")"
}

// emitted says how the fleet is started, without the commands.
func (d *Deployment) emitted() string {
	if d.Launch == nil {
		return "No file starts it: " + d.Unstartable + "."
	}
	return "To start it: --emit DIR writes commands and files."
}

// start returns the commands that start a replica, and what they do not express.
func (d *Deployment) start() doc.Blocks {
	if d.Launch == nil {
		return texts(d.emitted())
	}
	list := append(doc.Blocks{{Kind: doc.Gap}}, texts("To start a replica:")...)
	for _, command := range d.Launch {
		list = append(list, doc.Block{Kind: doc.Command, Words: command})
	}
	if len(d.Lacks) > 0 {
		list = append(list, texts("What was simulated and is not in it:")...)
	}
	return append(list, items(d.Lacks)...)
}

// search says how the answer was found.
func (a *Answer) search() doc.Blocks {
	list := texts(fmt.Sprintf("%d options, %d simulations to find the answer and %d for the "+
		"rest of this page; decisions at %.4g%% confidence.", a.Options, a.Simulations, a.Further,
		100*a.Confidence), a.Tuned.tried(a.Goal))
	for _, pruned := range a.Pruned {
		list = append(list, doc.Block{Kind: doc.Item, Words: fmt.Sprintf("%d not simulated: %s. %s",
			pruned.Options, pruned.Why, pruned.Example)})
	}
	return append(doc.Blocks{{Kind: doc.Gap}}, append(list, texts(a.Unproven.words())...)...)
}

// words says which settings the answer has and what they bring; nothing where it has the defaults.
func (t *Tuned) words(a *Answer) []string {
	if t == nil || t.Settings == nil {
		return nil
	}
	words, cache := make([]string, len(t.Settings)), ""
	for i, s := range t.Settings {
		words[i] = fmt.Sprintf("%s %s in place of %s", s.Name, s.Value, s.Default)
		if s.Pool != "" {
			words[i] += " for " + s.Pool
		}
		if strings.HasPrefix(s.Value, "fp") {
			cache = "What the format of the cache does to the texts is not predicted."
		}
	}
	saved := a.Currency.Cents(t.WithoutHourly) + " an hour"
	if len(a.Jobs) > 0 {
		saved = fmt.Sprintf("%s in place of %s for the job", a.Currency.Cents(t.WithoutJob),
			a.Currency.Cents(a.Jobs[0].Dollars))
	}
	for i := range a.Points {
		if q := &a.Points[i]; t.WithoutLatency > 0 && q.Label == a.Chosen.Label &&
			q.Replicas == a.Chosen.Replicas {
			saved = fmt.Sprintf("%s %s ms in place of %s", a.Goal.Measure,
				units.Figure(t.WithoutLatency), units.Figure(q.Latency))
		}
	}
	if t.WithoutRate > 0 {
		saved = fmt.Sprintf("which serve %s in place of %s",
			units.FigureOfRate(t.WithoutRate), units.FigureOfRate(a.Rate))
	}
	without := "With the engine's defaults, no fleet keeps the SLO."
	if t.WithoutReplicas > 0 {
		upTo := map[bool]string{true: "up to "}[t.WithoutScaled]
		without = fmt.Sprintf("With the engine's defaults: %s%s of %s, %s.", upTo,
			units.Plural(t.WithoutReplicas, "replica"), t.Without, saved)
	}
	if t.asPlain() {
		without = "" // which the line without an FP8 cache says
	}
	return []string{"Settings: " + strings.Join(words, ", ") + ".", cache, without}
}

// asPlain reports whether the fleet without an FP8 cache is the one with the engine's defaults.
func (t *Tuned) asPlain() bool {
	p := t.PlainCache
	return p != nil && p.Replicas > 0 && p.Replicas == t.WithoutReplicas && p.Label == t.Without
}

// plainCache says what the answer is without an FP8 cache that the menu does not ask for, and what
// it costs alone: what that does to the texts is for the reader to judge. Both are empty where its
// cache has the format of the menu.
func (t *Tuned) plainCache(c units.Currency) (words, short string) {
	if t == nil || t.PlainCache == nil {
		return "", ""
	}
	if t.PlainCache.Replicas == 0 {
		words = "Without an FP8 cache, no fleet keeps the SLO."
		return words, words
	}
	const without = "Without an FP8 cache"
	words = without + ": " + t.PlainCache.words(c) + "."
	if t.asPlain() {
		words = without + ", as with the engine's defaults: " + t.PlainCache.words(c) + "."
	}
	return words, without + ": " + c.Cents(t.PlainCache.Hourly) + " an hour."
}

// tried says how many settings were tried.
func (t *Tuned) tried(goal asked.Goal) string {
	if t == nil || t.Tried == 0 {
		return ""
	}
	words := fmt.Sprintf("Of these simulations, %d were of %s beside the engine's defaults, for "+
		"the options nearest to the answer", t.Simulations, units.Plural(t.Tried, "setting"))
	if t.Settings == nil && goal.Find != asked.FindFront {
		words += "; none makes a fleet better"
	}
	return words + "."
}
