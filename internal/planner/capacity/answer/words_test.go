package answer

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// says checks that words have each of some parts; a part that begins with "no: " must not be there.
func says(t *testing.T, words string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		absent, not := strings.CutPrefix(part, "no: ")
		if strings.Contains(words, absent) == not {
			t.Errorf("%q, want %q", words, part)
		}
	}
}

// plain is the words of blocks, one a line, with the cells of tables.
func plain(list doc.Blocks) string {
	var words strings.Builder
	for _, b := range list {
		fmt.Fprintln(&words, b.Words)
		for _, row := range append([][]string{b.Header}, b.Rows...) {
			fmt.Fprintln(&words, strings.Join(row, " | "))
		}
	}
	return words.String()
}

// all is the words of a whole page, each part in its first way.
func (g *page) all() string {
	list, _ := g.blocks(unlimited)
	return plain(list)
}

// ranked is the words of the parts of a rank.
func (g *page) ranked(r rank) (list []string) {
	for _, part := range *g {
		if part.rank == r {
			list = append(list, plain(part.ways[0]))
		}
	}
	return list
}

// Each part of a page is in its first way that fits beside all more important ones, and parts keep
// their order. Essential ones are there in any case, and the number of lines is the page's.
func TestPagesHoldWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g page
		gap := doc.Block{Kind: doc.Gap}
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			r := rank(rapid.IntRange(0, int(commandsOfMeasurement)).Draw(t, "rank"))
			long := rapid.IntRange(1, 4).Draw(t, "lines")
			var ways []doc.Blocks
			for n := long; n > 0 && len(ways) < 2; n-- {
				ways = append(ways, slices.Repeat(doc.Blocks{gap}, n))
			}
			g.add(r, ways...)
			g.add(r, nil) // an empty part is left out
		}
		most := rapid.IntRange(0, 20).Draw(t, "most")
		list, lines := g.blocks(most)
		want, kept := 0, 0
		for _, part := range g {
			if part.rank == essential {
				kept += len(part.ways[len(part.ways)-1])
			}
		}
		for r := essential; r <= commandsOfMeasurement; r++ {
			for _, part := range g {
				if part.rank != r {
					continue
				}
				first, last := len(part.ways[0]), len(part.ways[len(part.ways)-1])
				if r == essential {
					kept -= last
				}
				switch {
				case want+first+kept <= most:
					want += first
				case want+last <= most || r == essential:
					want += last
				}
			}
		}
		if lines != want || len(list) != want || lines != list.Lines() {
			t.Fatalf("%d lines, %d blocks, of at most %d; want %d", lines, len(list), most, want)
		}
	})
	g := page{}
	g.text(sources, "last", "")
	g.text(essential, "first")
	if list, n := g.blocks(unlimited); len(list) != 2 || list[0].Words != "last" ||
		n != list.Lines() {
		t.Errorf("%+v", list)
	}
	if list, _ := g.blocks(1); len(list) != 1 || list[0].Words != "first" {
		t.Errorf("%+v", list)
	}
}

// A probability is told from 0 and from 1 by 1.5 %, and its interval where it is wider than 2 %.
func TestWordsOfChances(t *testing.T) {
	for p, want := range map[float64]string{0: "less than 2%", 0.0149: "less than 2%",
		Certain: "1.5%", 0.5: "50%", 1 - Certain: "98%", 0.9851: "more than 98%",
		1: "more than 98%"} {
		if got := percentChance(p); got != want {
			t.Errorf("%g: %q, want %q", p, got, want)
		}
	}
	for _, c := range []struct {
		chance Chance
		want   bool
	}{
		{Chance{Probability: 0.5, Low: 0.4, High: 0.6}, true},
		{Chance{Probability: 0.5, Low: 0.5, High: 0.519}, false},
		{Chance{Probability: 0.5, Low: 0.5, High: 0.53}, true},
		{Chance{Probability: 0.01, Low: 0, High: 0.6}, false},
		{Chance{Probability: 0.99, Low: 0.4, High: 1}, false},
		{Chance{Probability: Certain, Low: 0, High: 0.6}, true},
		{Chance{Probability: 1 - Certain, Low: 0, High: 0.6}, true},
	} {
		if got := strings.Contains(c.chance.words(), "–"); got != c.want {
			t.Errorf("%+v: %s", c.chance, c.chance.words())
		}
	}
	says(t, (&Chance{Probability: 0.5, Low: 0.4, High: 0.6}).words(), "50% (40%–60%)")
}

// oddsOf returns what is said of how sure a fleet is.
func oddsOf(d *Deployment, a *Answer) string {
	sure, known, fewer := d.odds(a)
	return strings.Join(append([]string{sure + known}, fewer...), "\n")
}

