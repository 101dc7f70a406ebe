package diagnosis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// bounds lists what may bound a step.
func allBounds() []steptime.Bound {
	return []steptime.Bound{steptime.Compute, steptime.Memory, steptime.Latency, steptime.Network,
		steptime.Host, steptime.Tiles, steptime.Drafts}
}

// ms writes milliseconds.
func ms(x float64) string { return units.FormatDuration(x / 1000) }

// says fails the test unless the text has exactly those of the words that are wanted.
func says(t *rapid.T, text string, want map[string]bool) {
	t.Helper()
	for words, is := range want {
		if strings.Contains(text, words) != is {
			t.Errorf("%q is said: %v, want %v:\n%s", words, !is, is, text)
		}
	}
}

// Of three shares the worst is the least, and its latency the first that has it.
func TestWorst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.SampledFrom([]float64{0, 0.5, 0.9, 1})
		a := metrics.Attainment{TTFT: share.Draw(t, "ttft"), TPOT: share.Draw(t, "tpot"),
			E2E: share.Draw(t, "e2e")}
		latency, kept := Worst(&a)
		list := []float64{a.TTFT, a.TPOT, a.E2E}
		least := slices.Min(list)
		if kept != least || latency != []string{"TTFT", "TPOT", "E2E"}[slices.Index(list, least)] {
			t.Errorf("the worst of %+v is %s, %g", a, latency, kept)
		}
	})
}

// busyResult is a run in which nothing stands out: every share is at the edge of being the cause.
func busyResult() *scenarios.Result {
	r := &scenarios.Result{Diagnosis: &scenarios.Diagnosis{Load: scenarios.KeepsUp, Prompts: 0.25,
		Decoding: 0.75}, Prefill: &scenarios.Phenomenon{Tokens: 512, Step: 40,
		Bound: steptime.Compute},
		Decode: &scenarios.Phenomenon{Batch: 8, Step: 20, Plain: 10, Bound: steptime.Memory}}
	r.Phases = &metrics.Phases{MeanQueue: 5, MeanPrefill: 5}
	r.PeakKVUsage, r.PeakBatch, r.Completed, r.Busy, r.MeanTPOT = 0.97, 3, 100, 0.9, 15
	r.Preemptions = 5
	return r
}

// A cause is named as soon as its figure passes the edge, and not at the edge. The first of several
// is named, each with its times, and what is the cause of the first token alone for that alone.
func TestCauseBeginsAtItsEdge(t *testing.T) {
	plain := "steps run 90% of the time, and a step that decodes for 8 sequences takes 20 ms on " +
		"average, bound by memory bandwidth"
	beyond := []struct {
		first, other bool
		words        string
		pass         func(r *scenarios.Result)
	}{
		{true, false, "requests wait for KV memory, which is full (3 sequences at most)",
			func(r *scenarios.Result) { r.PeakKVUsage, r.MeanQueue = 0.971, 5.1 }},
		{true, true, "KV memory runs out: 6 preemptions in 100 requests",
			func(r *scenarios.Result) { r.Preemptions = 6 }},
		{true, false, "a prompt of 512 tokens alone takes 40 ms, bound by compute",
			func(r *scenarios.Result) { r.Busy = 0.895 }},
		{false, true, "take 25% of the time of steps: a token takes 16 ms on average, a step " +
			"without prompts 10 ms", func(r *scenarios.Result) { r.MeanTPOT = 16 }},
	}
	for i, c := range beyond {
		for _, first := range []bool{true, false} {
			want := map[bool]string{true: c.words, false: plain}[first && c.first || !first &&
				c.other]
			r := busyResult()
			if got := Cause(r, first); got != plain {
				t.Errorf("at the edge: %q, want %q", got, plain)
			}
			c.pass(r)
			if got := Cause(r, first); !strings.HasSuffix(got, want) {
				t.Errorf("the first %v: %q, want %q", first, got, want)
			}
			for _, later := range beyond[i+1:] { // what comes after it changes nothing
				later.pass(r)
			}
			if got := Cause(r, first); want == c.words && !strings.HasSuffix(got, want) {
				t.Errorf("with all others, the first %v: %q, want %q", first, got, want)
			}
		}
	}
	r := busyResult()
	r.MeanTPOT, r.Pools = 100, []scenarios.PoolResult{{Role: "prefill"}, {Role: "decode"}}
	if got := Cause(r, false); got != plain {
		t.Errorf("where prompts are computed apart: %q, want %q", got, plain)
	}
	r.Decode = nil
	if got := Cause(r, false); got != "steps run 90% of the time" {
		t.Errorf("without decoding: %q", got)
	}
}

