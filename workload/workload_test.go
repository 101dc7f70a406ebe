package workload

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
	"github.com/llmsim/llmsim/workload/trace"
)

// drawConfig makes up a workload of any kind that ends.
func drawConfig(t *rapid.T) Config {
	c := Config{Requests: rapid.Int64Range(1, 150).Draw(t, "requests"),
		Seed: rapid.Uint64().Draw(t, "seed")}
	if rapid.Bool().Draw(t, "open") {
		rate := rapid.SampledFrom([]arrivals.Rate{arrivals.Steady(5), arrivals.AtOnce{},
			arrivals.Bursts{High: 30, Low: 0, For: sim.Second, Pause: 2 * sim.Second, Random: true},
			arrivals.Diurnal{Average: 10, Swing: 1, Period: 10 * sim.Second}}).Draw(t, "rate")
		gaps := rapid.SampledFrom([]arrivals.Shape{nil, arrivals.Constant{},
			arrivals.Gamma{CV: 3}}).Draw(t, "gaps")
		c.Arrivals = &arrivals.Process{Rate: rate, Gaps: gaps}
	} else {
		c.Users = &Users{Count: rapid.IntRange(1, 9).Draw(t, "users"),
			RampUp: sim.Time(rapid.Int64Range(0, 3e12).Draw(t, "ramp up")), Think: drawThink(t)}
	}
	if rapid.Bool().Draw(t, "duration") {
		c.Duration = sim.Time(rapid.Int64Range(1, 20e12).Draw(t, "duration"))
		if c.Arrivals != nil {
			c.Arrivals.Gaps = nil
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "classes") {
		c.Classes = append(c.Classes, drawClass(t))
	}
	if c.own() {
		c.Arrivals, c.Users = nil, nil
	}
	return c
}

func drawThink(t *rapid.T) arrivals.Delay {
	return arrivals.Delay{Mean: sim.Time(rapid.Int64Range(0, 5e12).Draw(t, "think")),
		Shape: rapid.SampledFrom([]arrivals.Shape{nil, arrivals.Exponential{},
			arrivals.LogNormal{CV: 2}}).Draw(t, "shape")}
}

func drawClass(t *rapid.T) Class {
	some := rapid.SampledFrom([]*lengths.Distribution{fixed(1), fixed(300),
		must(lengths.Normal(500, 200, 2, 2000)), must(lengths.Zipf(1, 1, 4000))})
	c := Class{
		Weight: rapid.Float64Range(0.1, 10).Draw(t, "weight"), Prompt: some.Draw(t, "prompt"),
		Output: some.Draw(t, "output"),
		Traits: Traits{
			Tenant: rapid.IntRange(0, 3).Draw(t, "tenant"), Priority: rapid.IntRange(-2, 2).Draw(t,
				"priority"),
			Model:    rapid.IntRange(0, 2).Draw(t, "model"),
			TTFT:     sim.Time(rapid.Int64Range(0, 9e12).Draw(t, "ttft")),
			Deadline: sim.Time(rapid.Int64Range(0, 9e12).Draw(t, "deadline")),
			Patience: sim.Time(rapid.Int64Range(0, 9e12).Draw(t, "patience")),

			AfterFirst: rapid.Bool().Draw(t, "after the first token"),
		},
	}
	if rapid.Bool().Draw(t, "own arrivals") {
		c.Arrivals = poisson(rapid.Float64Range(0.1, 20).Draw(t, "own rate"))
	}
	if rapid.Bool().Draw(t, "prefix") {
		c.Prefix = &Prefix{Groups: rapid.IntRange(1, 5).Draw(t, "groups"),
			Tokens: some.Draw(t, "prefix")}
	}
	switch rapid.SampledFrom([]string{"single", "distinct", "turns"}).Draw(t, "kind") {
	case "distinct":
		c.Distinct = rapid.IntRange(1, 20).Draw(t, "distinct")
	case "turns":
		c.Turns = &Turns{Count: must(lengths.Uniform(1, 5)), Think: drawThink(t),
			MaxContext: rapid.SampledFrom([]int{0, 3000}).Draw(t, "context")}
		drawAgents(t, c.Turns)
	}
	return c
}

// drawAgents may add tools, agents, thinking and summaries to sessions.
func drawAgents(t *rapid.T, turns *Turns) {
	share := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
	if rapid.Bool().Draw(t, "tools") {
		turns.Tools = &Tools{Share: share("tool"), Result: must(lengths.Uniform(1, 400)),
			Wait: drawThink(t), Retries: share("retry") * 0.9}
	}
	if rapid.Bool().Draw(t, "agents") {
		most := 1
		if turns.Tools != nil {
			most = 3
		}
		turns.Agents = &Agents{Share: share("agent"), Count: must(lengths.Uniform(1, 4)),
			Turns: must(lengths.Uniform(1, most)), Prompt: must(lengths.Uniform(1, 3000))}
	}
	if rapid.Bool().Draw(t, "compact") {
		turns.Compact = &Compaction{At: rapid.IntRange(200, 2800).Draw(t, "at"), To: 100}
	}
	turns.Thinking = Thinking{Share: share("thinking") * 0.99,
		Keep:   rapid.SampledFrom([]Keep{KeepAll, KeepTask, KeepNone}).Draw(t, "keep"),
		Budget: rapid.SampledFrom([]int{0, 1, 50}).Draw(t, "budget")}
}

// Whatever the workload: requests come in order of time within the limits, are what their class
// allows, describe their prompts consistently, and are the same again with the same seed.
func TestSourcesKeepTheContract(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawConfig(rt)
		latency := rapid.Uint64().Draw(rt, "latency")
		v := serve(t, open(t, c), 1000, jitter(latency))
		if int64(len(v.sent)) > c.Requests ||
			(c.Duration == 0 && int64(len(v.sent)) != c.Requests) {
			rt.Fatalf("%d requests of %d", len(v.sent), c.Requests)
		}
		alone := !slices.ContainsFunc(c.Classes, func(class Class) bool {
			return class.Arrivals != nil
		})
		if most := atOnce(c); c.Users != nil && alone && v.most > most {
			rt.Fatalf("%d requests under way for %d users, allowed: %d", v.most, c.Users.Count,
				most)
		}
		last := sim.Time(0)
		text := map[uint64]int{}
		for _, r := range v.sent {
			if r.Arrival < last || (c.Duration > 0 && r.Arrival >= c.Duration) {
				rt.Fatalf("after %v, %+v", last, r)
			}
			last = r.Arrival
			checkRequest(rt, c, r, text)
		}
		again := serve(t, open(t, c), 1000, jitter(latency))
		if diff := cmp.Diff(v.sent, again.sent, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("the same seed differs:\n%s", diff)
		}
	})
}

