package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// several has pools of two models and roles that draft, with classes that have SLOs of their own.
const several = `
model: llama-3.1-8b
hardware: h100-sxm
speculation: {method: n-gram, tokens: 3, acceptance: 0.5, baseline: skip}
fleet:
  transfer: {link: ethernet-100g}
  pools:
    - {name: p, role: prefill, replicas: 2}
    - {name: d, role: decode, replicas: 1, parallelism: 2}
    - {name: m, replicas: 1, model: llama-3.2-1b, hardware: l4}
slo: {ttft: 1s, tpot: 50ms}
workload:
  rate: 6/s
  requests: 60
  prompt: 500
  output: 40
  classes:
    - {name: a, share: 0.7, model: llama-3.1-8b}
    - {name: b, share: 0.3, model: llama-3.2-1b, slo: {ttft: 3s}}
`

// A caller that drives a simulation and changes nothing of it changes no result, and what it is
// told adds up to the result: tokens, transfers, accelerators, models and kinds of servers.
func TestWhatCallersSeeIsOfTheResult(t *testing.T) {
	made := func() *Simulation {
		f, err := Parse("s.yaml", []byte(several))
		return build(t, f, err)
	}
	want := run(t, made())
	s := made()
	tokens, sent, clocks, drafters := int64(0), int64(0), 0, 0
	s.StepByStep(func(_ *sim.Sequence, n int, _ sim.Time) { tokens += int64(n) })
	s.OnTransfer(func(sim.Transfer) { sent++ })
	s.ReplaceClocks(func(c sim.StepClock) sim.StepClock { clocks++; return c })
	s.ReplaceSource(func(w sim.Source) sim.Source { return w })
	s.ReplaceSpeculators(func(p *speculation.Speculator) sim.Speculator { drafters++; return p })
	drafts := 0
	for _, p := range s.Speculators() {
		if p != nil {
			drafts++
		}
	}
	if n := len(s.Config().Replicas); n != 4 || clocks != n || drafters != drafts || drafts == 0 {
		t.Errorf("%d replicas, %d clocks, %d of %d speculators", n, clocks, drafters, drafts)
	}
	got := run(t, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a caller that changes nothing changes the result:\n%s", diff)
	}
	if tokens != got.TotalOutputTokens || sent != got.Fleet.Transfers ||
		s.Accelerators() != got.Accelerators || s.Accelerators() != 2+2+1 ||
		!slices.Equal(s.Models(), []string{"llama-3.1-8b", "llama-3.2-1b"}) ||
		len(s.Servers()) != 3 || len(s.Keys()) != len(got.Kinds) ||
		!reflect.DeepEqual(s.Evidence().Under(got.Evidence.Load), got.Evidence) {
		t.Errorf("%d tokens of %d, %d transfers of %d, %d accelerators, models %v, %d keys",
			tokens, got.TotalOutputTokens, sent, got.Fleet.Transfers, s.Accelerators(), s.Models(),
			len(s.Keys()))
	}
	for i, server := range s.Servers() {
		key, known := server.Key()
		if own, ok := s.Key(); i == 0 && (ok != known || !reflect.DeepEqual(own, key)) {
			t.Errorf("the first key is %+v, want %+v", own, key)
		}
	}
	if all, own := s.SLO(2), s.SLO(1); !cmp.Equal(all, s.Metrics().SLO) ||
		own.TTFT != 3*sim.Second || own.TPOT != 0 || all.TPOT != 50*sim.Millisecond {
		t.Errorf("the SLO is %+v, of the classes %+v and %+v", all, s.SLO(0), own)
	}
	plain := made()
	plain.Unsampled()
	unsampled := run(t, plain)
	if len(unsampled.Series) != 0 || len(got.Series) == 0 ||
		unsampled.MeanTTFT != got.MeanTTFT || unsampled.Cost != got.Cost {
		t.Errorf("without samples there are %d of them, and a mean TTFT of %v, want %v",
			len(unsampled.Series), unsampled.MeanTTFT, got.MeanTTFT)
	}
}

