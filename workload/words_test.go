package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// A description has the words of each part that a workload has, in order, and nothing else: the
// smallest values that are not left out are named too.
func TestDescriptionsNameWhatIsThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var want strings.Builder
		part := func(name, words string) bool {
			is := rapid.Bool().Draw(rt, name)
			if is {
				want.WriteString(words)
			}
			return is
		}
		small := func(name string) int { return rapid.IntRange(1, 3).Draw(rt, name) }
		n, k, share := small("n"), small("k"), float64(small("hundredths"))/100
		percent := func() string { return fmt.Sprintf("%.0f %%", 100*share) }
		c := Class{Weight: 1, Prompt: fixed(n), Output: fixed(k)}
		fmt.Fprintf(&want, "prompts fixed(%d), outputs fixed(%d)", n, k)
		if part("prefix", fmt.Sprintf(", after one of %d prefixes fixed(%d)", n, k)) {
			c.Prefix = &Prefix{Groups: n, Tokens: fixed(k)}
			if part("popularity", fmt.Sprintf(" with zipf(%g) popularity", share)) {
				c.Prefix.Zipf = share
			}
		}
		if part("distinct", fmt.Sprintf(", %d distinct prompts in turn", n)) {
			c.Distinct = n
		}
		c.Samples = rapid.IntRange(0, 1).Draw(rt, "one sample")
		if part("samples", fmt.Sprintf(", %d answers each", n+1)) {
			c.Samples = n + 1
			if part("beams", fmt.Sprintf(" that fork after every %d tokens", k)) {
				c.BeamStep = k
			}
		}
		if part("turns", fmt.Sprintf(", in conversations of fixed(%d) turns with 0s constant "+
			"between", n)) {
			c.Turns = &Turns{Count: fixed(n)}
			if part("tools", ", "+percent()+" of them from tools that take 1s constant and "+
				"return "+fixed(k).String()) {
				c.Turns.Tools = &Tools{Share: share, Result: fixed(k),
					Wait: arrivals.Delay{Mean: sim.Second}}
			}
			if part("agents", fmt.Sprintf(", %s from fixed(%d) agents of fixed(%d) turns",
				percent(), n, k)) {
				c.Turns.Agents = &Agents{Share: share, Count: fixed(n), Turns: fixed(k)}
			}
			if part("thinking", ", "+percent()+" of answers thinking") {
				c.Turns.Thinking.Share = share
				if part("budget", fmt.Sprintf(" of at most %d tokens", n)) {
					c.Turns.Thinking.Budget = n
				}
			}
			if part("compact", fmt.Sprintf(", summed up in %d tokens at %d", n, k)) {
				c.Turns.Compact = &Compaction{At: k, To: n}
			}
		}
		config := Config{Classes: []Class{c}, Users: &Users{Count: n}}
		before, u := fmt.Sprintf("%d users", n), config.Users
		if n == 1 {
			before = "1 user"
		}
		if rapid.Bool().Draw(rt, "think") {
			u.Think.Mean = sim.Second
			before += ", thinking 1s constant"
		}
		switch rapid.IntRange(0, 2).Draw(rt, "start") {
		case 0:
			if n > 1 {
				before += ", starting together"
			}
		case 1:
			u.RampUp = sim.Time(k) * sim.Nanosecond
			before += fmt.Sprintf(", starting within %dns", k)
		case 2:
			u.Cycle = func(_, _ float64, _ sim.Time) sim.Time { return 0 }
		}
		if rapid.Bool().Draw(rt, "middle") {
			u.StartMin, u.StartMax = 0, share
			before += fmt.Sprintf(", first sessions beginning at 0 to %g of their calls", share)
		}
		if part("adapters", fmt.Sprintf("; %d adapters, zipf(%g)", n, share)) {
			config.Adapters = &Adapters{Count: n, Zipf: share}
		}
		if part("requests", fmt.Sprintf("; %d requests", n)) {
			config.Requests = int64(n)
		}
		if part("duration", fmt.Sprintf("; for %dns", k)) {
			config.Duration = sim.Time(k) * sim.Nanosecond
		}
		if got := config.String(); got != before+"; "+want.String() {
			rt.Fatalf("found %q\nwant  %q", got, before+"; "+want.String())
		}
	})
}