// A fleet's chance is told with what makes it lower than was asked for, and other numbers of
// replicas beside it, more of them only where the fleet's own chance is not sure. Of what is not
// known to a fifth, only the interval with one fewer is told: nothing else can be decided by it.
func TestChancesAreToldWhereTheyDecide(t *testing.T) {
	list := []Chance{{Replicas: 4, Probability: 0.3, Low: 0.3, High: 0.3},
		{Replicas: 5, Probability: 0.99, Low: 0.99, High: 0.99},
		{Replicas: 6, Probability: 1, Low: 1, High: 1}}
	d := &Deployment{Grade: evidence.Here, Chances: list}
	a := &Answer{Confidence: 0.95, Chosen: d}
	odds := func() string { return oddsOf(d, a) }
	says(t, odds(), "kept in more than 98%", "With 4 in 30% of cases.", "no: with 6",
		"no: each latency")
	list[1] = Chance{Replicas: 5, Probability: 0.9, Low: 0.85, High: 0.95}
	says(t, odds(), "kept in 90% (85%–95%)", "With 4 in 30%, with 6 in more than 98% of cases.",
		"each latency may be as late as in 95% of cases", "no: left out of the fit")
	list[0].High = 0.6
	a.Spare = 1
	says(t, odds(), "With 4 up in 30% to 60%, with 6 up in more")
	list[1].Low, list[1].High = 0.1, 1
	says(t, odds(), "differs too much", "no: 90%", "no: 10%", "no: with 4",
		"as late as in 95% of cases")
	d.Grade, list[1].Low, list[1].CameTrue, list[1].Cases = evidence.Measured, 0.9, 12, 13
	list[1].CasesOf = evidence.Measured
	says(t, odds(), "came true in 12 of 13 measured cases")
	record := func(of evidence.Grade, kept, cases int) string {
		return verified(evidence.ForecastOf{Evidence: of, Kept: kept, Cases: cases})
	}
	says(t, record(evidence.Measured, 1234, 1300), "came true in 1,234 of 1,300 measured cases")
	says(t, record(evidence.LeftOutOfFit, 2, 3), "2 of 3 cases of servers left out of the fit")
	says(t, record(evidence.OutsideOfFit, 2, 3), "2 of 3 cases of servers that no fit had seen")
	if got := record("", 0, 0); got != "" {
		t.Errorf("of a deployment's own measurements: %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		p, half := rapid.Float64Range(0, 1).Draw(t, "p"), rapid.Float64Range(0, 0.5).Draw(t, "half")
		list[1] = Chance{Replicas: 5, Probability: p, Low: max(0, p-half), High: min(1, p+half)}
		told := strings.Contains(odds(), "kept in "+list[1].words())
		if told != (list[1].High-list[1].Low <= wide) {
			t.Fatalf("%+v: %s", list[1], odds())
		}
	})
}

// The fleet at even odds is the cheapest that is, of the answer's replicas or of others that are
// worth measuring, and the answer's with fewer replicas is then not told twice.
func TestWordsOfEvenOdds(t *testing.T) {
	d := &Deployment{Label: "x", Grade: evidence.Here, Chances: []Chance{
		{Replicas: 2, Probability: 0.7, Low: 0.7, High: 0.7},
		{Replicas: 3, Probability: 1, Low: 1, High: 1}, {Replicas: 4}}}
	a := &Answer{Currency: "EUR", Chosen: d}
	says(t, oddsOf(d, a), "With 2 in 70%", "no: even odds")
	d.Likely = &CheaperFleet{2, 6, 3, 0.7}
	says(t, oddsOf(d, a), "no: With 2", "At even odds: 2 replicas of them for "+
		"€6.00 an hour (70%); the sure answer costs €3.00 more.")
	a.Confidence = 1.1 // which no chance is
	says(t, a.likely(), "(70%); the answer costs €3.00 more.")
	a.Confidence = 0
	a.Measurements = []Measurement{{Label: "y", Fleets: []CheaperFleet{{4, 5, 4, 0.6},
		{3, 4, 5, 0.4}}}}
	says(t, a.likely(), "4 replicas of y for €5.00 an hour (60%)")
	d.Chances[1].Probability = 0.6
	says(t, a.likely(), "Cheaper, and as sure by what came true: 4 replicas of y for €5.00 an "+
		"hour (60%). It misses the SLO where each latency is as late as in 0% of cases.",
		"no: even odds")
	a.Measurements[0].Fleets[0].Probability = 0.49
	says(t, a.likely(), "2 replicas of them")
}

// What is worth measuring is told with what it costs and saves, and how, unless the answer is told
// in brief.
func TestWordsOfMeasurements(t *testing.T) {
	m := Measurement{Label: "y", Daily: 72, Saving: 13000, Commands: []string{"serve", "bench"},
		Fleets: []CheaperFleet{{4, 5, 4, 0.6}}}
	a := &Answer{Chosen: &Deployment{}, Measurements: []Measurement{m, {Label: "z",
		Fleets: []CheaperFleet{{1, 1, 1, 0.3}}}}}
	says(t, a.page(Brief, false).all(), "a day of 1 replica of y ($72.00) is expected to save "+
		"$13,000 a year, since in 60% of cases 4 replicas for $5.00 an hour are enough.",
		"no: bench", "no: of z")
	says(t, a.page(Short, false).all(), "of y", "measure.yaml", "bench", "no: of z",
		"no: (the answer in")
	a.Confidence = 0.95
	for own, alike := range map[float64]bool{0.5: true, 0.61: true, 0.62: false} {
		a.Chosen.Chances = []Chance{{Replicas: 8, Probability: own, Low: own, High: own}, {}}
		words := a.page(Brief, false).all()
		says(t, words, map[bool]string{true: "in 60% of cases (the answer in " +
			units.Percent(own) + ") 4 replicas for $5.00 an hour are enough; but they miss the " +
			"SLO where each latency is as late as in 95% of cases.",
			false: "no: (the answer in"}[alike])
		says(t, words, map[bool]string{true: "Cheaper, and as sure by what came true: 4",
			false: "At even odds: 4"}[alike])
	}
	a.Measurements[1].Fleets[0].Probability = 0.62
	says(t, a.page(Whole, false).all(), "1 replica for $1.00 an hour is enough; but it misses")
	a.Measurements[1].Fleets[0].Probability, a.Chosen.Chances = 0.3, nil
	says(t, a.page(Whole, false).all(), "of y", "bench", "of z", "1 replica for $1.00 an hour is")
}

// What is not known, or not so, is not told.
func TestNothingIsSaidOfNothing(t *testing.T) {
	var law *Law
	var taken *Interrupted
	var advice *Advice
	var unproven *Unproven
	var tuned *Tuned
	var today *Today
	for k, words := range []string{law.words(true), taken.words(), plain(advice.blocks(1)),
		unproven.words(), strings.Join(append(tuned.words(nil), (&Tuned{}).words(nil)...), ""),
		tuned.tried(asked.Goal{}),
		(&Tuned{Simulations: 3}).tried(asked.Goal{}), plain(today.blocks("")),
		(&Deployment{}).fixed(""), (&Deployment{Scaled: &ScaledFleet{}}).fixed(""),
		(&Answer{}).alone(), plain(texts("", "")), plain(items(nil))} {
		if words != "" {
			t.Errorf("%d: %q", k, words)
		}
	}
}