// A phase says its bound, its share and its time; of steps that decode also drafts, and prompts
// beside them if there is one token to speak of.
func TestPhases(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range allBounds() {
		seen[BoundWords(b)], seen[shareWords(b)] = true, true
	}
	if len(seen) != 2*len(allBounds())-1 { // drafting is both
		t.Errorf("%d bounds have the words %v", len(allBounds()), seen)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &scenarios.Phenomenon{Batch: rapid.IntRange(1, 3).Draw(t, "batch"),
			Step:    rapid.Float64Range(1, 100).Draw(t, "step"),
			Plain:   rapid.SampledFrom([]float64{0, 1.5}).Draw(t, "plain"),
			Prompts: rapid.SampledFrom([]float64{0, 0.49, 0.5, 7}).Draw(t, "prompts"),
			Share:   rapid.Float64Range(0, 1).Draw(t, "share"),
			Bound:   rapid.SampledFrom(allBounds()).Draw(t, "bound")}
		p.Tokens = p.Batch + rapid.IntRange(0, 2).Draw(t, "drafted")
		lines := phases(p, p)
		share := fmt.Sprintf("takes %s, %.0f%% of it %s.", ms(p.Step), 100*p.Share,
			shareWords(p.Bound))
		says(t, lines[0], map[string]bool{
			"Prefill is bound by " + BoundWords(p.Bound): true,
			units.Plural(p.Tokens, "token") + " alone":   true, share: true})
		beside := p.Prompts >= 0.5
		says(t, lines[1], map[string]bool{"Decode is bound by " + BoundWords(p.Bound): true,
			"a step for " + units.Plural(p.Batch, "sequence"): true, ms(p.Step) +
				" on average": true,
			", drafts included " + units.Plural(p.Tokens, "token") + ",":     p.Tokens > p.Batch,
			fmt.Sprintf("%.0f%% of it %s", 100*p.Share, shareWords(p.Bound)): true,
			"prompt token":               beside,
			" and 1 prompt token takes":  p.Prompts == 0.5,
			" and 7 prompt tokens takes": p.Prompts == 7,
			"; without prompts 1.5 ms.":  beside && p.Plain > 0,
			"without prompts":            beside && p.Plain > 0})
		if len(phases(p, nil)) != 1 || len(phases(nil, nil)) != 0 {
			t.Errorf("a phase without steps says something")
		}
	})
}

// Each change that was tried is described where it helps, four at most, or is named among the ones
// that do not help. What a change does is what its figures say.
func TestRemedies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &scenarios.Diagnosis{}
		var helps, rest []string
		for i := range rapid.IntRange(0, 7).Draw(t, "tried") {
			m := scenarios.Remedy{Change: fmt.Sprintf("change %d", i), Set: []string{"a=1", "b=2"},
				Helps: rapid.Bool().Draw(t, "helps"), Met: rapid.Bool().Draw(t, "met"),
				Requests: 100,
				Price: rapid.SampledFrom([]float64{0, 0.994, 0.996, 1.004, 1.006}).Draw(t,
					"price"),
				Kept: [2]float64{0.251234, 0.501234}, TTFT: [2]float64{40, 20}}
			for k := range m.TPOT {
				m.TPOT[k] = rapid.SampledFrom([]float64{0, 8}).Draw(t, "tpot")
			}
			d.Remedies = append(d.Remedies, m)
			if m.Helps {
				helps = append(helps, m.Change)
				says(t, remedySentence(&m), map[string]bool{"tried with 100 requests: " +
					m.Change: true,
					"50.1% of the requests meet the SLO instead of 25.1%": true,
					"p99 TTFT is 20 ms instead of 40 ms":                  true,
					"p99 TPOT 8 ms instead of 8 ms":                       m.TPOT[0]*m.TPOT[1] > 0,
					"p99 TPOT":                                            m.TPOT[0]*m.TPOT[1] > 0,
					": the SLO is met":                                    m.Met,
					", at " + units.Significant(m.Price, 3) + " times": m.Price == 0.994 ||
						m.Price == 1.006,
					" times the price": m.Price == 0.994 ||
						m.Price == 1.006,
					"(--set 'a=1' --set 'b=2').": true})
				continue
			}
			rest = append(rest, m.Change)
		}
		got := Remedies(d)
		helps = helps[:min(len(helps), 4)]
		n := len(helps)
		if len(rest) > 0 {
			helps = append(helps, "Tried, and no help: "+strings.Join(rest, "; ")+".")
		}
		if len(got) != len(helps) {
			t.Fatalf("%q, want %q", got, helps)
		}
		for i := range got {
			if i < n && !strings.Contains(got[i], ": "+helps[i]+". ") || i == n &&
				got[i] != helps[i] {
				t.Errorf("%q, want %q", got[i], helps[i])
			}
		}
	})
}