// atOnce is the number of requests that the users of c can have under way: one each, or one for
// every agent that a turn starts.
func atOnce(c Config) int {
	if c.Users == nil {
		return 0
	}
	agents := 1
	for _, class := range c.Classes {
		if class.Turns != nil && class.Turns.Agents != nil {
			agents = max(agents, class.Turns.Agents.Count.Max())
		}
	}
	return c.Users.Count * agents
}

// checkRequest checks what a request asks for; text remembers the length of every segment seen.
func checkRequest(t *rapid.T, c Config, r sim.Request, text map[uint64]int) {
	class := c.Classes[r.Class]
	carries := Traits{r.Priority, r.Tenant, r.Model, class.Deadline, r.TTFT, r.Patience,
		r.Region, r.AfterFirst, r.Whole, nil}
	if carries != class.Traits || (class.Deadline > 0) != (r.Deadline > 0) ||
		(r.Deadline > 0 && r.Deadline != r.Arrival+class.Deadline) {
		t.Fatalf("%+v of class %+v", r, class)
	}
	shortest := call{output: class.Output.Min()}
	if class.Turns != nil {
		class.Turns.Thinking.begin(&shortest)
	}
	if summary := class.Turns != nil && class.Turns.Compact != nil; !summary &&
		(r.Output < shortest.output || r.Output > class.Output.Max()) {
		t.Fatalf("%+v has lengths outside %v, %v", r, class.Prompt, class.Output)
	}
	forgets := class.Turns != nil && class.Turns.Thinking.Keep == KeepNone
	if (class.Turns != nil) != (r.Session != 0) || r.Session == 0 && r.Answer != 0 ||
		r.Session != 0 && r.Answer == 0 && !forgets || r.Session == 0 && r.Call != (sim.Call{}) {
		t.Fatalf("session and answer of %+v", r)
	}
	if r.Answered != 0 || r.Adapter != 0 {
		t.Fatalf("%+v has answered, or has an adapter, before it is sent", r)
	}
	sum := 0
	for _, s := range r.Content {
		if before, ok := text[s.ID]; s.Tokens < 1 || (ok && before != s.Tokens) {
			t.Fatalf("segment %+v had %d tokens before", s, before)
		}
		text[s.ID] = s.Tokens
		sum += s.Tokens
	}
	if sum > r.Prompt || ((class.Turns != nil || class.Distinct > 0) && sum != r.Prompt) {
		t.Fatalf("segments of %d tokens describe a prompt of %d", sum, r.Prompt)
	}
	if m := class.Turns; m != nil && m.MaxContext > 0 && r.Prompt+r.Output > m.MaxContext &&
		r.Call.Number > 1 {
		t.Fatalf("a later turn of %d tokens in a context of %d", r.Prompt+r.Output, m.MaxContext)
	}
}