// A ledger is the time of the step that ran: the ledgers of all steps of replicas that do not
// draft, in the pool where they ran, add up to the time for which these were busy.
func TestLedgersAreTheTimeOfSteps(t *testing.T) {
	f, err := Parse("s.yaml", []byte(strings.Replace(several, "speculation", "# speculation", 1)))
	s := build(t, f, err)
	s.StepByStep(func(*sim.Sequence, int, sim.Time) {})
	all := &ledgers{s: s, busy: make([]sim.Time, 4)}
	r, err := s.Run(t.Context(), all)
	testkit.OK(t, err)
	for i, p := range s.pools {
		busy := sim.Time(0)
		for k := p.first; k < p.first+p.size; k++ {
			busy += all.busy[k]
		}
		up := r.Duration * float64(p.size)
		if got := busy.Seconds() / up; math.Abs(got/r.Pools[i].Busy-1) > 1e-6 {
			t.Errorf("pool %s is busy for %g of the time, by its ledgers %g", r.Pools[i].Name,
				r.Pools[i].Busy, got)
		}
	}
	if s.Ledger(&sim.Leap{Replica: 4}) != nil {
		t.Error("a replica that there is not has a ledger")
	}
}

type ledgers struct {
	sim.NopObserver
	s    *Simulation
	busy []sim.Time
}

// Steps implements sim.Observer.
func (o *ledgers) Steps(l *sim.Leap) { o.busy[l.Replica] += o.s.Ledger(l).Time() }