// A description says which requests of a trace are used, and does not name what the trace
// leaves as recorded; a trace at its own times says so, and several are named in their order.
func TestDescriptionsOfTraces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := "trace a.csv"
		part := func(name, words string) bool {
			is := rapid.Bool().Draw(rt, name)
			if is {
				want += words
			}
			return is
		}
		c := Trace{Path: "folder/a.csv"}
		n := sim.Time(rapid.IntRange(1, 2).Draw(rt, "n")) * sim.Nanosecond
		if part("from", fmt.Sprintf(" from %v", n)) {
			c.From = n
		}
		if part("for", fmt.Sprintf(" for %v", n)) {
			c.For = n
		}
		c.Speed = float64(rapid.IntRange(0, 1).Draw(rt, "no speed"))
		if part("speed", " at 2 times the rate") {
			c.Speed = 2
		}
		if part("part", fmt.Sprintf(", in drawn parts of %v", n)) {
			c.Part = n
		}
		if part("repeat", ", repeating") {
			c.Repeat = true
		}
		for _, of := range []struct {
			config Config
			want   string
		}{
			{Config{Trace: &c}, "recorded times; " + want},
			{Config{Traces: []Trace{{Path: "b.csv"}, c}}, "recorded times; trace b.csv; " + want},
			{Config{Trace: &c, Arrivals: poisson(2)}, "Poisson, 2/s; " + want},
		} {
			if got := of.config.String(); got != of.want {
				rt.Fatalf("found %q, want %q", got, of.want)
			}
		}
	})
}