// A conversation's next prompt is the last one, its answer, and a new message, sent after the
// answer and the thinking time.
func TestConversations(t *testing.T) {
	think := 2 * sim.Second
	c := Config{Requests: 2000, Seed: 4, Arrivals: poisson(3), Classes: []Class{{
		Weight: 1, Prompt: must(lengths.Uniform(10, 50)), Output: must(lengths.Uniform(5, 100)),
		Prefix: &Prefix{Groups: 4, Tokens: fixed(64)},
		Turns:  &Turns{Count: must(lengths.Uniform(2, 6)), Think: arrivals.Delay{Mean: think}},
	}}}
	last := map[int64]sim.Request{}
	turns := 0
	for _, r := range serve(t, open(t, c), 5000, func() sim.Time { return sim.Second }).sent {
		before, ok := last[r.Session]
		last[r.Session] = r
		if !ok {
			continue
		}
		turns++
		if r.Arrival != before.Arrival+sim.Second+think {
			t.Fatalf("turn at %v after one at %v", r.Arrival, before.Arrival)
		}
		n := len(before.Content)
		if diff := cmp.Diff(before.Content, r.Content[:n]); diff != "" || len(r.Content) != n+2 {
			t.Fatalf("the prompt does not go on:\n%s", diff)
		}
		if answer := r.Content[n]; answer != (sim.Segment{
			ID: before.Answer, Tokens: before.Output}) {
			t.Fatalf("%+v repeats an answer of %d tokens", answer, before.Output)
		}
	}
	// 2 to 6 turns: three of four requests are later turns.
	if turns < 1400 {
		t.Errorf("only %d of 2000 requests are later turns", turns)
	}
}