// What a result says of the whole is the sum of its pools, prices and energies for tokens are those
// of the whole divided by them, and the energy lies between that of accelerators which idle and of
// accelerators at their peak.
func TestFiguresAddUp(t *testing.T) {
	r := runText(t, several)
	hours, cost, energy, accelerators := 0.0, 0.0, 0.0, 0
	var sum PoolResult
	for i := range r.Pools {
		p := &r.Pools[i]
		hours, cost, energy = hours+p.AcceleratorHours, cost+p.Cost, energy+p.Energy
		accelerators += p.Accelerators
		sum.OutputTokens += p.OutputTokens
		sum.CachedTokens += p.CachedTokens
		sum.Completed += p.Completed
		sum.HandedOver += p.HandedOver
		if want := float64(p.Accelerators) * r.Duration / 3600; math.Abs(
			p.AcceleratorHours/want-1) > 1e-9 || p.MeanReplicas != float64(p.Replicas) {
			t.Errorf("%s: %g accelerator hours, want %g; %g of %d replicas", p.Name,
				p.AcceleratorHours, want, p.MeanReplicas, p.Replicas)
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) || want <= 0 {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	near("hours", r.AcceleratorHours, hours)
	near("cost", r.Cost, cost)
	near("energy", r.Energy, energy)
	near("accelerators", float64(r.Accelerators), float64(accelerators))
	near("output tokens", float64(r.TotalOutputTokens), float64(sum.OutputTokens))
	near("handed over", float64(r.Fleet.Transfers), float64(sum.HandedOver))
	near("energy of a million", r.EnergyPerMillion*float64(r.TotalOutputTokens)/1e6, r.Energy)
	near("cost of a million", r.WholeRun.PerMillion*float64(r.TotalOutputTokens)/1e6, r.Cost)
	near("replicas", r.Fleet.MeanReplicas, float64(r.Fleet.UsedReplicas))
	catalogue := build(t, mustParse(t, several), nil)
	idle, peak := 0.0, 0.0
	for i, p := range r.Pools {
		a := catalogue.pools[i].Accelerator
		idle += a.IdlePower * p.AcceleratorHours
		peak += a.PeakPower * p.AcceleratorHours
	}
	if r.Energy <= idle || r.Energy >= peak {
		t.Errorf("%g Wh, of idle accelerators %g, at their peak %g", r.Energy, idle, peak)
	}
	for _, p := range []*Phenomenon{r.Prefill, r.Decode} {
		parts := 0.0
		for _, ms := range p.Parts {
			parts += ms
		}
		if math.Abs(parts/p.Step-1) > 0.01 || p.Share <= 0 || p.Share > 1 || p.Batch < 1 {
			t.Errorf("a step of %g ms has parts of %g ms: %+v", p.Step, parts, p)
		}
	}
	if r.Prefill.Batch != 1 || r.Prefill.Tokens != 500 {
		t.Errorf("a mean prompt of 500 tokens is %+v", r.Prefill)
	}
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("s.yaml", []byte(text))
	testkit.OK(t, err)
	return f
}

// The step times of a scenario are its simulation's. As many sequences are said to have room as
// have whole blocks; a step of a batch gives each sequence a token, or with drafts the mean number
// that is accepted, and takes longer for more sequences, longer contexts and longer prompts.
func TestStepsAreTheSimulations(t *testing.T) {
	for _, drafts := range []string{"",
		"speculation: {method: n-gram, tokens: 3, acceptance: 0.6}\n"} {
		f := mustParse(t, "model: llama-3.1-8b\nhardware: h100-sxm\n"+drafts+
			"fleet: {pools: [{name: a, replicas: 1, parallelism: 2}, {name: b, replicas: 1}]}\n")
		alone, err := f.Steps(policies.Default())
		testkit.OK(t, err)
		inside := build(t, f, nil).Steps()
		if diff := cmp.Diff(alone.Scenario.Parallelism, inside.Scenario.Parallelism); diff != "" ||
			alone.Scenario.Parallelism.Tensor != 2 || alone.Memory != inside.Memory {
			t.Errorf("%s: %+v", diff, alone.Memory)
		}
		rapid.Check(t, func(t *rapid.T) {
			batch, context := rapid.IntRange(1, 200).Draw(t, "batch"),
				rapid.IntRange(1, 3000).Draw(t, "context")
			one, two := alone.Decode(batch, context), inside.Decode(batch, context)
			if one.Ledger.Time() != two.Ledger.Time() || one.Given != two.Given ||
				alone.Prompt(context).Time() != inside.Prompt(context).Time() {
				t.Fatalf("%v and %v", one.Ledger.Time(), two.Ledger.Time())
			}
			each := one.Step.DecodeTokens / batch
			want := int64(batch * (context + each))
			if one.Step.Decodes != batch || one.Step.Context != want ||
				(drafts == "") != (each == 1 && one.Given == 1) || one.Given > float64(each) {
				t.Fatalf("%d sequences of %d tokens: %+v gives %g", batch, context, one.Step,
					one.Given)
			}
			if alone.Decode(batch+40, context).Ledger.Time() < one.Ledger.Time() ||
				alone.Decode(batch, context+500).Ledger.Time() < one.Ledger.Time() ||
				alone.Prompt(context+500).Time() < alone.Prompt(context).Time() {
				t.Fatalf("a larger step than one of %d of %d tokens takes less", batch, context)
			}
			block := alone.Memory.BlockTokens
			n := alone.Room(context)
			blocks := (context + block - 1) / block * block
			if n*blocks > alone.Memory.Tokens || (n+1)*blocks <= alone.Memory.Tokens {
				t.Fatalf("%d sequences of %d tokens have room in %d", n, context,
					alone.Memory.Tokens)
			}
		})
		if none := alone.Decode(0, 0); none.Given != 1 || none.Step.Context != 0 ||
			alone.Room(0) != alone.Room(1) {
			t.Errorf("no sequences are given %+v", none)
		}
	}
}

// What a model that does not fit would fit with, it fits with, and with less of it does not.
func TestAdviceOnMemoryHolds(t *testing.T) {
	// The limits of an engine itself differ by accelerator.
	for _, limits := range []string{"batching={token-budget: 2048, max-sequences: 256}",
		"engine.version=0.15.1"} {
		t.Run(limits, func(t *testing.T) { adviceOnMemoryHolds(t, limits) })
	}
}

// adviceOnMemoryHolds checks it under limits of batches.
func adviceOnMemoryHolds(t *testing.T, budget string) {
	fits := func(settings ...string) error {
		f, err := Describe("llama-3.1-70b", "l40s", append(settings, budget)...)
		testkit.OK(t, err)
		_, err = f.Steps(policies.Default())
		return err
	}
	err := fits("parallelism.tensor=2")
	if err == nil {
		t.Fatal("70B fit into two L40S")
	}
	words := err.Error()
	_, on, _ := strings.Cut(words, "or on ")
	name, _, _ := strings.Cut(on, ",")
	for _, c := range []struct{ words, with, less string }{
		{"with tensor parallelism 4", "parallelism.tensor=4", "parallelism.tensor=2"},
		{"with weights in fp8", "engine.weights=fp8", "engine.weights=bf16"},
	} {
		if !strings.Contains(words, c.words) {
			t.Errorf("%q is not in %s", c.words, words)
		}
		if err := fits("parallelism.tensor=2", c.with); err != nil {
			t.Errorf("%s: %v", c.with, err)
		}
		if fits("parallelism.tensor=2", c.less) == nil {
			t.Errorf("%s is enough", c.less)
		}
	}
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	own, err := catalog.Accelerator("l40s")
	testkit.OK(t, err)
	fit, least := 0, math.Inf(1)
	for _, a := range catalog.Accelerators {
		if a.Kind != own.Kind {
			continue
		}
		other, err := Describe("llama-3.1-70b", a.Name, "parallelism.tensor=2", budget)
		testkit.OK(t, err)
		steps, err := other.Steps(policies.Default())
		if err == nil && steps.Memory.Longest() >= comfortableContext {
			fit, least = fit+1, min(least, a.Memory)
		}
	}
	larger, err := catalog.Accelerator(name)
	if err != nil || larger.Kind != own.Kind || larger.Memory != least || fit < 2 {
		t.Errorf("on %q: %v; the least memory of %d that hold it is %g: %s", name, err, fit, least,
			words)
	}
}

// Requests that arrive together are counted, whatever the time and the order in which they are
// answered: of bursts of k requests of which the last waits, the p95 of the TTFT comes from k of
// them, from 8 on. Answers that came evenly, and too few of them, are no burst.
func TestBurstsHaveTheirSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, bursts := rapid.IntRange(2, 18).Draw(t, "size"), rapid.IntRange(10, 30).Draw(t, "n")
		gap := sim.Time(rapid.IntRange(20, 1000).Draw(t, "gap")) * sim.Second
		begin := sim.Time(rapid.Int64Range(0, 1<<50).Draw(t, "begin"))
		var seen []answered
		for b := range bursts {
			for i := range size {
				seen = append(seen, answered{begin + sim.Time(b)*gap + sim.Time(i)*sim.Millisecond,
					sim.Second})
			}
			seen[len(seen)-1].ttft = 2 * sim.Second // it waits for the others
		}
		seen = rapid.Permutation(seen).Draw(t, "order")
		o := &burstFinder{seen: seen}
		words := o.burstNotice(2000, rapid.Bool().Draw(t, "closed"))
		total := float64(size * bursts)
		mean := total * float64(2*sim.Second) / (float64(bursts-1)*float64(gap) +
			float64(size-1)*float64(sim.Millisecond))
		noticed := size >= 8 && float64(size) >= max(2*mean, mean+6*math.Sqrt(mean))
		if noticed != (words != "") {
			t.Fatalf("%d bursts of %d, %v apart: %q", bursts, size, gap, words)
		}
		want := fmt.Sprintf("2 s, comes from %d requests that arrive together, where %.3g do on "+
			"average", size, mean)
		if noticed && !strings.Contains(words, want) {
			t.Fatalf("%q, want %q", words, want)
		}
	})
	many, even := &burstFinder{}, &burstFinder{}
	for i := range maxAnswered + 100 {
		at := sim.Time(i/16)*100*sim.Second + sim.Time(i%16)*sim.Millisecond
		many.Finished(sequenceAt(at, sim.Second+sim.Second*sim.Time(i%16/15)))
		even.Finished(sequenceAt(sim.Time(i)*sim.Second, 2*sim.Second))
	}
	if words := many.burstNotice(5000, false); !strings.HasPrefix(words, fmt.Sprintf(
		"the p95 of TTFT of the first %d answers, 2 s, comes from 16 requests", maxAnswered)) ||
		len(many.seen) != maxAnswered {
		t.Errorf("%d answers: %q", len(many.seen), words)
	}
	if words := even.burstNotice(2000, false); words != "" {
		t.Errorf("evenly: %q", words)
	}
	open, closed := many.burstNotice(1, false), many.burstNotice(1, true)
	if !strings.HasPrefix(closed, open+": users") {
		t.Errorf("%q and %q", open, closed)
	}
	// A cut answer that began counts as one.
	cut := &burstFinder{}
	q := sequenceAt(5*sim.Second, sim.Second)
	cut.Ended(q, sim.Cancelled, 9*sim.Second)
	if len(cut.seen) != 1 || cut.seen[0] != (answered{5 * sim.Second, sim.Second}) {
		t.Errorf("a cut answer is %+v", cut.seen)
	}
}

