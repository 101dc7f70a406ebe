package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// second answers every request after one second.
func second() sim.Time { return sim.Second }

// drawOpen makes up a workload of classes that arrive over time.
func drawOpen(t *rapid.T) Config {
	c := drawConfig(t)
	if c.Users != nil {
		c.Users, c.Arrivals = nil, poisson(5)
	}
	return c
}

// An opening and the rest send together what the source sends whole: the rest's times begin at the
// opening's last arrival, and its description leaves out what was sent. One request at a time is
// under way where later ones wait for answers, so that the cut changes no order.
func TestOpeningsAndTheRestAreTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawConfig(rt)
		users := c.Users != nil
		for i := range c.Classes {
			if turns := c.Classes[i].Turns; turns != nil && users {
				turns.Agents = nil
			} else {
				c.Classes[i].Turns = nil
			}
			if users {
				c.Users.Count, c.Classes[i].Arrivals = 1, nil
			}
		}
		source := open(t, c)
		whole := serve(t, source, 1000, second).sent
		if len(whole) < 2 {
			rt.Skip("nothing to cut")
		}
		n := rapid.IntRange(1, len(whole)-1).Draw(rt, "opening")
		opening := &Opening{Source: open(t, c)}
		opening.Enough = func() bool { return opening.Sent() == int64(n) }
		first := serve(t, opening, 1000, second).sent
		rest := opening.Rest()
		begin := whole[n-1].Arrival
		before, after := opening.Source.Summary(), rest.Summary()
		if !opening.Over() || len(first) != n || Opened(rest) != int64(n) || Opened(source) != 0 {
			rt.Fatalf("an opening of %d sent %d, over: %v; %d were sent before the rest", n,
				len(first), opening.Over(), Opened(rest))
		}
		if c.Requests != after.Requests+int64(n) || before.Rate != after.Rate ||
			c.Duration != 0 && c.Duration != after.Duration+begin ||
			c.Duration == 0 && after.Duration != 0 {
			rt.Fatalf("the rest is %+v, the whole %+v", after, before)
		}
		for _, r := range serve(t, rest, 1000, second).sent {
			r.Arrival += begin
			if r.Deadline > 0 {
				r.Deadline += begin
			}
			first = append(first, r)
		}
		for i := range first {
			first[i].ID = whole[min(i, len(whole)-1)].ID
		}
		if diff := cmp.Diff(whole, first, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("cut after %d (-whole +opening and rest):\n%s", n, diff)
		}
		end := source.(sim.Timed).Until()
		if got := rest.(sim.Timed).Until(); got != max(0, end-begin) || opening.Until() != 0 {
			rt.Fatalf("the rest lasts until %v, the whole until %v; the rest begins at %v", got,
				end, begin)
		}
	})
}

// An opening asks once for each request that is sent and once for each that ends, is over from the
// first yes on, and stays over when the answer is no again.
func TestOpeningsStayOver(t *testing.T) {
	for yes := 1; yes <= 8; yes++ {
		asked := 0
		o := &Opening{Source: open(t, Config{Requests: 9, Users: &Users{Count: 1},
			Classes: []Class{{Weight: 1, Prompt: fixed(1), Output: fixed(1)}}})}
		o.Enough = func() bool { asked++; return asked == yes }
		sent := serve(t, o, 9, second).sent
		// Sending and ending take turns, so the k-th request is sent at question 2k − 1.
		if want := (yes + 1) / 2; len(sent) != want || o.Sent() != int64(want) || !o.Over() ||
			o.NextArrival() != sim.Never || asked != yes {
			t.Errorf("yes to question %d: %d sent, %d asked, over: %v", yes, len(sent), asked,
				o.Over())
		}
	}
}