// In an open loop what is asked does not depend on how fast the answers come; with several streams,
// nothing but what was changed does: common random numbers.
func TestPartsDrawIndependently(t *testing.T) {
	base := Config{Requests: 3000, Seed: 11, Arrivals: poisson(20), Classes: []Class{
		{Weight: 3, Prompt: must(lengths.Normal(500, 200, 2, 2000)),
			Output: must(lengths.Normal(250, 100, 2, 1000)),
			Prefix: &Prefix{Groups: 10, Tokens: fixed(9)}},
		{Weight: 1, Prompt: must(lengths.Zipf(1, 1, 1000)), Output: fixed(10)},
	}}
	change := func(f func(c *Config)) []sim.Request {
		c := base
		c.Classes = append([]Class(nil), base.Classes...)
		f(&c)
		return serve(t, open(t, c), 5000, jitter(1)).sent
	}
	original := change(func(*Config) {})
	for what, c := range map[string]struct {
		change  func(c *Config)
		ignored []string
	}{
		"output lengths": {func(c *Config) {
			c.Classes[0].Output = must(lengths.LogNormal(90, 2, 1, 4000))
		}, []string{"Output"}},
		"prompt lengths": {func(c *Config) { c.Classes[0].Prompt = fixed(8) }, []string{"Prompt"}},
		"arrivals": {func(c *Config) {
			c.Arrivals = &arrivals.Process{Rate: arrivals.Steady(2), Gaps: arrivals.Gamma{CV: 3}}
		}, []string{"Arrival"}},
		"popularity": {func(c *Config) {
			c.Classes[0].Prefix = &Prefix{Groups: 30, Tokens: fixed(9), Zipf: 1}
		}, []string{"Content"}},
	} {
		got := change(c.change)
		if diff := cmp.Diff(original, got, cmpopts.IgnoreFields(sim.Request{}, c.ignored...),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("changing %s changes something else:\n%s", what, diff)
		}
		if cmp.Equal(original, got, cmpopts.EquateEmpty()) {
			t.Errorf("changing %s changes nothing", what)
		}
	}
	other := change(func(c *Config) { c.Seed++ })
	if other[0].Arrival == original[0].Arrival || other[0].Prompt == original[0].Prompt &&
		other[1].Prompt == original[1].Prompt {
		t.Errorf("another seed begins alike: %+v", other[:2])
	}
}

// The load of the measured vLLM runs: a constant rate for ten minutes over 100 prompts in 10
// groups, sent in turn.
func TestDistinctPromptsInGroups(t *testing.T) {
	c := Config{Duration: 600 * sim.Second, Seed: 1, Arrivals: &arrivals.Process{
		Rate: arrivals.Steady(5), Gaps: arrivals.Constant{}},
		Classes: []Class{{Weight: 1, Prompt: must(lengths.Normal(447, 20, 300, 600)),
			Output: fixed(248), Prefix: &Prefix{Groups: 10, Tokens: fixed(100)}, Distinct: 100}}}
	sent := serve(t, open(t, c), 1e6, func() sim.Time { return 0 }).sent
	if len(sent) != 3000 {
		t.Fatalf("%d requests in 600 s at 5/s", len(sent))
	}
	prefixes, questions := map[uint64]int{}, map[uint64]int{}
	for i, r := range sent {
		if r.Content[0].Tokens != 100 || r.Prompt != 100+r.Content[1].Tokens {
			t.Fatalf("%+v", r)
		}
		prefixes[r.Content[0].ID]++
		questions[r.Content[1].ID]++
		if i >= 100 && !cmp.Equal(r.Content, sent[i-100].Content) {
			t.Fatalf("request %d does not repeat the prompt of request %d", i, i-100)
		}
	}
	if len(prefixes) != 10 || len(questions) != 100 {
		t.Errorf("%d prefixes and %d prompts, want 10 and 100", len(prefixes), len(questions))
	}
	for id, n := range prefixes {
		if n != 300 {
			t.Errorf("prefix %x in %d requests, want 300", id, n)
		}
	}
}

// Weights and popularity are kept: counts within five standard deviations of the binomial.
func TestShares(t *testing.T) {
	const n = 100_000
	c := Config{Requests: n, Seed: 2, Arrivals: poisson(100), Classes: []Class{
		{Weight: 3, Prompt: fixed(1), Output: fixed(1),
			Prefix: &Prefix{Groups: 3, Tokens: fixed(5), Zipf: 1}},
		{Weight: 1, Prompt: fixed(1), Output: fixed(1)},
	}}
	counts := map[uint64]float64{}
	var r sim.Request
	for s := open(t, c); s.NextArrival() != sim.Never; {
		s.Next(&r)
		if r.Class == 1 {
			counts[1]++
			continue
		}
		counts[r.Content[0].ID]++
	}
	var got []float64
	for _, k := range counts {
		got = append(got, k)
	}
	// Three quarters in the proportions 1 : 1/2 : 1/3, and a quarter.
	want := []float64{0.25, 0.75 * 6 / 11, 0.75 * 3 / 11, 0.75 * 2 / 11}
	if len(got) != len(want) {
		t.Fatalf("counts %v", got)
	}
	for _, p := range want {
		near := false
		for _, k := range got {
			near = near || math.Abs(k-p*n) < 5*math.Sqrt(n*p*(1-p))
		}
		if !near {
			t.Errorf("no class or group near a share of %.3f: %v", p, got)
		}
	}
}