// An SLO is completed once, is scaled with all its limits, and says in words each limit that it
// has, and whether the result keeps it.
func TestSLOsSayWhatTheyHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Span {
			if !rapid.Bool().Draw(t, name+" given") {
				return 0
			}
			return Span(rapid.IntRange(1, 5000).Draw(t, name)) * Span(sim.Millisecond)
		}
		l := Limits{draw("request"), draw("p50"), draw("p90"), draw("p95"), draw("p99")}
		list := []Span{l.Request, l.P99, l.P95, l.P90, l.P50}
		strictest := Span(0)
		for _, one := range slices.Backward(list) {
			if one > 0 {
				strictest = one
			}
		}
		words, double := l.Words(), l.Scaled(2)
		limits := 0
		for _, one := range list {
			if one > 0 {
				limits++
			}
		}
		if l.Strictest() != strictest || double.Strictest() != 2*strictest ||
			double.P50 != 2*l.P50 || double.P90 != 2*l.P90 || double.P95 != 2*l.P95 ||
			double.P99 != 2*l.P99 || strings.Count(words, "≤") != limits ||
			strings.Contains(words, "p95") != (l.P95 > 0) {
			t.Fatalf("%+v: %q, the strictest %v, doubled %+v", l, words, l.Strictest(), double)
		}
		s := SLO{TTFT: l, E2E: Limits{Request: draw("e2e")}, TPOT: Limits{P95: draw("tpot")}}
		full := s.Complete()
		none := s == (SLO{})
		if full != full.Complete() || none != (full == defaultSLO()) ||
			full.Joint() != (full.Percentile > 0) || none && full.Percentile != 99 {
			t.Fatalf("%+v is completed to %+v", s, full)
		}
		said, single := full.Words(), full.RequestWords()
		if strings.Contains(single, "TTFT ≤") != (full.TTFT.Request > 0) ||
			strings.Contains(single, "E2E ≤") != (full.E2E.Request > 0) ||
			full.Joint() && !strings.HasPrefix(said, "in 99% of the requests "+single) {
			t.Fatalf("%+v in words: %q, of a request %q", full, said, single)
		}
		for part, given := range map[string]bool{"99% of the requests": full.Joint(),
			"p50 TTFT ≤": full.TTFT.P50 > 0, "p99 TTFT ≤": full.TTFT.P99 > 0,
			"p95 TPOT ≤": full.TPOT.P95 > 0,
			" and ":      full.TTFT.Request > 0 && full.E2E.Request > 0 || none} {
			if strings.Contains(said, part) != given {
				t.Fatalf("%+v in words: %q, %q is given: %v", full, said, part, given)
			}
		}
		m := full.limits()
		percentiles := strings.Count(said, "≤") - strings.Count(single, "≤")
		if len(m.Percentiles) != percentiles || full.Joint() && m.TTFT != sim.Time(
			full.TTFT.Request) || !full.Joint() && m.TTFT != sim.Time(full.TTFT.Strictest()) {
			t.Fatalf("%+v is measured as %+v", full, m)
		}
	})
	if s := (SLO{Percentile: 90}).Complete(); s.Percentile != 90 || s.TTFT != defaultSLO().TTFT {
		t.Errorf("a percentile alone is completed to %+v", s)
	}
	for _, limit := range []string{"1ns", "1h"} {
		r := runText(t, "model: llama-3.2-1b\nhardware: l4\nworkload: {requests: 20, rate: 2/s}\n"+
			"slo: {ttft: {p95: "+limit+"}, tpot: {p50: 1h}}\n")
		words := strings.Join(r.LimitWords(), "\n")
		missed := limit == "1ns"
		if strings.Contains(words, "> 1 ns (missed)") != missed || r.SLOMet == missed ||
			!strings.HasPrefix(words, "p95 TTFT ") || !strings.Contains(words, " ≤ 1 h\n") ||
			strings.Contains(words, "≤ 1 h\np50") == missed ||
			strings.Contains(words, ")") != missed {
			t.Errorf("a limit of %s in words: %q", limit, words)
		}
	}
}