// Escalations change nothing of what the classes send. With share 1 every request of the class is
// sent on once, at its end, with its lengths, text and region and the escalation's other traits;
// with share 0 nothing is. At one time, new requests come before requests that are sent on.
func TestEscalationsSendOnWhatEnded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawOpen(rt)
		alone := serve(t, open(t, c), 2000, second).sent
		classes := len(c.Classes)
		for k := range rapid.IntRange(1, 3).Draw(rt, "escalations") {
			c.Escalations = append(c.Escalations, Escalation{
				From:  rapid.IntRange(0, classes+k-1).Draw(rt, "from"),
				Share: float64(rapid.IntRange(0, 1).Draw(rt, "share")),
				Traits: Traits{Priority: rapid.IntRange(1, 9).Draw(rt, "high"), Tenant: 5,
					Model: k, Region: 1, TTFT: sim.Second,
					Deadline: sim.Time(rapid.Int64Range(0, 9e12).Draw(rt, "end"))}})
		}
		if rapid.Bool().Draw(rt, "adapters") {
			c.Adapters = &Adapters{Count: 1}
			alone = serve(t, open(t, Config{Classes: c.Classes, Arrivals: c.Arrivals,
				Requests: c.Requests, Duration: c.Duration, Seed: c.Seed,
				Adapters: c.Adapters}), 2000, second).sent
		}
		source := open(t, c)
		if o, ok := source.(sim.OpenLoop); ok && o.Open() {
			rt.Fatal("requests that follow from others are held to be known ahead")
		}
		sent := make([][]sim.Request, classes+len(c.Escalations))
		var drawn []sim.Request
		var last sim.Request
		for _, r := range serve(t, source, 2000, second).sent {
			if r.Arrival == last.Arrival && last.Class >= classes && r.Class < classes {
				rt.Fatalf("%+v comes after %+v", r, last)
			}
			last, r.ID = r, 0
			if sent[r.Class] = append(sent[r.Class], r); r.Class < classes {
				drawn = append(drawn, r)
			}
		}
		for i := range alone {
			alone[i].ID = 0
		}
		if diff := cmp.Diff(alone, drawn, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("(-without +with escalations):\n%s", diff)
		}
		for k, e := range c.Escalations {
			var want []sim.Request
			for _, r := range sent[e.From] {
				if e.Share == 0 {
					break
				}
				at := r.Arrival + sim.Second
				on := sim.Request{Arrival: at, Prompt: r.Prompt, Output: r.Output,
					Class: classes + k, Content: r.Content, Region: r.Region, Priority: e.Priority,
					Tenant: e.Tenant, Model: e.Model, TTFT: e.TTFT, Adapter: r.Adapter}
				if e.Deadline > 0 {
					on.Deadline = at + e.Deadline
				}
				want = append(want, on)
			}
			ignored := cmpopts.IgnoreFields(sim.Request{}, "Content")
			if c.Adapters == nil {
				ignored = cmp.Options{}
			}
			if diff := cmp.Diff(want, sent[classes+k], cmpopts.EquateEmpty(), ignored); diff != "" {
				rt.Fatalf("escalation %d (-ended +sent on):\n%s", k, diff)
			}
		}
	})
}

// The number of requests that are sent on is within five standard deviations of the share, for two
// escalations of one class independently.
func TestEscalationsHaveTheirShare(t *testing.T) {
	const n = 20_000
	for _, share := range []float64{0.03, 0.5, 0.9} {
		c := Config{Requests: n, Seed: 11, Arrivals: poisson(50), Classes: []Class{{Weight: 1,
			Prompt: fixed(3), Output: fixed(2)}},
			Escalations: []Escalation{{Share: share}, {Share: share}}}
		var count [3]float64
		at := map[sim.Time]int{} // how often requests that ended at a time were sent on
		both := 0.0
		for _, r := range serve(t, open(t, c), 4*n, second).sent {
			count[r.Class]++
			if r.Class > 0 {
				if at[r.Arrival]++; at[r.Arrival] == 2 {
					both++
				}
			}
		}
		near := func(got, p float64) bool {
			return math.Abs(got-n*p) <= 5*math.Sqrt(n*p*(1-p))
		}
		if count[0] != n || !near(count[1], share) || !near(count[2], share) ||
			!near(both, share*share) {
			t.Errorf("share %v: %v sent on, %v by both", share, count[1:], both)
		}
	}
}