// A class with arrivals of its own says them in place of its share, and the shares of the others
// leave it out; classes without a name have their number.
func TestDescriptionsOfClasses(t *testing.T) {
	class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	named, own := class, class
	named.Name, named.Weight = "x", 3
	own.Weight, own.Arrivals = 96, poisson(2)
	const lengths = ": prompts fixed(1), outputs fixed(1)"
	for want, c := range map[string]Config{
		"Poisson, 1/s; class 1 (25 %)" + lengths + "; x (75 %)" + lengths +
			"; class 3 (Poisson, 2/s)" + lengths: {Arrivals: poisson(1),
			Classes: []Class{class, named, own}},
		"prompts fixed(1), outputs fixed(1)": {Classes: []Class{own}},
		"class 1 (Poisson, 2/s)" + lengths + "; class 2 (Poisson, 2/s)" +
			lengths: {Classes: []Class{own, own}},
		"Poisson, 1/s; sessions of 2 calls": {Arrivals: poisson(1), Classes: []Class{{Weight: 1,
			Prompt: fixed(1), Output: fixed(1), Calls: make([]Call, 2)}}},
	} {
		if got := c.String(); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// drawPlain makes up a class of fixed lengths, and returns its mean number of requests with the
// sums of their prompts and outputs.
func drawPlain(t *rapid.T) (c Class, requests, prompts, outputs float64) {
	number := func(name string) int { return rapid.IntRange(1, 6).Draw(t, name) }
	p, o, prefix := number("prompt"), number("output"), 0
	c = Class{Weight: float64(number("weight")), Prompt: fixed(p), Output: fixed(o)}
	if rapid.Bool().Draw(t, "prefix") {
		prefix = number("tokens")
		c.Prefix = &Prefix{Groups: number("groups"), Tokens: fixed(prefix)}
	}
	n := number("n")
	switch rapid.SampledFrom([]string{"turns", "samples", "distinct", "calls", "beams"}).Draw(t,
		"kind") {
	case "turns":
		c.Turns = &Turns{Count: fixed(n)}
		// Tools, agents and summaries that never come change nothing; nor does thinking that all
		// later prompts repeat.
		switch rapid.IntRange(0, 4).Draw(t, "agentic") {
		case 1:
			c.Turns.Tools = &Tools{Result: fixed(9)}
		case 2:
			c.Turns.Agents = &Agents{Count: fixed(9), Turns: fixed(1), Prompt: fixed(9)}
		case 3:
			c.Turns.Compact = &Compaction{At: 10_000, To: 1}
		case 4:
			c.Turns.Thinking.Share = 0.5
		}
	case "calls": // each goes on from the one before
		for i := range n {
			call := Call{From: i - 1, Prompt: fixed(p), Output: fixed(o)}
			if i > 0 {
				call.After = []int{i - 1}
			}
			c.Calls = append(c.Calls, call)
		}
	case "samples", "beams":
		c.Samples = n
		if c.Samples > 1 && rapid.Bool().Draw(t, "one step") {
			c.BeamStep = o
		}
		k := float64(n)
		return c, k, k * float64(prefix+p), k * float64(o)
	case "distinct":
		c.Distinct, n = n, 1
	}
	// Call k has the prefix, k messages and k − 1 answers.
	k := float64(n)
	return c, k, k*float64(prefix) + k*(k+1)/2*float64(p) + k*(k-1)/2*float64(o), k * float64(o)
}

// A summary adds up over classes, whose requests come in proportion to their weights, or at their
// own rate, and over escalations, which send on a share of a class. Its rate is unknown where users
// wait for answers, or where all arrive at once; its means are not.
func TestSummariesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := float64(rapid.IntRange(1, 9).Draw(rt, "rate"))
		c := Config{Requests: 5, Duration: 7}
		pace := rapid.SampledFrom([]string{"open", "users", "at once"}).Draw(rt, "pace")
		switch pace {
		case "open":
			c.Arrivals = poisson(rate)
		case "users":
			c.Users = &Users{Count: 3}
		case "at once":
			c.Arrivals = &arrivals.Process{Rate: arrivals.AtOnce{}}
		}
		var flows, weights float64 // of all
		var sums [][3]float64
		for range rapid.IntRange(1, 3).Draw(rt, "classes") {
			class, n, p, o := drawPlain(rt)
			weights += class.Weight
			sums, c.Classes = append(sums, [3]float64{n, p, o}), append(c.Classes, class)
		}
		if pace != "open" {
			rate = weights
		}
		for i := range sums {
			for k := range sums[i] {
				sums[i][k] *= rate * c.Classes[i].Weight / weights
			}
		}
		if pace == "open" && rapid.Bool().Draw(rt, "own") {
			class, n, p, o := drawPlain(rt)
			own := float64(rapid.IntRange(1, 9).Draw(rt, "own rate"))
			class.Arrivals = poisson(own)
			c.Classes = append(c.Classes, class)
			sums = append(sums, [3]float64{own * n, own * p, own * o})
		}
		for range rapid.IntRange(0, 2).Draw(rt, "escalations") {
			from := rapid.IntRange(0, len(sums)-1).Draw(rt, "from")
			share := rapid.Float64Range(0, 1).Draw(rt, "share")
			c.Escalations = append(c.Escalations, Escalation{From: from, Share: share})
			of := sums[from]
			sums = append(sums, [3]float64{share * of[0], share * of[1], share * of[2]})
		}
		var prompts, outputs float64
		for _, of := range sums {
			flows, prompts, outputs = flows+of[0], prompts+of[1], outputs+of[2]
		}
		s := c.summary()
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(1+math.Abs(b)) }
		want := flows
		if pace != "open" {
			want = 0
		}
		if !near(s.Rate, want) || !near(s.Prompt, prompts/flows) ||
			!near(s.Output, outputs/flows) || s.Requests != 5 || s.Duration != 7 {
			rt.Fatalf("%+v, want a rate of %g with %g and %g tokens of %+v", s, want,
				prompts/flows, outputs/flows, c)
		}
	})
	one := Config{Trace: &Trace{}, Requests: 3}.summary()
	if one.Rate != 0 || one.Prompt != 0 || one.Output != 0 || one.Requests != 3 {
		t.Errorf("a trace declares %+v", one)
	}
}