// Quantities are read as they are written, whatever their unit, and what the clock, or an amount
// of money, cannot hold is refused.
func TestQuantitiesHaveLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Float64Range(1e-6, 1e9).Draw(t, "amount")
		for _, unit := range []string{"$%v/M", "€%v/M", "%v EUR/M"} {
			text := fmt.Sprintf(unit, strings.TrimSuffix(PerSecond(amount).String(), "/s"))
			var p, again TokenPrice
			testkit.OK(t, p.UnmarshalText([]byte(text)))
			written, err := p.MarshalText()
			testkit.OK(t, err)
			if err := again.UnmarshalText(written); err != nil || again != p ||
				p.Number() != amount || (p.Currency == "") != (unit[0] == '$') {
				t.Fatalf("%s is read as %+v, written %s, and read as %+v (%v)", text, p, written,
					again, err)
			}
			var hourly Price
			testkit.OK(t, hourly.UnmarshalText([]byte(strings.Replace(text, "/M", "/h", 1))))
			if hourly.Number() != amount {
				t.Fatalf("%s is %+v an hour", text, hourly)
			}
		}
		b := Bytes(rapid.Float64Range(1, 1e15).Draw(t, "bytes"))
		text, err := b.MarshalText()
		testkit.OK(t, err)
		var same Bytes
		if err := same.UnmarshalText(text); err != nil || same != b {
			t.Fatalf("%v is written %s and read as %v", float64(b), text, float64(same))
		}
		l, by := Length{Value: rapid.IntRange(0, 9000).Draw(t, "value"), Max: 70, Mean: amount,
			Std: 3}, rapid.Float64Range(0.001, 20).Draw(t, "by")
		scaled := l.Scaled(by)
		if (scaled.Value == 0) != (l.Value == 0) || scaled.Min != 0 || scaled.Mean != amount*by ||
			scaled.Std != 3*by || l.Value > 0 && scaled.Value != max(1, int(math.Round(
			float64(l.Value)*by))) {
			t.Fatalf("%+v times %g is %+v", l, by, scaled)
		}
	})
	for text, want := range map[string]string{"0.000001ns": "is too short",
		"9000000d": "is too long"} {
		var s Span
		if err := s.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(),
			want) {
			t.Errorf("%s: %v, %v, want %s", text, s, err, want)
		}
	}
	for _, text := range []string{"$1000000001/M", "$-1/M", "$1", "1/M", "$x/M", "$1/M/M"} {
		if err := new(TokenPrice).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
	if _, err := PerSecond(math.Inf(1)).MarshalText(); err == nil {
		t.Error("an infinite rate is written")
	}
	if _, err := PerSecond(math.NaN()).MarshalText(); err == nil {
		t.Error("a rate that is no number is written")
	}
}