// Adapters change nothing but the names of texts: a text keeps its name under one adapter and has
// another under each other; a session keeps its adapter.
func TestAdaptersRenameTexts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawOpen(rt)
		plain := open(t, c)
		alone := serve(t, plain, 1000, second).sent
		c.Adapters = &Adapters{Count: rapid.IntRange(1, 5).Draw(rt, "adapters"),
			Zipf: rapid.Float64Range(0, 3).Draw(rt, "zipf")}
		source := open(t, c)
		is, _ := source.(sim.OpenLoop)
		if was, ok := plain.(sim.OpenLoop); is.Open() != (ok && was.Open()) {
			rt.Fatal("adapters change whether requests are known ahead")
		}
		sent := serve(t, source, 1000, second).sent
		type text struct {
			id      uint64
			adapter int
		}
		names, texts := map[text]uint64{}, map[uint64]text{}
		rename := func(id uint64, adapter int, name uint64) {
			of := text{id, adapter}
			was, known := names[of]
			if before, taken := texts[name]; known && was != name || taken && before != of {
				rt.Fatalf("text %v is named %d, before %d; the name is of %v", of, name, was,
					before)
			}
			names[of], texts[name] = name, of
		}
		asks := map[int64]int{} // the adapter of each session
		if len(sent) != len(alone) {
			rt.Fatalf("%d requests, without adapters %d", len(sent), len(alone))
		}
		for i := range sent {
			r, was := &sent[i], &alone[i]
			if r.Adapter < 1 || r.Adapter > c.Adapters.Count ||
				len(r.Content) != len(was.Content) || (r.Answer == 0) != (was.Answer == 0) {
				rt.Fatalf("%+v, without adapters %+v", *r, *was)
			}
			if first, ok := asks[r.Session]; ok && r.Session != 0 && first != r.Adapter {
				rt.Fatalf("session %d has adapters %d and %d", r.Session, first, r.Adapter)
			}
			asks[r.Session] = r.Adapter
			for k := range r.Content {
				rename(was.Content[k].ID, r.Adapter, r.Content[k].ID)
				r.Content[k].ID = was.Content[k].ID
			}
			if r.Answer != 0 {
				rename(was.Answer, r.Adapter, r.Answer)
			}
			r.Adapter, r.Answer = was.Adapter, was.Answer
		}
		if diff := cmp.Diff(alone, sent, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("(-without +with adapters):\n%s", diff)
		}
	})
}

// Each adapter is asked for in proportion to its power of the rank, within five standard
// deviations, whether requests or sessions ask.
func TestAdaptersHaveTheirPopularity(t *testing.T) {
	const n, count = 20_000, 4
	for _, turns := range []*Turns{nil, {Count: fixed(1)}} {
		for _, zipf := range []float64{0, 1, 2} {
			c := Config{Requests: n, Seed: 5, Arrivals: poisson(50), Classes: []Class{{Weight: 1,
				Prompt: fixed(3), Output: fixed(2), Turns: turns}},
				Adapters: &Adapters{Count: count, Zipf: zipf}}
			var asked [count + 1]float64
			for _, r := range serve(t, open(t, c), n, second).sent {
				asked[r.Adapter]++
			}
			total := 0.0
			for k := 1; k <= count; k++ {
				total += math.Pow(float64(k), -zipf)
			}
			for k := 1; k <= count; k++ {
				p := math.Pow(float64(k), -zipf) / total
				if math.Abs(asked[k]-n*p) > 5*math.Sqrt(n*p*(1-p)) {
					t.Errorf("zipf %v: %v ask for adapter %d, want about %v", zipf, asked[k], k,
						n*p)
				}
			}
		}
	}
}