// The mean pause of a user is what passes between the end of an answer and the next request, as it
// comes, over whole sessions; classes with arrivals of their own have no share in it.
func TestPausesAreWhatUsersTake(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seconds := func(name string) arrivals.Delay {
			return arrivals.Delay{Mean: sim.Time(rapid.IntRange(0, 9).Draw(rt, name)) * sim.Second}
		}
		turns := rapid.IntRange(1, 5).Draw(rt, "turns")
		class := Class{Weight: rapid.Float64Range(0.1, 5).Draw(rt, "weight"), Prompt: fixed(1),
			Output: fixed(1), Turns: &Turns{Count: fixed(turns), Think: seconds("between")}}
		if rapid.Bool().Draw(rt, "tools") {
			class.Turns.Tools = &Tools{Share: float64(rapid.IntRange(0, 1).Draw(rt, "share")),
				Result: fixed(1), Wait: seconds("wait")}
		}
		if rapid.Bool().Draw(rt, "single") {
			class.Turns, turns = nil, 1
		}
		c := Config{Requests: int64(3*turns + 1), Classes: []Class{class},
			Users: &Users{Count: 1, Think: seconds("think")}}
		sent := serve(t, open(t, c), 1000, second).sent
		passed := sent[len(sent)-1].Arrival - sim.Time(len(sent)-1)*sim.Second
		c.Classes = append(c.Classes, Class{Weight: 7, Arrivals: poisson(1), Prompt: fixed(1),
			Output: fixed(1), Turns: &Turns{Count: fixed(9), Think: seconds("other")}})
		if got, want := c.pause(), passed/sim.Time(3*turns); max(got-want, want-got) > 1000 {
			rt.Fatalf("a mean pause of %v, users took %v", got, want)
		}
		// Two kinds of sessions pause in proportion to their requests.
		plain := Class{Weight: rapid.Float64Range(0.1, 5).Draw(rt, "weight of the other"),
			Prompt: fixed(1), Output: fixed(1)}
		alone := c.pause().Seconds()
		c.Classes = append(c.Classes, plain)
		a, b := class.Weight*float64(turns), plain.Weight
		want := (a*alone + b*c.Users.Think.Mean.Seconds()) / (a + b)
		if got := c.pause().Seconds(); math.Abs(got-want) > 1e-6 {
			rt.Fatalf("a mean pause of %g s with single requests, want %g", got, want)
		}
	})
	c := Config{Trace: &Trace{}, Users: &Users{Think: arrivals.Delay{Mean: 5}}}
	if got := c.pause(); got != 5 {
		t.Errorf("users of a trace pause %v", got)
	}
}

// A workload without end is refused, and only such: one that ends by a number of requests, by a
// time where not all of them arrive before it, by its arrivals, or with its trace.
func TestWorkloadsThatEnd(t *testing.T) {
	ends := arrivals.Phases{List: []arrivals.Phase{{For: sim.Second, From: 1, To: 1}}}
	class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	for name, rate := range map[string]arrivals.Rate{"steady": arrivals.Steady(1),
		"at once": arrivals.AtOnce{}, "ends": ends, "users": nil, "own": arrivals.Steady(2),
		"own that ends": ends} {
		for _, requests := range []int64{0, 1} {
			for _, duration := range []sim.Time{0, 1} {
				for _, recorded := range []string{"", "once", "repeat"} {
					c := Config{Requests: requests, Duration: duration, Classes: []Class{class}}
					p := &arrivals.Process{Rate: rate}
					if own := strings.HasPrefix(name, "own"); own && recorded != "" {
						continue
					} else if own {
						c.Classes[0].Arrivals = p
					} else if name == "users" {
						c.Users = &Users{Count: 1}
					} else {
						c.Arrivals = p
					}
					if recorded != "" {
						c.Classes, c.Trace = nil, &Trace{Path: sample("sharegpt.json"),
							Repeat: recorded == "repeat"}
					}
					want := requests > 0 || duration > 0 && name != "at once" ||
						strings.HasSuffix(name, "ends") || recorded == "once"
					s, err := Open(c)
					if err == nil {
						s.Close()
					}
					if (err == nil) != want {
						t.Errorf("%s, %d requests, %v, trace %q: %v", name, requests, duration,
							recorded, err)
					}
				}
			}
		}
	}
}