func TestUsersWaitForTheirAnswers(t *testing.T) {
	c := Config{Requests: 500, Seed: 3, Users: &Users{Count: 4, RampUp: 8 * sim.Second,
		Think: arrivals.Delay{Mean: 3 * sim.Second}},
		Classes: []Class{{Weight: 1, Prompt: fixed(10), Output: fixed(10)}}}
	v := serve(t, open(t, c), 1000, func() sim.Time { return sim.Second })
	// The users start at 0, 2, 4 and 6 s and take 4 s a round: from 4 s on, two send together every
	// 2 s.
	for i, r := range v.sent {
		want := sim.Time(i) * 2 * sim.Second
		if i >= 2 {
			want = sim.Time(i/2+1) * 2 * sim.Second
		}
		if r.Arrival != want {
			t.Fatalf("request %d at %v, want %v", i, r.Arrival, want)
		}
	}
}

// A server that turns everything away at once must not be asked for ever at the same moment.
func TestUsersBackOff(t *testing.T) {
	c := Config{Duration: 100 * sim.Second, Users: &Users{Count: 1},
		Classes: []Class{{Weight: 1, Prompt: fixed(10), Output: fixed(10)}}}
	if v := serve(t, open(t, c), 1000, func() sim.Time { return 0 }); len(v.sent) != 100 {
		t.Errorf("%d requests in 100 s, want one a second", len(v.sent))
	}
}

func sample(name string) string { return filepath.Join("trace", "testdata", name) }