// Figures of a fleet are in its words, with their units.
func TestWordsOfFleets(t *testing.T) {
	law := &Law{Replicas: 99, Simulated: 48, Whole: 64}
	says(t, law.words(true), "48 replicas were simulated", "more than 64 replicas")
	says(t, law.words(false), "48 replicas were simulated", "no: tests")
	says(t, (&Interrupted{Interruptions: 20, Hours: 2.5, Kept: 0.9}).words(),
		"20 preemptions of spot replicas in 2.5 hours",
		"90% meet the SLO")
	says(t, plain((&Advice{Replicas: 2, Slowdown: 1.5, Late: 2, Kept: 0.4,
		Insights: []string{"slow"}}).blocks(0.95)), "With 2 replicas, steps 1.5 times",
		"TTFT 3 times",
		"95% of cases", "40% of the requests", "slow")
	says(t, plain((&Advice{Kept: 0.986, Target: 0.99}).blocks(0.95)), "98.6% of the requests")
	d := &Deployment{Accelerators: 8}
	says(t, d.running(), "8 accelerators", "no: average")
	if d.MeanAccelerators() != 8 {
		t.Errorf("%g of 8 accelerators run", d.MeanAccelerators())
	}
	d.Scaled = &ScaledFleet{Fewest: 2, Mean: 2.5, Accelerators: 5, Fixed: 4, FixedHourly: 12}
	says(t, d.running(), "2.5 replicas on average, on 5 of at most 8 accelerators")
	says(t, d.fixed("EUR"), "is 4, for €12.00 an hour")
	if d.MeanAccelerators() != 5 {
		t.Errorf("%g accelerators run on average", d.MeanAccelerators())
	}
	d.Replicas, d.Label, d.Grade = 6, "l40s", evidence.Measured
	says(t, d.heading(0), "Answer: 2 to 6 replicas of l40s (measured)", "no: spare")
	d.Scaled = nil
	says(t, d.heading(1), "Answer: 6 replicas of l40s, 1 of them spare (measured)")
	says(t, (&Deployment{Users: 1, Sent: 2}).heading(0), "for 1 user who sends 2 requests a second")
	says(t, (&Deployment{Users: 3, Sent: 2}).heading(0), "for 3 users who send 2 requests a second")
	d.GPUHours, d.EnergyPerMillion, d.Carbon = 1.5, 70, 30
	says(t, strings.Join(d.more(), "\n"), "1.5 GPU-hours and at most 70 Wh", "30 g of CO2")
	d.Kept, d.KeptWithoutSpares, d.Carbon, d.Binds = 0.97, 0.93, 0, "p95 TPOT"
	d.Interrupted = &Interrupted{Interruptions: 5}
	says(t, strings.Join(d.more(), "\n"), "no: CO2", "5 preemptions")
	says(t, d.keeps(2), "97% of the requests meet it, 93% with 2 down; p95 TPOT binds.", "no: (")
	says(t, d.keeps(0), "no: down")
	d.Classes = []ClassKept{{"chat", 0.96}, {"code", 0.91}}
	says(t, d.keeps(0), "(96% of chat, 91% of code)", "no: down")
	says(t, d.emitted(), "No file starts it")
	d.Unstartable = "no engine"
	says(t, plain(d.start()), "No file starts it: no engine.")
	d.Launch, d.Lacks = []string{"vllm serve"}, nil
	says(t, plain(d.start()), "To start a replica:", "vllm serve", "no: What was simulated")
	says(t, d.emitted(), "--emit DIR")
	d.Lacks = []string{"routing"}
	says(t, plain(d.start()), "is not in it:", "routing")
}

// Rules without proof are told with what came of them.
func TestWordsOfRules(t *testing.T) {
	u := &Unproven{Rules: []string{"one", "two"}}
	says(t, u.words(), "Fleets were left out", "one; two.", "no: simulated in the end")
	u.Options, u.Checked = 1, 1
	says(t, u.words(), "Of 1 option, fleets", "1 of them were simulated", "none was better")
	u.Better = 1
	says(t, u.words(), "1 were better")
}

// Settings are told with their defaults, and what they bring in what the goal compares: the price
// of an hour or a job, the latency of the same fleet, or the rate.
func TestWordsOfSettings(t *testing.T) {
	a := &Answer{Chosen: &Deployment{Label: "x", Replicas: 2, Hourly: 4}, Rate: 7,
		Goal: asked.Goal{Measure: "p99_ttft_ms"}}
	tuned := &Tuned{Settings: []Setting{{Name: "--batch", Value: "9", Default: "5",
		Pool: "prefill"}, {Name: "--n", Value: "3", Default: "2"}}, Without: "y",
		WithoutReplicas: 3, WithoutHourly: 6.5}
	says(t, strings.Join(tuned.words(a), " "),
		"--batch 9 in place of 5 for prefill, --n 3 in place of 2.",
		"With the engine's defaults: 3 replicas of y, $6.50 an hour.", "no: the texts")
	tuned.Settings[1].Value, tuned.WithoutScaled = "fp8", true
	says(t, strings.Join(tuned.words(a), " "), "defaults: up to 3 replicas",
		"What the format of the cache does")
	a.Points = []Point{{Label: "x", Replicas: 3, Latency: 1}, {Label: "z", Replicas: 2,
		Latency: 2}, {Label: "x", Replicas: 2, Latency: 30}}
	says(t, strings.Join(tuned.words(a), " "), "y, $6.50 an hour.")
	tuned.WithoutLatency = 50
	says(t, strings.Join(tuned.words(a), " "), "p99_ttft_ms 50 ms in place of 30")
	a.Points, a.Jobs, tuned.WithoutJob = nil, []JobDone{{Dollars: 8}}, 9
	says(t, strings.Join(tuned.words(a), " "), "$9.00 in place of $8.00 for the job")
	for words, cache := range map[string]*Priced{"|": nil,
		"Without an FP8 cache: 1 replica of z, €5.00 an hour.|Without an FP8 cache: €5.00 an " +
			"hour.": {"z", 1, 5},
		"Without an FP8 cache, no fleet keeps the SLO.|Without an FP8 cache, no fleet keeps the " +
			"SLO.": {}} {
		tuned.PlainCache = cache
		if long, short := tuned.plainCache("EUR"); long+"|"+short != words {
			t.Errorf("%q and %q, want %q", long, short, words)
		}
	}
	tuned.PlainCache = &Priced{tuned.Without, tuned.WithoutReplicas, tuned.WithoutHourly}
	long, _ := tuned.plainCache("EUR")
	says(t, long, "Without an FP8 cache, as with the engine's defaults: 3 replicas of y, €6.50")
	says(t, strings.Join(tuned.words(a), " "), "no: With the engine's defaults")
	tuned.PlainCache, tuned.WithoutRate = nil, 6
	says(t, strings.Join(tuned.words(a), " "), "serve 6/s in place of 7/s")
	tuned.Tried, tuned.Simulations = 2, 8
	says(t, tuned.tried(a.Goal), "8 were of 2 settings", "no: none makes")
	tuned.Settings = nil
	says(t, tuned.tried(a.Goal), "none makes a fleet better")
	says(t, tuned.tried(asked.Goal{Find: asked.FindFront}), "no: none makes")
}