// Requests come from classes, from a trace or from several; their times from arrivals or users, or
// from traces, and several traces have their own. Every other choice is refused, and no such.
func TestWhereRequestsComeFrom(t *testing.T) {
	for chosen := range 1 << 5 {
		is := func(k int) bool { return chosen>>k&1 == 1 }
		classes, recorded, several, paced, users := is(0), is(1), is(2), is(3), is(4)
		c := Config{Requests: 1}
		if classes {
			c.Classes = []Class{{Weight: 1, Prompt: fixed(1), Output: fixed(1)}}
		}
		if recorded {
			c.Trace = &Trace{}
		}
		if several {
			c.Traces = make([]Trace, 1)
		}
		if paced {
			c.Arrivals = poisson(1)
		}
		if users {
			c.Users = &Users{Count: 1}
		}
		one := classes != recorded != several && !(classes && recorded && several)
		taken := one && !(paced && users) && (several && !paced && !users || recorded ||
			classes && (paced || users))
		if err := c.check(); (err == nil) != taken {
			t.Errorf("%+v: %v", c, err)
		}
	}
	class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	wrong := class
	wrong.Arrivals = poisson(0)
	_, err := Open(Config{Requests: 1, Arrivals: poisson(1), Classes: []Class{class, wrong}})
	if err == nil || !strings.Contains(err.Error(), "class 2: rate") {
		t.Errorf("the second class has no rate: %v", err)
	}
}

// The rest of a workload that ends by time ends at the same time, counted from its beginning.
func TestTheRestEndsWithTheWhole(t *testing.T) {
	for sent := int64(1); sent <= 9; sent++ {
		o := &Opening{Source: open(t, Config{Duration: 10 * sim.Second,
			Arrivals: &arrivals.Process{Rate: arrivals.Steady(1), Gaps: arrivals.Constant{}},
			Classes:  []Class{{Weight: 1, Prompt: fixed(1), Output: fixed(1)}}})}
		o.Enough = func() bool { return o.Sent() == sent }
		serve(t, o, 100, second)
		rest := o.Rest()
		n := len(serve(t, rest, 100, second).sent)
		want := sim.Time(11-sent) * sim.Second
		if until := rest.(sim.Timed).Until(); until != want || n != 10-int(sent) {
			t.Errorf("after %d requests, %d come until %v, want until %v", sent, n, until, want)
		}
	}
}

// A beam takes as many steps as its length has, each of the step's length but for the last.
func TestBeamsTakeTheirSteps(t *testing.T) {
	for step := 1; step <= 4; step++ {
		for output := 1; output <= 9; output++ {
			c := agentic(Turns{})
			class := &c.Classes[0]
			class.Turns, class.Samples, class.BeamStep, class.Output = nil, 2, step, fixed(output)
			steps := (output + step - 1) / step
			c.Requests = int64(2 * steps)
			for i, r := range serve(t, open(t, c), 100, second).sent {
				before := i / 2 * step
				if int(r.Call.Of) != 2*steps || r.Output != min(step, output-before) ||
					r.Prompt != 150+before {
					t.Fatalf("steps of %d to %d: %+v", step, output, r)
				}
			}
		}
	}
}