// A prefix that was seen before the run is found by every first turn, by whatever kind of memory.
func TestPrefixesOfWarmCachesAreFound(t *testing.T) {
	for _, server := range []string{"model: gemma-3-27b\nhardware: h100-sxm\nparallelism: 2\n",
		"model: llama-3.1-8b\nhardware: h100-sxm\n"} {
		r := runText(t, server+"workload: {requests: 60, rate: 2/s, prompt: 400, output: 10, "+
			"prefix: {tokens: 3000, groups: 1}, sessions: {turns: 2, think: 1s}}\n"+
			"caches: {start: warm, requests: 20}\nmemory: {policy: "+
			map[bool]string{true: "hybrid", false: "prefix-cache"}[strings.Contains(server,
				"gemma")]+"}\n")
		if got := r.Sessions.Turns[0].CachedShare; math.Abs(got-3000.0/3400) > 0.006 {
			t.Errorf("first turns find %v of their prompts, want all of the prefix\n%s", got,
				server)
		}
	}
}

// sequenceAt is a sequence that arrived at a time, and whose answer began a TTFT later.
func sequenceAt(arrival, ttft sim.Time) *sim.Sequence {
	q := &sim.Sequence{Request: sim.Request{Arrival: arrival, Output: 5}}
	q.Answered, q.FirstToken = 2, arrival+ttft
	return q
}

// seen passes a source on, and counts its requests.
type seen struct {
	sim.Source
	requests int64
}

// Next implements sim.Source.
func (s *seen) Next(r *sim.Request) {
	s.requests++
	s.Source.Next(r)
}

// decoded sums up the steps in which sequences decoded.
type decoded struct {
	sim.NopObserver
	steps, decodes, tokens, context, prompts, alone int64
	time, plain, decoding, prefill                  sim.Time
	s                                               *Simulation
}

// Steps implements sim.Observer.
func (o *decoded) Steps(l *sim.Leap) {
	took := l.End - l.Start
	if l.Decodes == 0 {
		o.prefill += took
		return
	}
	o.steps += l.Steps
	o.decodes += int64(l.Decodes) * l.Steps
	o.tokens += int64(l.DecodeTokens) * l.Steps
	o.context += l.Context * l.Steps
	o.time += took
	if len(l.Prefill) == 0 {
		o.alone, o.plain, o.decoding = o.alone+l.Steps, o.plain+took, o.decoding+took
		return
	}
	for _, c := range l.Prefill {
		o.prompts += int64(c.New)
	}
	own := min(took, o.s.Ledger(&sim.Leap{Replica: l.Replica, Decodes: l.Decodes,
		DecodeTokens: l.DecodeTokens, Context: l.Context}).Time())
	o.decoding, o.prefill = o.decoding+own, o.prefill+took-own
}