// What serves today keeps the SLO or misses it, has a price or not, and costs more or less.
func TestWordsOfToday(t *testing.T) {
	now := &Today{Replicas: 2, Label: "l40s", Kept: 0.8}
	says(t, plain(now.blocks("")), "2 replicas of l40s, without a price",
		"it misses the SLO (80%).",
		"no: the answer", "no: What to change")
	hourly, kept, met := 5.0, 0.95, true
	now.Hourly, now.AnswerKept, now.AnswerMet, now.Met = &hourly, &kept, &met, true
	now.Steps = []string{"go"}
	says(t, plain(now.blocks("")), "$5.00 an hour", "it keeps the SLO", "What to change", "go",
		"the answer keeps it (95%).")
	for saved, want := range map[float64]string{0: "and costs the same", -2: "$2.00 an hour more",
		2: "$2.00 an hour less"} {
		now.Saved = &saved
		says(t, now.beside(""), want, "no: -", "no: plan")
	}
	paid, planned := 10.0, 6.08
	now.Saved, now.SavedAsPlanned = &paid, &planned
	says(t, now.beside(""), "costs $10.00 an hour less if the replicas that stay cost what they "+
		"cost today, and $6.08 an hour less at the plan's price")
}

// A price has its terms, place and currency, and its source and date once.
func TestWordsOfPrices(t *testing.T) {
	p := &Price{Accelerator: "l40s", Hourly: 2, Currency: "USD", Term: "on-demand"}
	says(t, p.words(), "l40s at $2", "no source is given", "no date is known", "no: on-demand",
		"no: in ")
	p.Term, p.Region, p.Provider, p.Source, p.Date = "spot", "eu", "acme", "list", "2026-05"
	says(t, p.words(), "l40s spot in eu at", "acme, list, of 2026-05")
	p.Source, p.Date = "acme's list of 2026", "2026-05"
	says(t, p.words(), "no: acme, ", "no: of 2026-05")
	p.Date = "5"
	says(t, p.words(), "of 5")
	a := &Answer{}
	for k, c := range []struct {
		other Price
		want  bool
	}{{Price{Hourly: 3}, false}, {Price{Provider: "x"}, true}, {Price{Date: "x"}, true},
		{Price{Source: "x"}, true}} {
		if a.PricesOf = []Price{{}, c.other}; a.pricesDiffer() != c.want {
			t.Errorf("%d: prices differ %v", k, !c.want)
		}
	}
	a.PricesOf = nil
	if a.pricesDiffer() {
		t.Error("no prices differ")
	}
}

// A page names the chosen fleet's price, or the first twelve if it is whole, and how many more
// there are.
func TestPricesOfPages(t *testing.T) {
	a := &Answer{Model: "m", Load: "chat", Prices: "list"}
	for i := range 14 {
		a.PricesOf = append(a.PricesOf, Price{Accelerator: fmt.Sprint("gpu", i, "."),
			Chosen: i == 13,
			Source: "x"})
	}
	var g page
	a.addAsked(&g, true, false)
	says(t, g.all(), "m; chat", "Prices: list", "gpu0.", "gpu11.", "gpu13.", "no: gpu12.",
		"The sources of all prices", "no: differ")
	if len(g.ranked(asides)) != 2 || len(g.ranked(sources)) != 14 {
		t.Errorf("%+v", g)
	}
	a.PricesOf = a.PricesOf[2:]
	a.PricesOf[1].Date, a.Load = "2026", ""
	g = page{}
	a.addAsked(&g, true, true)
	says(t, g.all(), "m\n", "no: m;", "no: more prices", "These prices differ")
	if len(g.ranked(sources)) != 14 || len(g.ranked(asides)) != 1 {
		t.Errorf("%+v", g)
	}
	g = page{}
	a.Prices = ""
	a.addAsked(&g, false, false)
	says(t, g.all(), "gpu13.", "no: gpu3.", "no: Prices", "no: differ")
}

// Without an answer the nearest option is named, unless a job is asked for or no option can be
// built.
func TestPagesWithoutAnAnswer(t *testing.T) {
	a := &Answer{Pruned: []Pruned{{Example: "too large"}}}
	says(t, a.page(Brief, false).all(), "No option of the menu can be built.", "too large")
	a.Nearest = &Nearest{Label: "l40s", Kept: 0.5, Limit: "slow", Advice: &Advice{Replicas: 3}}
	says(t, a.page(Brief, false).all(), "No option meets", "nearest option is l40s, where 50%",
		": slow.", "no: With 3 replicas")
	says(t, a.page(Whole, false).all(), "With 3 replicas")
	a.Goal.Find = asked.FindJob
	says(t, a.page(Brief, false).all(), "No option is in time.", "no: nearest")
}