// What lies just outside each range of a class, or of users, is refused with its name, and what
// lies on its ends is not.
func TestAroundClassesRefuse(t *testing.T) {
	inf, tiny := math.Inf(1), math.SmallestNonzeroFloat64
	type change func(c *Class)
	weight := func(x float64) change { return func(c *Class) { c.Weight = x } }
	distinct := func(n int) change { return func(c *Class) { c.Distinct = n } }
	samples := func(n int) change { return func(c *Class) { c.Samples = n } }
	traits := func(of Traits) change { return func(c *Class) { c.Traits = of } }
	prefix := func(groups int, zipf float64, distinct int) change {
		return func(c *Class) {
			c.Prefix, c.Distinct = &Prefix{Groups: groups, Tokens: fixed(1), Zipf: zipf}, distinct
		}
	}
	turns := func(n, context int) change {
		return func(c *Class) { c.Turns = &Turns{Count: fixed(n), MaxContext: context} }
	}
	both := func(list ...change) change {
		return func(c *Class) {
			for _, f := range list {
				f(c)
			}
		}
	}
	step := func(n int) change { return func(c *Class) { c.BeamStep = n } }
	for i, of := range []struct {
		change change
		refuse string // "" where there must be no error
	}{
		{weight(tiny), ""}, {weight(0), "weight: found 0"}, {weight(-1), "weight: found -1"},
		{weight(inf), "weight: found +Inf"}, {weight(math.NaN()), "weight: found NaN"},
		{distinct(0), ""}, {distinct(1), ""}, {distinct(maxTexts), ""},
		{distinct(-1), "distinct prompts: found -1"},
		{distinct(maxTexts + 1), "distinct prompts: found 4194305, allowed: 1 to 4194304"},
		{both(distinct(1), turns(1, 0)), "distinct prompts and turns"},
		{samples(0), ""}, {samples(1), ""}, {samples(maxSamples), ""},
		{samples(-1), "samples: found -1"},
		{samples(maxSamples + 1), "samples: found 1025, allowed: 1 to 1024"},
		{both(samples(1), turns(1, 0)), ""}, {both(samples(1), distinct(1)), ""},
		{both(samples(2), turns(1, 0)), "samples beside turns"},
		{both(samples(2), distinct(1)), "samples beside turns"},
		{both(samples(2), step(1)), ""}, {both(samples(2), step(-1)), "beam-step: found -1"},
		{both(samples(1), step(1)), "no samples that could fork"},
		{step(1), "no samples that could fork"},
		{turns(maxTurns-1, 0), ""}, {turns(maxTurns, 0), "found up to 65536, allowed: 1 to 65535"},
		{turns(1, 1), ""}, {turns(1, -1), "longest context: found -1"},
		{prefix(1, 0, 0), ""}, {prefix(2, 1, 0), ""}, {prefix(2, 0, 1), ""},
		{prefix(0, 0, 0), "groups: found 0"},
		{prefix(maxTexts+1, 0, 0), "groups: found 4194305, allowed: 1 to 4194304"},
		{prefix(2, -tiny, 0), "prefix: zipf"}, {prefix(2, inf, 0), "prefix: zipf: found +Inf"},
		{prefix(2, 1, 1), "with distinct prompts, allowed: 0"},
		{traits(Traits{Deadline: 1, TTFT: 1, Patience: 1, Tenant: 1, Model: 1, Region: 1,
			Priority: -1}), ""},
		{traits(Traits{Deadline: -1}), "deadline: found"},
		{traits(Traits{TTFT: -1}), "time to first token: found"},
		{traits(Traits{Patience: -1}), "patience: found"},
		{traits(Traits{Tenant: -1}), "found -1, 0 and 0"},
		{traits(Traits{Model: -1}), "found 0, -1 and 0"},
		{traits(Traits{Region: -1}), "found 0, 0 and -1"},
	} {
		c := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
		of.change(&c)
		err := c.check(3)
		if (err == nil) != (of.refuse == "") || err != nil &&
			(!strings.Contains(err.Error(), of.refuse) ||
				!strings.HasPrefix(err.Error(), "class 3: ")) {
			t.Errorf("case %d: %v, want %q", i, err, of.refuse)
		}
		if c.Name = "chat"; err != nil &&
			!strings.HasPrefix(c.check(3).Error(), `class "chat": `) {
			t.Errorf("case %d: %v", i, c.check(3))
		}
	}
	cycle := func(_, _ float64, _ sim.Time) sim.Time { return 0 }
	for i, of := range []struct {
		users  Users
		refuse string
	}{
		{Users{Count: 1}, ""}, {Users{}, "users: found 0"},
		{Users{Count: maxUsers + 1}, "users: found 16777217, allowed: 1 to 16777216"},
		{Users{Count: 1, RampUp: 1}, ""}, {Users{Count: 1, Cycle: cycle}, ""},
		{Users{Count: 1, RampUp: 1, Cycle: cycle}, "ramp up and a cycle"},
		{Users{Count: 1, RampUp: -1}, "ramp up: found"},
		{Users{Count: 1, RampUp: sim.Never}, "ramp up: found never"},
		{Users{Count: 1, StartMin: 0, StartMax: 1}, ""},
		{Users{Count: 1, StartMin: 1, StartMax: 1}, ""},
		{Users{Count: 1, StartMin: 0.5, StartMax: 0.4}, "start: found 0.5 to 0.4"},
		{Users{Count: 1, StartMin: -tiny}, "users: start"},
		{Users{Count: 1, StartMax: math.Nextafter(1, 2)}, "users: start"},
	} {
		c := Config{Requests: 1, Users: &of.users, Classes: []Class{{Weight: 1, Prompt: fixed(1),
			Output: fixed(1)}}}
		s, err := Open(c)
		if err == nil {
			s.Close()
		}
		if (err == nil) != (of.refuse == "") ||
			err != nil && !strings.Contains(err.Error(), of.refuse) {
			t.Errorf("users %d: %v, want %q", i, err, of.refuse)
		}
	}
	many := make([]Class, maxClasses+1)
	for i := range many {
		many[i] = Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	}
	if _, err := newMix(many, 0, 0); err == nil || !strings.Contains(err.Error(), "65537 classes") {
		t.Errorf("one class more than there may be: %v", err)
	}
	if _, err := newMix(many[1:], 0, 0); err != nil {
		t.Errorf("as many classes as there may be: %v", err)
	}
}