// The mean step that decodes is the mean of the steps that ran: in sequences, tokens, contexts,
// prompt tokens beside them and time, with and without prompts. The time of steps is divided
// between prompts and decoding, as these would take alone. All requests come from the source.
func TestTheMeanStepIsOfTheStepsThatRan(t *testing.T) {
	for _, rate := range []string{"1/s", "30/s"} {
		f := mustParse(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: "+rate+
			", requests: 60, prompt: 800, output: 50}\n")
		s := build(t, f, nil)
		source, all := &seen{}, &decoded{s: s}
		s.ReplaceSource(func(w sim.Source) sim.Source { source.Source = w; return source })
		s.StepByStep(func(*sim.Sequence, int, sim.Time) {})
		r, err := s.Run(t.Context(), all)
		testkit.OK(t, err)
		per, p := float64(all.steps), r.Decode
		mean := func(n int64) float64 { return float64(n) / per }
		context := float64(all.context) / float64(all.decodes) * float64(p.Batch)
		if source.requests != 60 || math.Abs(float64(p.Batch)-mean(all.decodes)) > 0.5 ||
			p.Tokens != p.Batch || all.tokens != all.decodes ||
			math.Abs(float64(p.Context)-context) > 1 ||
			math.Abs(p.Prompts-mean(all.prompts)) > 1e-9 ||
			math.Abs(p.Step*per/all.time.Milliseconds()-1) > 1e-9 ||
			math.Abs(p.Plain*float64(all.alone)/all.plain.Milliseconds()-1) > 1e-9 {
			t.Errorf("%s: %+v of %d requests, in %+v", rate, p, source.requests, all)
		}
		whole := (all.decoding + all.prefill).Seconds()
		if d := r.Diagnosis; math.Abs(d.Decoding-all.decoding.Seconds()/whole) > 1e-3 ||
			math.Abs(d.Prompts+d.Decoding-1) > 1e-9 {
			t.Errorf("%s: %g of the time is for prompts and %g for decoding, want %g", rate,
				d.Prompts, d.Decoding, all.decoding.Seconds()/whole)
		}
	}
}

// A file that a scenario names at any key is among its files, and the fingerprint depends on what
// is in it.
func TestFilesAreThoseOfAllKeys(t *testing.T) {
	dir := t.TempDir()
	var names []string
	var fill func(v reflect.Value, path string)
	fill = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), path)
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Struct {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				fill(v.Index(0), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				field := v.Type().Field(i)
				at := path + "." + field.Name
				if field.Name == "File" && field.Type.Kind() == reflect.String {
					name := filepath.Join(dir, strings.TrimPrefix(at, ".")+".csv")
					names = append(names, name)
					v.Field(i).SetString(name)
				} else if field.IsExported() {
					fill(v.Field(i), at)
				}
			}
		}
	}
	f := mustParse(t, "model: llama-3.1-8b\nhardware: h100-sxm\n")
	fill(reflect.ValueOf(&f.Scenario.Workload).Elem(), ".Workload")
	fill(reflect.ValueOf(&f.Scenario.Speculation).Elem(), ".Speculation")
	fill(reflect.ValueOf(&f.Scenario.Caches).Elem(), ".Caches")
	fill(reflect.ValueOf(&f.Scenario.Hardware).Elem(), ".Hardware")
	for _, name := range names {
		testkit.OK(t, os.WriteFile(name, []byte("1\n"), 0o600))
	}
	if listed := f.Files(); len(names) < 15 || len(listed) != len(names) {
		for _, name := range names {
			if !slices.Contains(listed, name) {
				t.Errorf("%s is not among the files", filepath.Base(name))
			}
		}
		t.Errorf("%d files are named, %d listed", len(names), len(listed))
	}
	plain := mustParse(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {prompt: "+
		"{distribution: empirical, file: "+names[0]+"}}\n")
	first, err := plain.Fingerprint(HashFile)
	testkit.OK(t, err)
	testkit.OK(t, os.WriteFile(names[0], []byte("2\n"), 0o600))
	second, err := plain.Fingerprint(HashFile)
	if err != nil || first == second {
		t.Errorf("another content has the fingerprint %s, %v", second, err)
	}
	if _, err := HashFile(dir); err == nil {
		t.Error("a folder has a hash")
	}
	if _, err := HashFile(filepath.Join(dir, "none")); err == nil {
		t.Error("no file has a hash")
	}
}