// Inputs that change the answer are named, at most five or two on a short page, and the others
// where it is whole.
func TestInputsThatChangeTheAnswer(t *testing.T) {
	a := &Answer{}
	var g page
	if a.addChanges(&g, true); len(g) != 0 {
		t.Errorf("%+v", g)
	}
	a.Sensitivity = []Sensitivity{{Input: "rate"}}
	a.addChanges(&g, false)
	says(t, g.all(), "wrong by 10%, among the settings tried, the answer is the same.",
		"no: nearest")
	a.Contenders = 7
	for i := range 7 {
		a.Sensitivity = append(a.Sensitivity, Sensitivity{Input: fmt.Sprint("input ", i),
			Answer: fmt.Sprint(i, " of x"), Changes: true})
	}
	g = page{}
	a.addChanges(&g, false)
	says(t, plain(g[0].ways[0]), "among the 7 nearest options, the answer is:", "0 of x: input 0.",
		"6 of x: input 6.", "no: rate")
	says(t, plain(g[0].ways[1]), "the answer changes with input 0, input 1, input 2, input 3, "+
		"input 4, input 5, input 6.")
	g = page{}
	a.addChanges(&g, true)
	says(t, g.all(), "6 of x: input 6.", "the same: rate.")
	a.Sensitivity = a.Sensitivity[1:6]
	g = page{}
	a.Sensitivity[3].Answer = a.Sensitivity[0].Answer
	a.addChanges(&g, false)
	says(t, plain(g[0].ways[0]), "0 of x: input 0, input 3.", "4 of x: input 4.")
	g = page{}
	a.addChanges(&g, true)
	says(t, g.all(), "no: the same")
}

// A fleet that would be cheaper alone is told beside other models, and the fleet for growth.
func TestOtherFleetsAreTold(t *testing.T) {
	a := &Answer{Joint: true, Chosen: &Deployment{Label: "x", Hourly: 10}, Shapes: []Shape{
		{Label: "none", Hourly: 1}, {Label: "y", Replicas: 2, Hourly: 10},
		{Label: "z", Replicas: 3, Hourly: 9}}}
	says(t, a.alone(), "3 replicas of z for $9.00 an hour")
	if a.Joint = false; a.alone() != "" {
		t.Errorf("one model: %q", a.alone())
	}
	a.Growth = &Growth{2, Priced{"w", 4, 20}}
	var g page
	a.addOthers(&g, false)
	says(t, g.all(), "Next: 2 replicas of y", "For 2 times the rate: 4 replicas of w, $20.00")
	a.Growth.Replicas = 0
	g = page{}
	a.addOthers(&g, true)
	says(t, g.all(), "For 2 times the rate no option", "no: Next")
	a.Growth = nil
	h := &Horizon{Months: 24, Growth: 0.08, TooFew: []string{"v"}}
	says(t, plain(h.brief(a)), "Over 24 months with 8% more each month, no server", "too few are v")
	h.Kinds = []HorizonKind{{"x", []int{1, 2}, 120}, {"y", []int{1, 1}, 150}}
	h.TwiceRegret = new(float64)
	h.Rentals, h.Cost = []Rental{{"x", 1, 12, 1, 24, 90, 1, ""}, {"x", 2, 1, 2, 3, 30, 1, ""}}, 120
	says(t, plain(h.brief(a)), "the least cost is $120, with one kind of server at a time.",
		"Only y would cost $30 more",
		"Rent now: 1 replica of x, committed for 2 times 12 months ($90).",
		"Then 2 replicas of x from month 2 to month 3, by the month ($30).", "half and with twice",
		"no: Without commitments", "no: after the horizon", "no: later rental")
	short := *h
	short.Rentals = append(slices.Clone(h.Rentals), Rental{"x", 1, 1, 4, 4, 11, 1, ""},
		Rental{"y", 3, 1, 5, 9, 29, 1, ""})
	says(t, plain(short.brief(a)), "by the month ($30), and 2 later rentals ($40).")
	h.Months = 21
	says(t, plain(h.brief(a)), "A commitment of 12 months is paid to its end, 3 months after the")
	h.Months = 24
	h.Uncommitted, h.Rentals[1].Share = 150, 0.4
	says(t, plain(h.brief(a)), "Without commitments it would cost $30 more.",
		"to month 3, by the hour for 40% of the time ($30).")
	h.Rentals[1].From = 3
	says(t, plain(h.brief(a)), "x in month 3, by the hour for 40% of the time ($30).")
	for paid, words := range map[string]string{"": " in month 1, by the month",
		asked.Owned: ", bought and counted in month 1", asked.Reserved: ", reserved in month 1"} {
		says(t, (&Rental{"x", 1, 1, 1, 1, 9, 1, paid}).words(a), "1 replica of x"+words+" ($9)")
	}
	*h.TwiceRegret = 7
	says(t, plain(h.brief(a)), "costs $0 too much if the load grows half as fast, and $7 if")
	h.TwiceRegret = nil
	h.Change = 5
	says(t, plain(h.brief(a)), "twice as fast is more than is planned for", "no: No change is paid")
	h.Kinds = h.Kinds[:1]
	says(t, plain(h.brief(a)), "no: No change is paid")
	says(t, plain(h.tables(a)), "Too few to serve alone to the end: v.")
	h.TooFew = nil
	says(t, plain(h.brief(a)), "No change is paid: there is one kind of server to rent.")
	says(t, plain(h.tables(a)), "x needs 1 2 replicas, month by month; alone it costs $120.")
	h.Mixed = []MixedFleet{{From: 3, To: 4, Older: "x", Kept: 8, Newer: "z", Added: 1, Seeds: 3,
		Requests: 2000, Reduced: 0.99, Share: 1, TTFT: 500, TPOT: 25}}
	h.OneByOne = &OneByOne{Cost: 216, Changes: 1}
	says(t, plain(h.brief(a)), "$120, with two kinds at once from month 3 to 4: 8 replicas of x "+
		"beside 1 of z.", "One kind at a time would cost $96 more ($4 a month), with 1 change of")
	h.Mixed = append(h.Mixed, h.Mixed[0])
	h.Mixed[1].From, h.Mixed[1].To, h.Mixed[1].Added = 5, 5, 2
	h.OneByOne.Changes, h.Kinds[0].Cost = 0, 216
	says(t, plain(h.brief(a)), "from month 3 to 5: 8 replicas of x beside 1 of z, at last 2.",
		"Only x would cost $96 more ($4 a month).", "no: One kind at a time")
	says(t, plain(h.tables(a)), "Months 3 to 4, 8 replicas of x beside 1 of z: 100% of 2,000 "+
		"requests meet the SLO, p99 TTFT 500 ms and TPOT 25 ms; as slow as they may be, at least "+
		"99% with each of 3 seeds.", "Month 5, 8 replicas of x beside 2 of z")
	a.Spare = 1
	says(t, plain(h.tables(a)), "25 ms; with spares down, and as slow as they may be, at least")
	if s := h.drawMixed(); len(s) != 2 || !slices.Equal(s[0].Y, []float64{8, 8, 8}) ||
		!slices.Equal(s[1].X, []float64{3, 4, 5}) || !slices.Equal(s[1].Y, []float64{1, 1, 2}) {
		t.Errorf("%+v", s)
	}
	a.Goal.Find = asked.FindFront
	for i := range 12 {
		a.Points = append(a.Points, Point{Label: fmt.Sprint("p", i), Replicas: 1, Latency: 1,
			Front: true})
	}
	g = page{}
	a.addOthers(&g, false)
	for k, n := range []int{10, 5, 2} {
		if got := len(g[0].ways[k][0].Rows); got != n {
			t.Errorf("way %d has %d rows, want %d", k, got, n)
		}
	}
	says(t, plain(g[0].ways[0]), "All are in plan.json")
	g = page{}
	if a.addOthers(&g, true); len(g) != 0 {
		t.Errorf("%+v", g)
	}
}