// What lies just outside each range is refused with what was found, and what lies on its ends is
// not.
func TestAroundSourcesRefuse(t *testing.T) {
	class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	base := Config{Requests: 1, Arrivals: poisson(1), Classes: []Class{class, class}}
	with := func(change func(c *Config)) Config {
		c := base
		change(&c)
		return c
	}
	adapters := func(count int, zipf float64) Config {
		return with(func(c *Config) { c.Adapters = &Adapters{count, zipf} })
	}
	escalations := func(list ...Escalation) Config {
		return with(func(c *Config) { c.Escalations = list })
	}
	users := with(func(c *Config) {
		c.Users, c.Arrivals, c.Escalations = &Users{Count: 1}, nil, []Escalation{{}}
	})
	recorded := Config{Trace: &Trace{Path: sample("azure2023.csv")},
		Escalations: []Escalation{{}}}
	for _, of := range []struct {
		config Config
		refuse string // a part of the error; "" where there must be no error
	}{
		{adapters(1, 0), ""}, {adapters(maxTexts, 0), ""}, {adapters(2, 1e3), ""},
		{adapters(0, 0), "found 0 with"}, {adapters(maxTexts+1, 0), "allowed: 1 to 4194304"},
		{adapters(2, -1e-9), "zipf -1e-09"}, {adapters(2, math.NaN()), "zipf NaN"},
		{adapters(2, math.Inf(1)), "zipf +Inf"},
		{users, "found escalations with users"}, {recorded, "found escalations with users"},
		{escalations(Escalation{From: 1, Share: 1}, Escalation{From: 2}), ""},
		{escalations(Escalation{From: -1}), "found class -1, allowed: 0 to 1"},
		{escalations(Escalation{From: 2}), "found class 2, allowed: 0 to 1"},
		{escalations(Escalation{}, Escalation{From: 3}), "found class 3, allowed: 0 to 2"},
		{escalations(Escalation{Share: -1e-9}), "share: found -1e-09"},
		{escalations(Escalation{Share: math.Nextafter(1, 2)}), "share: found 1.0000000000000002"},
		{escalations(Escalation{Share: math.NaN()}), "share: found NaN"},
		{escalations(Escalation{Traits: Traits{Deadline: -1}}), "deadline: found"},
	} {
		s, err := Open(of.config)
		if err == nil {
			s.Close()
		}
		if (err == nil) != (of.refuse == "") ||
			err != nil && !strings.Contains(err.Error(), of.refuse) {
			t.Errorf("%+v: error %v, want %q", of.config, err, of.refuse)
		}
	}
}

// Sessions are refused exactly if their calls, agents, retries and summaries included, reach 2^16.
func TestCallsOfSessionsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const most = 1<<16 - 1
		t := Turns{Tools: &Tools{Result: fixed(1)}}
		factor := 1
		if rapid.Bool().Draw(rt, "agents") {
			count, turns := rapid.IntRange(1, 50).Draw(rt, "agents of a turn"),
				rapid.IntRange(1, 20).Draw(rt, "turns of an agent")
			t.Agents = &Agents{Count: fixed(count), Turns: fixed(turns), Prompt: fixed(1)}
			factor *= 1 + count*turns
		}
		if rapid.Bool().Draw(rt, "retries") {
			t.Tools.Retries, factor = 0.5, factor*11
		}
		if rapid.Bool().Draw(rt, "summaries") {
			t.Compact, factor = &Compaction{At: 2, To: 1}, factor*2
		}
		for turns, refused := range map[int]bool{most / factor: false, most/factor + 1: true} {
			if turns < 1 {
				continue
			}
			t.Count = fixed(turns)
			if err := t.checkAgents(); (err != nil) != refused {
				rt.Fatalf("%d turns of %d calls: %v", turns, factor, err)
			}
		}
	})
}