// Waiters come out in the order of their times, and waiters of one time in the order in which they
// came in, however coming in and going out take turns.
func TestWaitersComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q waiting
		var model []waiter // in the order in which they must come out
		for n := range int32(rapid.IntRange(1, 60).Draw(t, "steps")) {
			first := sim.Never
			if len(model) > 0 {
				first = model[0].at
			}
			if got := q.first(); got != first {
				t.Fatalf("the first waits until %v, want %v", got, first)
			}
			if len(model) > 0 && rapid.IntRange(0, 2).Draw(t, "out") == 0 {
				if got := q.pop(); got.at != model[0].at || got.call != model[0].call {
					t.Fatalf("found %+v, want %+v", got, model[0])
				}
				model = model[1:]
				continue
			}
			at := sim.Time(rapid.IntRange(0, 9).Draw(t, "at"))
			q.push(at, nil, n)
			model = append(model, waiter{at: at, call: n})
			slices.SortStableFunc(model, func(a, b waiter) int { return int(a.at - b.at) })
		}
	})
}

// The prefixes that are listed for a model are the first texts of the requests that ask for it, of
// each group and class one, and a reader may stop after any of them.
func TestPrefixesAreTheFirstTexts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := Config{Requests: 60, Seed: rapid.Uint64().Draw(rt, "seed"), Arrivals: poisson(1)}
		groups := [2]int{} // by model
		for range rapid.IntRange(1, 3).Draw(rt, "classes") {
			class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1),
				Traits: Traits{Model: rapid.IntRange(0, 1).Draw(rt, "model")}}
			if n := rapid.IntRange(0, 4).Draw(rt, "groups"); n > 0 {
				class.Prefix = &Prefix{Groups: n, Tokens: must(lengths.Uniform(1, 1000))}
				groups[class.Model] += n
			}
			c.Classes = append(c.Classes, class)
		}
		listed := [2]map[sim.Segment]bool{{}, {}}
		for model := range listed {
			for s := range Prefixes(c.Classes, c.Seed, model) {
				listed[model][s] = true
			}
			if len(listed[model]) != groups[model] {
				rt.Fatalf("%d prefixes of model %d, want %d", len(listed[model]), model,
					groups[model])
			}
			n := 0
			for range Prefixes(c.Classes, c.Seed, model) {
				if n++; n == 2 {
					break
				}
			}
			if n != min(2, groups[model]) {
				rt.Fatalf("stopped after %d prefixes", n)
			}
		}
		for _, r := range serve(t, open(t, c), 1000, second).sent {
			if len(r.Content) > 0 && !listed[r.Model][r.Content[0]] {
				rt.Fatalf("%+v begins with another text than %v", r, listed[r.Model])
			}
		}
	})
}