// Rates are told by the second, and by the hour where they are below a twentieth.
func TestWordsOfRates(t *testing.T) {
	for rate, want := range map[float64]string{0: "no: /", 0.05: "0.05/s, ", 0.04: "144/h, ",
		3: "3/s, "} {
		says(t, (&Answer{Rate: rate}).slo(), want, "no: down")
	}
	a := &Answer{Spare: 2, ClassSLOs: []ClassSLO{{Class: "chat"}, {Class: "code"}}}
	says(t, a.slo(), "chat ", "; code ", "; also with 2 down")
}

// A page of a fleet has its price, what binds and, of a job, its hours, and what else is known on
// whole pages alone.
func TestPagesOfFleets(t *testing.T) {
	d := &Deployment{Label: "l40s", Replicas: 2, Accelerators: 2, Hourly: 4, PerMillion: 0.5,
		Kept: 0.97, Binds: "TPOT", Insights: []string{"memory is full"},
		OneFewer: &Advice{Replicas: 1}, Law: &Law{Simulated: 48}, Launch: []string{"serve"},
		Sold: &scenarios.TokenRevenue{}}
	a := &Answer{Name: "shop", Chosen: d, Rate: 3, Warnings: []string{"a key"}, SentOn: "sent on",
		Options: 9, Simulations: 5, Further: 7, Confidence: 0.95,
		Pruned: []Pruned{{Why: "too dear", Options: 4, Example: "such as x"}},
		Shapes: []Shape{{Label: "l40s", Limit: "misses TPOT"}}, Today: &Today{Label: "a100"}}
	brief, whole := a.page(Brief, false), a.page(Whole, false)
	says(t, brief.all(), "Answer: 2 replicas of l40s", "Cost: $4.00 an hour for 2 accelerators; "+
		"$0.5 for a million", "SLO: 3/s, ", "97% of the requests meet it; TPOT binds.",
		"48 replicas", "a key",
		"sent on", "are worth", "a100", "no: memory is full", "no: With 1 replica", "no: shop",
		"no: serve", "no: 5 simulations", "no: misses TPOT")
	says(t, whole.all(), "shop", "memory is full", "With 1 replica", "serve", "9 options, 5 "+
		"simulations to find the answer and 7 for", "95% confidence", "4 not simulated: too dear. "+
		"such as x", "misses TPOT", "of 0 classes"[:0])
	says(t, a.page(Short, false).all(), "shop", "serve", "no: memory is full")
	says(t, a.page(Short, true).all(), "shop", "no: serve")
	says(t, a.page(Brief, true).all(), "shop")
	gaps := func(g *page) (n int) {
		list, _ := g.blocks(unlimited)
		for _, b := range list {
			if b.Kind == doc.Gap {
				n++
			}
		}
		return n
	}
	all := gaps(whole)
	a.Sensitivity = []Sensitivity{{Input: "rate"}}
	if gaps(a.page(Whole, false)) != all {
		t.Error("two gaps before what serves today and what would change the answer")
	}
	a.Today = nil
	if gaps(a.page(Whole, false)) != all {
		t.Error("no gap before what would change the answer")
	}
	a.Sensitivity = nil
	if gaps(a.page(Whole, false)) != all-1 {
		t.Error("a gap before nothing")
	}
	d.JobHours, d.JobShare = 12, 1
	a.Jobs = []JobDone{{Hours: 15, Dollars: 60, InTime: 0.9, Grade: evidence.Here}}
	job := a.page(Brief, false).all()
	says(t, job, "The whole job simulated", "takes 12 hours", "demands: 15 hours, $60.00.",
		"in time in 90%", "no: binds", "no: left out of the fit")
	d.JobShare, a.Jobs = 0.25, nil
	says(t, a.page(Brief, false).all(), "simulated 25% of the job take 12 hours", "about 48.",
		"no: demands")
	j := JobDone{Grade: evidence.Measured, InTime: 0.5}
	_, record := j.Grade.Supported(0.5, false)
	says(t, j.odds(), fmt.Sprintf("came true in %s of", units.Count(int64(record.Kept))),
		"(measured)", "in 50%")
}