// Agents need a number, turns and prompts, each by itself, and fewer than 2^16 of the first two;
// summaries are shorter than what they take the place of, and both fit the longest context.
func TestPartsOfSessionsAreNeeded(t *testing.T) {
	agents := func(change func(a *Agents)) Turns {
		a := Agents{Count: fixed(1), Turns: fixed(1), Prompt: fixed(1)}
		change(&a)
		return Turns{Count: fixed(1), Agents: &a}
	}
	compact := func(at, to, context int) Turns {
		return Turns{Count: fixed(1), Compact: &Compaction{At: at, To: to}, MaxContext: context}
	}
	for i, of := range []struct {
		turns Turns
		ok    bool
	}{
		{agents(func(*Agents) {}), true}, {agents(func(a *Agents) { a.Share = 1 }), true},
		{agents(func(a *Agents) { a.Count = nil }), false},
		{agents(func(a *Agents) { a.Turns = nil }), false},
		{agents(func(a *Agents) { a.Prompt = nil }), false},
		{agents(func(a *Agents) { a.Turns = fixed(2) }), false},
		{agents(func(a *Agents) { a.Share = 1.1 }), false},
		{agents(func(a *Agents) { a.Count = fixed(1<<16 - 2) }), true},
		{agents(func(a *Agents) { a.Count = fixed(1 << 16) }), false},
		{compact(2, 1, 0), true}, {compact(2, 1, 3), true}, {compact(2, 1, 2), false},
		{compact(1, 1, 0), false}, {compact(2, 0, 0), false},
		{Turns{Count: fixed(1), Thinking: Thinking{Budget: -1}}, false},
		{Turns{Count: fixed(1), Thinking: Thinking{Share: -0.1}}, false},
	} {
		if err := of.turns.checkAgents(); (err == nil) != of.ok {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

// Beside arrivals for all, a class with a rate of its own sends as if it were alone: its times are
// the same whatever the others do.
func TestOwnArrivalsStandAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := Config{Requests: 200, Seed: rapid.Uint64().Draw(rt, "seed"), Arrivals: poisson(3),
			Classes: []Class{{Weight: 1, Prompt: fixed(1), Output: fixed(1)},
				{Weight: 1, Prompt: fixed(1), Output: fixed(1), Arrivals: poisson(2)}}}
		times := func(c Config) (list []sim.Time) {
			for _, r := range serve(t, open(t, c), 1000, second).sent {
				if r.Class == 1 {
					list = append(list, r.Arrival)
				}
			}
			return list
		}
		slow := times(c)
		c.Arrivals = &arrivals.Process{Rate: arrivals.Steady(
			rapid.Float64Range(0.1, 9).Draw(rt, "rate"))}
		other := times(c)
		n := min(len(slow), len(other))
		if n == 0 || !slices.Equal(slow[:n], other[:n]) {
			rt.Fatalf("%v, with other requests %v", slow, other)
		}
	})
}

// Beams are refused exactly if their steps, rounded up to whole ones, reach 2^16 in all.
func TestStepsOfBeamsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		step, samples := rapid.IntRange(1, 9).Draw(rt, "step"), rapid.IntRange(2, 64).Draw(rt, "n")
		most := (1<<16 - 1) / samples * step // the longest answer that is allowed
		for output, refused := range map[int]bool{most: false, most + 1: true} {
			c := Class{Weight: 1, Prompt: fixed(1), Output: fixed(output), Samples: samples,
				BeamStep: step}
			if err := c.check(1); (err != nil) != refused {
				rt.Fatalf("%d beams of %d tokens, %d a step: %v", samples, output, step, err)
			}
		}
	})
}