// What is sold is worth its parts. The margin is said by its sign, and cached input with its share
// of prompt tokens.
func TestSold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &scenarios.TokenRevenue{Input: 3, InputDollars: 2, OutputDollars: 4,
			Cached: rapid.SampledFrom([]float64{0, 1}).Draw(t, "cached")}
		s.CachedDollars = s.Cached / 2
		s.Hourly = s.InputDollars + s.CachedDollars + s.OutputDollars
		margin := rapid.SampledFrom([]float64{-1.5, 0, 2.25}).Draw(t, "margin")
		if known := rapid.Bool().Draw(t, "known"); known {
			s.Margin = &margin
		}
		known := s.Margin != nil
		says(t, DescribeRevenue(s, ""), map[string]bool{fmt.Sprintf("$%.2f", s.Hourly): true,
			", $1.50 less than the fleet costs: $2.00": known && margin < 0,
			", $0.00 more than the fleet costs: ":      known && margin == 0,
			", $2.25 more than the fleet costs: ":      known && margin > 0,
			"than the fleet":                           known,
			"$2.00 for input, ":                        true, "$4.00 for output": true,
			"$0.50 for cached input (25% of prompt tokens), ": s.Cached > 0,
			"cached": s.Cached > 0})
	})
	if got := DescribeRevenue(&scenarios.TokenRevenue{}, ""); strings.Contains(got, "NaN") {
		t.Errorf("nothing is sold: %q", got)
	}
}

// Why requests miss their SLO is said where they do, for the latency that the fewest keep; where
// more arrives than is served, that is said in its place.
func TestMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := busyResult()
		r.SLO.TTFT.Request = scenarios.Span(rapid.SampledFrom([]sim.Time{0, sim.Second}).Draw(t,
			"limit"))
		r.SLOMet = rapid.Bool().Draw(t, "met")
		r.Completed = rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "completed")
		r.Preemptions = 0
		r.Attainment = metrics.Attainment{TTFT: 0.5, TPOT: 0.251234, E2E: 0.75}
		r.OfferedRate, r.Diagnosis.Served = 7.1234, 6.1234
		r.Diagnosis.Early, r.Diagnosis.Late = 10, 20
		if rapid.Bool().Draw(t, "overloaded") {
			r.Diagnosis.Load = scenarios.Overloaded
		}
		if rapid.Bool().Draw(t, "by class") {
			r.ClassSLOs = map[string]scenarios.SLO{"a": {Percentile: 1}}
		}
		r.SpeculationResult = rapid.SampledFrom([]*scenarios.SpeculationResult{nil, {},
			{Drafts: 1, TokensPerStep: 2.5, AcceptanceRate: 50, DraftTime: 0.125,
				WastedFLOPs: 0.25},
			{Drafts: 1, Speedup: &scenarios.Speedup{TPOT: 1.5, OutputThroughput: 1.25}}}).Draw(t,
			"drafts")
		over := r.Diagnosis.Load == scenarios.Overloaded
		missed := !over && !r.SLOMet && r.Completed > 0 && r.SLO.Joint() && !r.ByClass()
		want := map[string]bool{
			"Overloaded: 7.12 requests/s arrive and 6.12/s are": over, "from 10 to 20,": over,
			"miss its limit of TPOT, which 25.1% keep: " + Cause(r, false) + ".": missed}
		says(t, strings.Join(Missed(r), " "), want)
		want["Overloaded: 7.12 requests/s arrive and 6.12/s are"] = over && r.Completed > 0
		want["from 10 to 20,"] = over && r.Completed > 0
		want["25% goes into prompts and 75% into decoding."] = r.Completed > 0
		drafts, sped := r.SpeculationResult != nil && r.Drafts > 0, false
		if drafts {
			sped = r.Speedup != nil
		}
		want["A step gives a sequence "] = drafts
		want["2.50 tokens: 50% of the drafted ones are accepted; drafting takes 12% of the time, "+
			"and 25% of the arithmetic is wasted."] = drafts && !sped
		want["1.50 times as fast as without drafts, and output throughput is 1.25 times"] = sped
		r.Kinds = make([]scenarios.KindResult, rapid.IntRange(1, 2).Draw(t, "kinds"))
		r.Pools = []scenarios.PoolResult{{Name: "p", Prefill: r.Prefill}, {Name: "d",
			Decode: r.Decode}}
		one := len(r.Kinds) == 1
		want["Prefill is bound by"], want["Decode is bound by"] = one, one
		want["Pool p: prefill is"], want["Pool d: decode is bound"] = !one, !one
		list := Of(r)
		text := strings.Join(list, " ")
		says(t, text, want)
		if n := strings.Count(text, r.Kinds[0].Evidence.Sentence()); n != 1 {
			t.Errorf("the evidence is told %d times", n)
		}
		for _, words := range list {
			if first := words[:1]; first != strings.ToUpper(first) || !strings.HasSuffix(words,
				".") {
				t.Errorf("%q is no sentence", words)
			}
		}
		data, err := json.Marshal(NewDocument(r))
		testkit.OK(t, err)
		var document struct {
			Insights []string `json:"insights"`
		}
		testkit.OK(t, json.Unmarshal(data, &document))
		if !slices.Equal(document.Insights, list) {
			t.Errorf("the document says %q, want %q", document.Insights, list)
		}
	})
}