// The totals of a page are over all models.
func TestTotalsAreOfAllModels(t *testing.T) {
	one := func(n int) *Answer {
		return &Answer{Name: fmt.Sprint("model", n), Options: n, Simulations: 10 * n,
			Further: 100 * n, Chosen: &Deployment{Label: "l40s"}, Failed: n}
	}
	a := &Answers{Models: []*Answer{one(1), one(2)}, Accelerators: 6, Hourly: 7}
	write := func(level Level) string {
		var out strings.Builder
		testkit.OK(t, a.Write(&out, level))
		return out.String()
	}
	says(t, write(Short), "model1", "model2", "Together: 6 accelerators, $7.00 an hour.",
		"More: --details", "no: several sources")
	says(t, write(Brief), "Together", "no: More")
	if a.Failed() != 3 || !a.Met() || !a.Buildable() {
		t.Errorf("%d failed, met %v", a.Failed(), a.Met())
	}
	a.Models[1].PricesOf = []Price{{Date: "1"}, {Date: "2"}}
	says(t, write(Short), "Prices are of several sources. More: ")
	a.Models[0].Chosen, a.Models[0].Nearest = nil, &Nearest{}
	if a.Met() || !a.Buildable() {
		t.Error("a model without a fleet is met or cannot be built")
	}
	if a.Models[0].Nearest = nil; a.Buildable() {
		t.Error("a model without an option can be built")
	}
	a.Models = a.Models[1:]
	says(t, write(Short), "no: Together", "More: --details")
}

// A fleet dominates another that is no better in anything and worse in something, so none
// dominates itself, and of two at most one does.
func TestDomination(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (p Point) {
			for _, x := range []*float64{&p.Hourly, &p.Latency, &p.Energy} {
				*x = float64(rapid.IntRange(0, 2).Draw(t, name))
			}
			return p
		}
		p, q := draw("one"), draw("other")
		better, worse := 0, 0
		for _, x := range [][2]float64{{p.Hourly, q.Hourly}, {p.Latency, q.Latency},
			{p.Energy, q.Energy}} {
			if x[0] < x[1] {
				better++
			} else if x[0] > x[1] {
				worse++
			}
		}
		if p.Dominates(&q) != (better > 0 && worse == 0) {
			t.Fatalf("%+v dominates %+v: %v", p, q, p.Dominates(&q))
		}
	})
}

// The tables of each goal have a row for each fleet, with its figures in the plan's currency.
func TestTablesOfGoals(t *testing.T) {
	a := &Answer{Currency: units.Currency("EUR"), Goal: asked.Goal{Find: asked.FindFront,
		Measure: "p99_ttft_ms"}, Points: []Point{
		{Label: "c", Replicas: 3, Hourly: 9, Latency: 5, Energy: 7, Front: true, Grade: "measured"},
		{Label: "beaten", Hourly: 1}, {Label: "b", Replicas: 2, Hourly: 3, Latency: 9, Front: true},
		{Label: "a", Replicas: 1, Hourly: 3, Latency: 8, Front: true}}}
	says(t, plain(a.tables()), "(3 of 4 that keep the SLO)",
		"replicas | €/h | p99_ttft_ms | Wh/1M | "+
			"evidence\n1 of a | 3.00 | 8 | ", "2 of b", "3 of c | 9.00 | 5 | 7 | measured",
		"no: beaten", "no: plan.json")
	for range mostRows {
		a.Points = append(a.Points, Point{Front: true})
	}
	says(t, plain(a.tables()), "All are in plan.json")
	a.Goal.Find = asked.FindThroughput
	a.Throughputs = []Throughput{{Label: "x", Replicas: 4, Rate: 2.5, Hourly: 8, Watts: 1400,
		Grade: "measured"}}
	says(t, plain(a.tables()), "replicas | 1/s | €/h | peak power",
		"4 of x | 2.5 | 8.00 | 1.4 kW | "+
			"measured")
	a.Goal.Find = asked.FindJob
	a.Jobs = []JobDone{{Label: "u", Replicas: 1, Requests: 77, Hours: 2, Dollars: 3,
		PerMillion: 0.4,
		Grade:      evidence.Relative}, {Label: "v", Replicas: 2, Hours: 3, Dollars: 5,
		Grade: evidence.Measured}, {Label: "w", Dollars: 6, Grade: evidence.Here}}
	says(t, plain(a.tables()), "77 requests;", "1 of u | 2 | 3.00 | 0.4 | relative", "2 of v",
		"measured: 2 replicas of v, €5.00, 3 hours.", "no: spot", "no: in proportion")
	a.Jobs[1].Interruptions, a.Jobs[2].Interruptions = 0.2, 0.1
	a.Chosen = &Deployment{JobShare: 0.25}
	says(t, plain(a.tables()), "up to 20% longer", "25% of the requests were simulated")
	for share := range map[float64]bool{0: true, 1: true} {
		a.Chosen.JobShare = share
		says(t, plain(a.tables()), "no: in proportion")
	}
	a.Jobs[0].Grade, a.Jobs[1].Grade = evidence.Measured, evidence.Relative
	says(t, plain(a.tables()), "no: was measured:") // the answer was
	a.Jobs[0].Grade = evidence.Relative
	says(t, plain(a.tables()), "measured: 0 replicas of w")
	a.Jobs = a.Jobs[:2]
	says(t, plain(a.tables()), "no: was measured:")
}