// What a description says of shares is what was asked for, in percent, and the shares of classes
// are in proportion to their weights.
func TestDescriptionsSayShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		percent := func(name string) (float64, string) {
			p := rapid.IntRange(1, 99).Draw(rt, name)
			return float64(p) / 100, strconv.Itoa(p) + " %"
		}
		weight, heavy := percent("weight")
		tool, tools := percent("tools")
		agent, agents := percent("agents")
		think, thinking := percent("thinking")
		on, sent := percent("sent on")
		class := Class{Name: "one", Weight: weight, Prompt: fixed(1), Output: fixed(1),
			Turns: &Turns{Count: fixed(2), Tools: &Tools{Share: tool, Result: fixed(1)},
				Agents: &Agents{Share: agent, Count: fixed(1), Turns: fixed(1),
					Prompt: fixed(1)}, Thinking: Thinking{Share: think}}}
		text := Config{Arrivals: poisson(1), Requests: 1, Classes: []Class{class, {Name: "two",
			Weight: 1 - weight, Prompt: fixed(1), Output: fixed(1)}},
			Escalations: []Escalation{{Name: "up", From: 1, Share: on}}}.String()
		for _, want := range []string{"one (" + heavy + "): ", ", " + tools + " of them from tools",
			", " + agents + " from ", ", " + thinking + " of answers thinking",
			"up (" + sent + " of class 2, sent on)"} {
			if !strings.Contains(text, want) {
				rt.Fatalf("%q does not say %q", text, want)
			}
		}
	})
}

// No bound on recorded waits is exceeded, down to one tick, and only the first call of a session
// that was recorded follows no other.
func TestRecordedCallsFollowOthers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bound := sim.Time(rapid.SampledFrom([]int64{1, 2, 1e9, 1e12}).Draw(rt, "bound"))
		s := open(t, Config{Requests: 70, Users: &Users{Count: 1},
			Trace: &Trace{Path: sample("weka.jsonl"), Repeat: true, MaxWait: bound}})
		turns := map[int64][]int32{}
		var ended sim.Time
		for range 70 {
			at := s.NextArrival()
			var r sim.Request
			s.Next(&r)
			if r.Call.Number > 1 && at > ended+bound {
				rt.Fatalf("%+v comes %v after the last end, bound %v", r, at-ended, bound)
			}
			if first := r.Call.Number == 1; first != (r.Call.Turn == 0) {
				rt.Fatalf("call %d of session %d has turn %d", r.Call.Number, r.Session,
					r.Call.Turn)
			}
			turns[r.Session] = append(turns[r.Session], r.Call.Turn)
			sum := 0
			for _, c := range r.Content {
				sum += c.Tokens
			}
			if sum != r.Prompt {
				rt.Fatalf("segments of %d tokens describe a prompt of %d", sum, r.Prompt)
			}
			ended = max(ended, at) + sim.Second
			s.Done(&r, ended)
		}
		if len(turns) < 10 {
			rt.Fatalf("only %d sessions", len(turns))
		}
	})
}

// A trace has n parts from the time on at which its last request lacks a tenth of a part to fill
// the last of them.
func TestPartsOfATraceAreWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := int64(rapid.IntRange(1, 20).Draw(rt, "part")) * 10
		n := int64(rapid.IntRange(2, 6).Draw(rt, "parts"))
		for last, want := range map[int64]int64{n*part - part/10: n, n*part - part/10 - 1: n - 1} {
			file := fmt.Sprintf("arrival_s,prompt_tokens,output_tokens\n0,1,1\n%d,1,1\n", last)
			rows := Trace{Path: "t.csv", Part: sim.Time(part) * sim.Second, Options: trace.Options{
				FS: fstest.MapFS{"t.csv": {Data: []byte(file)}}}}
			p, err := rows.draw(1)
			if want < 2 {
				if err == nil {
					rt.Fatalf("%d s in parts of %d s are not refused", last, part)
				}
				continue
			}
			if err != nil || int64(len(p.drawn)) != want {
				rt.Fatalf("%d s in parts of %d s: %v, %v, want %d", last, part, p, err, want)
			}
		}
	})
}