// A replay sends what the trace holds, when it says.
func TestReplay(t *testing.T) {
	for _, name := range []string{"azure2023.csv", "azure2024.csv", "burstgpt.csv",
		"mooncake.jsonl", "llmsim.csv"} {
		reader, err := trace.Open(sample(name), trace.Options{Speed: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		s := open(t, Config{Trace: &Trace{Path: sample(name), Options: trace.Options{Speed: 2}}})
		for _, got := range serve(t, s, 100, jitter(1)).sent {
			want := sim.Request{ID: got.ID}
			if err := reader.Read(&want); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want.Deadline > 0 {
				want.Deadline += want.Arrival
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: (-trace +replay):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(reader.Counts(), s.Counts()); diff != "" {
			t.Errorf("%s: counts (-trace +replay):\n%s", name, diff)
		}
	}
}

// Traces that are played together send what each sends alone, in the order of time, and share no
// text.
func TestTracesTogether(t *testing.T) {
	names := []string{"mooncake.jsonl", "azure2023.csv", "mooncake.jsonl"}
	var traces []Trace
	for _, name := range names {
		traces = append(traces,
			Trace{Path: sample(name), Traits: []Traits{{Priority: len(traces)}}})
	}
	s := open(t, Config{Traces: traces})
	together := make([][]sim.Request, len(names))
	texts, last := map[uint64]int{}, sim.Time(0)
	for _, r := range serve(t, s, 1000, jitter(1)).sent {
		if r.Arrival < last || r.Priority != r.Class {
			t.Errorf("%+v after %v", r, last)
		}
		for i, text := range r.Content {
			if class, known := texts[text.ID]; known && class != r.Class {
				t.Errorf("classes %d and %d share a text", class, r.Class)
			}
			texts[text.ID], r.Content[i].ID = r.Class, 0
		}
		last = r.Arrival
		together[r.Class] = append(together[r.Class], r)
	}
	rows := int64(0)
	for k := range names {
		one := open(t, Config{Trace: &traces[k]})
		alone := serve(t, one, 1000, jitter(1)).sent
		for i := range alone {
			alone[i].ID, alone[i].Class = together[k][min(i, len(together[k])-1)].ID, k
			for j := range alone[i].Content {
				alone[i].Content[j].ID = 0
			}
		}
		if diff := cmp.Diff(alone, together[k], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-alone +together):\n%s", names[k], diff)
		}
		rows += one.Counts().Rows
	}
	if got := s.Counts().Rows; got != rows || len(texts) == 0 {
		t.Errorf("%d rows and %d texts, want %d rows", got, len(texts), rows)
	}
}

// Recorded requests carry the traits of their class, but for what the trace says itself.
func TestTraitsOfRecordedRequests(t *testing.T) {
	options := trace.Options{Classes: []string{"chat", "batch"}}
	traits := []Traits{
		{Model: 1, Priority: 9, Patience: sim.Second, TTFT: 2 * sim.Second},
		{Tenant: 3, Priority: 9, Deadline: sim.Second},
	}
	sent := serve(t, open(t, Config{
		Trace: &Trace{Path: sample("llmsim.csv"), Options: options, Traits: traits}}), 100,
		func() sim.Time { return 1 }).sent
	chat, batch := sent[0], sent[1]
	if chat.Model != 1 || chat.Tenant != 1 || chat.Priority != 2 || chat.Patience != sim.Second ||
		chat.TTFT != 2*sim.Second || chat.Deadline != chat.Arrival+3*sim.Second/2 {
		t.Errorf("the first request, of chat: %+v", chat)
	}
	if batch.Model != 0 || batch.Tenant != 3 || batch.Priority != -1 || batch.Patience != 0 ||
		batch.Deadline != batch.Arrival+sim.Second {
		t.Errorf("the second request, of batch: %+v", batch)
	}
}

// Recorded lengths under a process or users: the trace's order, other times; repeated if asked.
func TestRecordedLengths(t *testing.T) {
	prompts := []int{25, 400, 77, 18}
	for name, c := range map[string]Config{
		"process": {Arrivals: poisson(2), Trace: &Trace{Path: sample("sharegpt.json")}},
		"repeat": {Arrivals: poisson(2),
			Trace: &Trace{Path: sample("sharegpt.json"), Repeat: true}, Requests: 11},
		"users": {Users: &Users{Count: 2}, Trace: &Trace{Path: sample("sharegpt.json"),
			Repeat: true}, Duration: 100 * sim.Second},
	} {
		s := open(t, c)
		v := serve(t, s, 11, func() sim.Time { return sim.Second })
		if want := map[string]int{"process": 4, "repeat": 11,
			"users": 11}[name]; len(v.sent) != want {
			t.Errorf("%s: %d requests, want %d", name, len(v.sent), want)
		}
		for i, r := range v.sent {
			if r.Prompt != prompts[i%4] {
				t.Errorf("%s: request %d has a prompt of %d, want %d", name, i, r.Prompt,
					prompts[i%4])
			}
		}
		if got := s.Counts().Requests; got != 4 {
			t.Errorf("%s: counts %d requests in a pass, want 4", name, got)
		}
	}
}

// A trace that breaks half way delivers what came before, and then says what is wrong.
func TestBrokenTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(path,
		[]byte("arrival_s,prompt_tokens,output_tokens\n0,5,5\n1,6,6\n2,x,7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{Trace: &Trace{Path: path}})
	var r sim.Request
	for range 2 {
		if s.NextArrival() == sim.Never || s.Err() != nil {
			t.Fatalf("broken early: %v", s.Err())
		}
		s.Next(&r)
	}
	if s.NextArrival() != sim.Never || s.Err() == nil ||
		!strings.Contains(s.Err().Error(), `:4: prompt_tokens: found "x"`) {
		t.Errorf("next %v, error %v", s.NextArrival(), s.Err())
	}
}

// What a summary declares is what comes: means of 200,000 requests within 1 %.
func TestSummaryDeclaresTheMeans(t *testing.T) {
	c := Config{Requests: 200_000, Seed: 6, Arrivals: poisson(50), Classes: []Class{
		{Name: "chat", Weight: 2, Prompt: must(lengths.Normal(100, 30, 10, 300)),
			Output: must(lengths.Exponential(80, 1, 1000)),
			Prefix: &Prefix{Groups: 10_000, Tokens: must(lengths.Uniform(50, 150))},
			Turns:  &Turns{Count: must(lengths.Uniform(1, 5))}},
		{Name: "batch", Weight: 1, Prompt: must(lengths.Normal(2000, 300, 10, 4000)),
			Output: fixed(50)},
		{Name: "steady", Weight: 1, Prompt: fixed(900), Output: fixed(10),
			Arrivals: &arrivals.Process{Rate: arrivals.Steady(25), Gaps: arrivals.Constant{}}},
	}}
	s := open(t, c)
	sent := serve(t, s, 1e6, func() sim.Time { return 1 }).sent
	prompt, output := 0.0, 0.0
	for _, r := range sent {
		prompt += float64(r.Prompt)
		output += float64(r.Output)
	}
	n := float64(len(sent))
	declared := s.Summary()
	for what, pair := range map[string][2]float64{
		"prompt": {prompt / n, declared.Prompt}, "output": {output / n, declared.Output},
		"rate": {n / sent[len(sent)-1].Arrival.Seconds(), declared.Rate},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 0.01 {
			t.Errorf("%s: mean %.2f, declared %.2f", what, pair[0], pair[1])
		}
	}
	want := "Poisson, 50/s; chat (66.7 %): prompts normal(100, 30) in [10, 300], outputs " +
		"exponential(80) in [1, 1000], after one of 10000 prefixes uniform in [50, 150], " +
		"in conversations of uniform in [1, 5] turns with 0s constant between; batch (33.3 %): " +
		"prompts normal(2000, 300) in [10, 4000], outputs fixed(50); " +
		"steady (constant gaps, 25/s): prompts fixed(900), outputs fixed(10); 200000 requests"
	if diff := cmp.Diff(want, declared.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestErrorsSayWhatIsAllowed(t *testing.T) {
	class := Class{Name: "chat", Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	with := func(f func(c *Class)) Config {
		c := class
		f(&c)
		return Config{Arrivals: poisson(1), Requests: 1, Classes: []Class{c, class}}
	}
	good := []Class{class}
	azure := &Trace{Path: sample("azure2023.csv")}
	for want, c := range map[string]Config{
		"neither classes nor a trace": {Arrivals: poisson(1)},
		"found classes and a trace":   {Arrivals: poisson(1), Classes: good, Trace: azure},
		"found arrivals and users": {Arrivals: poisson(1), Users: &Users{},
			Classes: good},
		"neither arrivals nor users": {Classes: good},
		"arrivals for every class": {Arrivals: poisson(1), Requests: 1,
			Classes: []Class{{Weight: 1, Prompt: fixed(1), Output: fixed(1),
				Arrivals: poisson(1)}}},
		"all at once, allowed: the workload": with(func(c *Class) {
			c.Arrivals = &arrivals.Process{Rate: arrivals.AtOnce{}}
		}),
		"repeated trace with its own times": {Trace: &Trace{Repeat: true}},
		"requests: found -1":                {Trace: azure, Requests: -1},
		"duration: found -1":                {Trace: azure, Duration: -sim.Second},
		"workload without end":              {Arrivals: poisson(1), Classes: good},
		"all at once: a number of requests": {
			Arrivals: &arrivals.Process{Rate: arrivals.AtOnce{}}, Classes: good, Duration: 1},
		"users: found 0": {Users: &Users{}, Classes: good, Duration: 1},
		"users: ramp up: found -1": {Users: &Users{Count: 1, RampUp: -sim.Second},
			Classes: good, Duration: 1},
		"users: delay: mean: found -1": {
			Users: &Users{Count: 1, Think: arrivals.Delay{Mean: -sim.Second}}, Classes: good,
			Duration: 1},
		"rate: found 0/s": {Arrivals: poisson(0), Classes: good, Requests: 1},
		"found no rate": {Arrivals: &arrivals.Process{}, Classes: good,
			Requests: 1},
		"no such file":                       {Trace: &Trace{Path: "none.csv"}},
		"has no times":                       {Trace: &Trace{Path: sample("sharegpt.json")}},
		`class "chat": weight: found 0`:      with(func(c *Class) { c.Weight = 0 }),
		"found no prompt lengths":            with(func(c *Class) { c.Prompt = nil }),
		"found no output lengths":            with(func(c *Class) { c.Output = nil }),
		"deadline: found -1":                 with(func(c *Class) { c.Deadline = -sim.Second }),
		"tenant, model and region: found -2": with(func(c *Class) { c.Tenant = -2 }),
		"distinct prompts: found -1":         with(func(c *Class) { c.Distinct = -1 }),
		"found distinct prompts and turns": with(func(c *Class) {
			c.Distinct, c.Turns = 1,
				&Turns{Count: fixed(2)}
		}),
		"prefix: groups: found 0": with(func(c *Class) {
			c.Prefix = &Prefix{Tokens: fixed(1)}
		}),
		"prefix: found no lengths": with(func(c *Class) {
			c.Prefix = &Prefix{Groups: 1}
		}),
		"prefix: zipf: found NaN": with(func(c *Class) {
			c.Prefix = &Prefix{Groups: 1, Tokens: fixed(1), Zipf: math.NaN()}
		}),
		"zipf: found 1 with distinct prompts": with(func(c *Class) {
			c.Distinct, c.Prefix = 1,
				&Prefix{Groups: 1, Tokens: fixed(1), Zipf: 1}
		}),
		"turns: found no number": with(func(c *Class) { c.Turns = &Turns{} }),
		"turns: found up to 70000": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(70000)}
		}),
		"turns: longest context: found -1": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), MaxContext: -1}
		}),
		"share of tools: found 2": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Tools: &Tools{Share: 2, Result: fixed(1)}}
		}),
		"retries: found 1": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Tools: &Tools{Retries: 1, Result: fixed(1)}}
		}),
		"tools: found no lengths": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Tools: &Tools{}}
		}),
		"agents: found no number": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Agents: &Agents{}}
		}),
		"turns of agents without tools": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Agents: &Agents{Count: fixed(2), Turns: fixed(2),
				Prompt: fixed(1)}}
		}),
		"found up to 70100 calls": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(100), Tools: &Tools{Result: fixed(1)}, Agents: &Agents{
				Count: fixed(70), Turns: fixed(10), Prompt: fixed(1)}}
		}),
		"allowed: to 1 or more, at more": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Compact: &Compaction{At: 5, To: 5}}
		}),
		"found a share of 1": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2), Thinking: Thinking{Share: 1}}
		}),
		"class 1: delay: gamma: cv: found NaN": with(func(c *Class) {
			c.Turns = &Turns{Count: fixed(2),
				Think: arrivals.Delay{Shape: arrivals.Gamma{CV: math.NaN()}}}
		}),
	} {
		s, err := Open(c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v and error %v, want an error with %q", s, err, want)
		}
	}
}

// The stream of a seed is part of what a scenario means: it may not change between versions or
// machines.
func TestTheStreamOfASeedIsPinned(t *testing.T) {
	s := open(t, Config{Seed: 42, Requests: 10_000, Arrivals: poisson(20),
		Classes: []Class{{Weight: 1, Prompt: must(lengths.Normal(500, 200, 2, 2000)),
			Output: must(lengths.Normal(250, 100, 2, 1000))}}})
	sent := serve(t, s, 10_000, func() sim.Time { return sim.Second }).sent
	var got [4][3]int64
	for i, n := range []int{0, 1, 2, 9999} {
		got[i] = [3]int64{int64(sent[n].Arrival), int64(sent[n].Prompt), int64(sent[n].Output)}
	}
	want := [4][3]int64{{5753263546, 413, 256}, {6216320286, 390, 154}, {8035917479, 761, 228},
		{49557195624879, 415, 60}}
	if got != want {
		t.Errorf("requests 0, 1, 2 and 9999 (arrival in ticks, prompt, output) are %v, were %v",
			got, want)
	}
}