// A kind of replica has what is known of it, and a dash for the rest; and where the fewest
// accelerators serve more than a tenth less, each, than more of them, that is told.
func TestTablesOfShapes(t *testing.T) {
	a := &Answer{Shapes: []Shape{{Shape: "1 × g", Label: "1 × g, l", Accelerator: "g", GPUs: 1,
		Rate: 1, KVTokens: 5000, Replicas: 4, Hourly: 8, PerMillion: 0.7, Limit: "memory"}}}
	says(t, plain(a.tables()), "1 × g | 5 | 1 | 4 | 8 | 0.7 | ", "What limits each:",
		"1 × g, l: memory", "no: ≥", "no: more kinds", "no: xP+yD",
		"no: cheapest fleet")
	a.Shapes[0].Fewest = 2
	says(t, plain(a.tables()), "| 2–4 |")
	a.Shapes = append(a.Shapes, Shape{Shape: "2P+1D of h", Accelerator: "h", Rate: 9, GPUs: 1},
		Shape{Shape: "1 × h", Accelerator: "h", GPUs: 1, AtLeast: 12})
	a.FurtherShapes = 3
	a.BestMeasured = &Shape{Label: "b", Replicas: 1, Hourly: 2, Grade: evidence.Measured}
	says(t, plain(a.tables()), "2P+1D of h | – | 9 | – | – | – | ",
		"1 × h | – | – | – | ≥ 12 | – | ",
		"≥: a bound from below", "3 more kinds", "xP+yD: a group",
		"was measured: 1 replica of b, "+
			"$2.00 an hour", "no: No fleet above")
	a.BestMeasured.Grade = evidence.Relative
	says(t, plain(a.tables()), "No fleet above was measured", "(relative): 1 replica of b")
	if got := a.tightest(); got != nil {
		t.Errorf("%q", got)
	}
	for rate, want := range map[float64]bool{4.4: false, 4.5: true} {
		a.Shapes[0].Rate = 1
		a.Shapes[2] = Shape{Shape: "4 × g", Accelerator: "g", GPUs: 4, Rate: rate, KVTokens: 9000}
		got := strings.Join(a.tightest(), "")
		if (got != "") != want {
			t.Errorf("%g for four: %q", rate, got)
		}
		if want {
			says(t, got, "1 × g holds the model, and leaves KV memory for 5,000 tokens: 1 requests",
				"4 × g hold 9,000 tokens, and serve 1.12 for each")
		}
	}
	a.Shapes[0].GPUs, a.Shapes[0].Shape = 2, "2 × g"
	slices.Reverse(a.Shapes)
	says(t, strings.Join(a.tightest(), ""), "2 × g hold the model, and leave KV", ": 0.5 requests")
}

// Times the replicas without the spares, the requests a second of each are the load or more, as
// they are printed; and where that is more than a replica bears alone, it is marked and said.
func TestFleetsBearTheLoadAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &Answer{Rate: rapid.Float64Range(0.001, 5000).Draw(t, "load"),
			Spare: rapid.IntRange(0, 2).Draw(t, "spare")}
		n := rapid.IntRange(1, 300).Draw(t, "replicas")
		alone := a.Rate / float64(n) * rapid.SampledFrom([]float64{0.3, 0.999, 1, 1.001,
			2}).Draw(t, "of its share")
		a.Shapes = []Shape{{Label: "x", Shape: "x", Rate: alone, Replicas: n + a.Spare, GPUs: 1,
			Limit: "it waits"}}
		words := plain(a.tables())
		printed := a.rateEach(&a.Shapes[0])
		digits, marked := strings.CutSuffix(strings.ReplaceAll(printed, ",", ""), "*")
		each, err := strconv.ParseFloat(digits, 64)
		if err != nil || !strings.Contains(words, "| "+printed+" | ") {
			t.Fatalf("%q, %v, in\n%s", printed, err, words)
		}
		if each*float64(n) < a.Rate*(1-1e-9) || each > 1.01*max(alone, a.Rate/float64(n)) {
			t.Fatalf("%d replicas at %s/s each for %g/s, and %g/s alone", n, printed, a.Rate,
				alone)
		}
		less := alone < a.Rate/float64(n)*(1-1e-9)
		if marked != less || strings.Contains(words, "*: of a fleet") != less ||
			strings.Contains(words, "one alone sustains "+units.FigureOfRate(alone)+
				"; it waits") != less {
			t.Fatalf("marked: %v, in\n%s", marked, words)
		}
	})
}

// Every option has a row of the CSV, in order, from which its bound can be read exactly.
func TestRowsOfOptions(t *testing.T) {
	a := &Answer{Outcomes: []Outcome{{"a, b", "chosen", "why", 1.0 / 3}, {"c", "dear", "", 0}}}
	var out strings.Builder
	testkit.OK(t, a.WriteCSV(&out))
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	testkit.OK(t, err)
	if len(rows) != 3 || rows[0][0] != "option" {
		t.Fatalf("%q", rows)
	}
	for i, o := range a.Outcomes {
		bound, err := strconv.ParseFloat(rows[i+1][3], 64)
		testkit.OK(t, err)
		if got := (Outcome{rows[i+1][0], rows[i+1][1], rows[i+1][2], bound}); got != o {
			t.Errorf("%+v, want %+v", got, o)
		}
	}
	broken := failing{}
	if err := a.WriteCSV(broken); err == nil {
		t.Error("a write that fails is no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A front is drawn where there is one, with all that it says of fleets: a picture changes with the
// price and latency of each, beaten or not, and with the energy by which the front is divided.
func TestFrontsAreDrawn(t *testing.T) {
	draw := func(change func(p []Point)) string {
		dir := t.TempDir()
		a := &Answer{Goal: asked.Goal{Measure: "p99_ttft_ms"}, Points: []Point{{Hourly: 1,
			Latency: 9,
			Energy:  3}}}
		for i := range 4 {
			a.Points = append(a.Points, Point{Hourly: float64(i), Latency: float64(9 - i),
				Front: true, Energy: float64(6 - i)})
		}
		change(a.Points)
		testkit.OK(t, a.WriteFront(dir))
		list, err := filepath.Glob(filepath.Join(dir, "front*"))
		if testkit.OK(t, err); len(list) == 0 {
			return ""
		}
		return string(testkit.Read(t, list[0]))
	}
	seen := map[string]int{}
	for k, change := range []func(p []Point){
		func([]Point) {}, func(p []Point) { p[0].Latency++ }, func(p []Point) { p[0].Hourly++ },
		func(p []Point) { p[2].Latency++ }, func(p []Point) { p[2].Energy = 9 },
		func(p []Point) { p[0].Front = true }, func(p []Point) { p[4].Energy = 2.5 },
	} {
		picture := draw(change)
		if other, known := seen[picture]; known || picture == "" {
			t.Errorf("change %d is drawn like change %d, in %d bytes", k, other, len(picture))
		}
		seen[picture] = k
	}
	if draw(func(p []Point) {
		for i := range p {
			p[i].Front = false
		}
	}) != "" {
		t.Error("no front is drawn")
	}
}