// A scenario has a steady state unless one of its parts says otherwise: then each run starts
// and ends in its own way, and no constant rate is offered. Users of a closed loop offer no rate.
func TestUnsteadyScenariosSayWhy(t *testing.T) {
	const wave = "rate: {pattern: wave, average: 2/s, swing: 0.5, period: 1m}"
	for text, want := range map[string]string{
		"": "",
		"workload: {rate: 2/s, classes: [{name: a}, {name: b}]}\n": "",
		"workload: {rate: {pattern: steady, value: 2/s}}\n":        "",
		"workload: {arrivals: {process: closed-loop, users: 2}}\n": "",
		"workload: {trace: {file: a.csv}}\n":                       "a recorded trace",
		"workload: {classes: [{name: a, trace: {file: a.csv}}]}\n": "a recorded trace",
		"fleet: {outages: [{replica: 0, at: 1s}]}\n":               "has outages",
		"workload: {arrivals: at-once}\n":                          "at once",
		"workload: {" + wave + "}\n":                               "rate that changes",
		"workload: {classes: [{name: b, rate: 1/s}, {name: a, " + wave + "}]}\n": "rate that " +
			"changes",
		"fleet: {pools: [{replicas: 1}, {replicas: 2, scaling: outstanding}]}\n": "and stops",
	} {
		s := &mustParse(t, "model: llama-3.1-8b\nhardware: h100-sxm\n"+text).Scenario
		got, closed := s.Unsteady(), strings.Contains(text, "closed-loop")
		if (got == "") != (want == "") || !strings.Contains(got, want) ||
			s.offersRate() != (want == "" && !closed) {
			t.Errorf("%q: %q, a rate is offered: %v", text, got, s.offersRate())
		}
		if w := &s.Workload; w.Recorded() != (want == "a recorded trace") || w.Resampled() {
			t.Errorf("%q: recorded %v, resampled %v", text, w.Recorded(), w.Resampled())
		}
	}
	for _, text := range []string{"{trace: {file: a.csv, resample: 60s}}",
		"{classes: [{name: a, trace: {file: a.csv, resample: 60s}}]}"} {
		f, err := Parse("s.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
			"workload: "+text))
		if err == nil && !f.Scenario.Workload.Resampled() {
			t.Errorf("%s is not resampled", text)
		}
	}
}

// Weights and caches have the number format of the model, where it has one of 16 or 32 bits, unless
// the scenario gives another. An engine without captured graphs is no faster, and one that sorts
// logits is not faster than one that takes the likeliest token; what contradicts itself is refused.
func TestEnginesAreAsTheyAreSet(t *testing.T) {
	for kind, want := range map[string]string{"float16": "fp16", "bfloat16": "bf16",
		"float32": "fp32"} {
		path := filepath.Join(t.TempDir(), "config.json")
		testkit.OK(t, os.WriteFile(path, []byte(strings.Replace(
			entryTexts[registry.Model].good, "float16", kind, 1)), 0o600))
		for _, set := range []string{"", "engine: {weights: fp8}\n", "engine: {kv-cache: fp8}\n"} {
			e := build(t, mustParse(t, "model: "+path+"\nhardware: h100-sxm\n"+set),
				nil).Scenario.Engine
			weights, cache := want, want
			if strings.Contains(set, "weights") {
				if weights = "fp8"; want == "fp32" {
					cache = "bf16"
				}
			} else if set != "" {
				cache = "fp8"
			}
			if e.Weights != weights || e.KVCache != cache {
				t.Errorf("%s, %q: weights in %s, the cache in %s", kind, set, e.Weights, e.KVCache)
			}
		}
	}
	step := func(settings ...string) sim.Time {
		f, err := Describe("llama-3.1-8b", "h100-sxm", settings...)
		testkit.OK(t, err)
		s, err := f.Steps(policies.Default())
		testkit.OK(t, err)
		return s.Decode(16, 500).Ledger.Time()
	}
	own := step()
	if step("engine.eager=true") <= own || step("engine.sampling=sorted") != own ||
		step("engine.sampling=greedy") > own || step("engine.slowdown=2") != 2*own {
		t.Errorf("steps of %v: eager %v, sorted %v, greedy %v, slowed down %v", own,
			step("engine.eager=true"), step("engine.sampling=sorted"),
			step("engine.sampling=greedy"), step("engine.slowdown=2"))
	}
	for _, c := range [][2]string{
		{"engine={eager: true, graph: 8}", "engine.graph: found 8 beside engine.eager"},
		{"engine=vllm-v9", "engine.preset"},
		{"engine={preset: vllm-v1, version: 0.0.1}", "engine.version"},
		{"engine={preset: ideal, scheduling: asynchronous}", "engine.scheduling"},
		{"memory={utilization: 0.9, kv-share: 0.9}",
			"memory: found kv-share and utilization"},
	} {
		f, err := Describe("llama-3.1-8b", "h100-sxm", c[0])
		if err == nil {
			_, err = f.Steps(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %s", c[0], err, c[1])
		}
	}
}
