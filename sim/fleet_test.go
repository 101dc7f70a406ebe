package sim_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// fleetSetting is a random fleet: pools of unequal replicas and several models, links, failures,
// impatient users, and scalers.
type fleetSetting struct {
	setting
	kinds        []*setting // of the replicas
	pools        []poolName // of the replicas
	off, steady  []bool
	links        []sim.Link
	footprint    sim.Footprint[int64] // of what is handed over
	layers       int
	coldStart    sim.Time
	queueTimeout sim.Time
	outages      []sim.Outage
	retry        sim.Retry
	scaled       bool
	sizes        []int // what the scaler asks for, in turn
	router       string
	relays       bool
	firstChunk   float64
	encoders     int      // apart from the replicas
	encoding     sim.Time // of a token of a prompt
}

// poolName distinguishes pools.
type poolName struct {
	model int
	role  sim.Role
}

func drawFleet(t *rapid.T) fleetSetting {
	c := fleetSetting{
		setting:      drawSetting(t),
		layers:       rapid.IntRange(0, 4).Draw(t, "layers"),
		coldStart:    span(t, "coldStart", 0, 1e9, 1e11),
		queueTimeout: span(t, "queueTimeout", 0, 1e10, 1e12),
		retry: sim.Retry{Attempts: rapid.IntRange(0, 2).Draw(t, "attempts"),
			Delay: span(t, "delay", 0, 1e9)},
		router: rapid.SampledFrom([]string{"turn", "requests", "tokens", "wait", "state",
			"sibling"}).Draw(t, "router"),
		relays:     rapid.Bool().Draw(t, "relays"),
		encoders:   rapid.IntRange(0, 2).Draw(t, "encoders"),
		encoding:   sim.Time(rapid.Int64Range(0, 1e8).Draw(t, "encoding")),
		firstChunk: float64(rapid.IntRange(0, 40).Draw(t, "first chunk")) / 2,
	}
	c.replicas = rapid.IntRange(1, 5).Draw(t, "replicas")
	if rapid.Bool().Draw(t, "disaggregated") {
		c.replicas = max(c.replicas, 2)
		c.links = []sim.Link{{
			Bandwidth: rapid.SampledFrom([]float64{1e5, 1e6, 1e9}).Draw(t, "bandwidth"),
			Latency:   span(t, "latency", 0, 1e9)}}
		c.footprint = sim.Footprint[int64]{
			Token:       rapid.SampledFrom([]int64{1, 1000}).Draw(t, "handed over of a token"),
			WindowToken: rapid.SampledFrom([]int64{0, 300}).Draw(t, "of a window"),
			Window:      rapid.IntRange(0, 60).Draw(t, "window"),
			Fixed:       rapid.SampledFrom([]int64{0, 40_000}).Draw(t, "of a sequence"),
		}
	}
	c.scaled = rapid.Bool().Draw(t, "scaled")
	for i := range c.replicas {
		role := sim.Mixed
		if c.links != nil {
			role = []sim.Role{sim.Prefill, sim.Decode, sim.Prefill, sim.Decode, sim.Mixed}[i]
		}
		c.pools = append(c.pools, poolName{0, role})
	}
	models := 1
	if rapid.Bool().Draw(t, "second model") {
		models = 2
		more := []poolName{{1, sim.Mixed}, {1, sim.Mixed}}
		if c.links != nil && rapid.Bool().Draw(t, "disaggregated too") {
			more = []poolName{{1, sim.Prefill}, {1, sim.Decode}, {1, sim.Decode}}
		}
		c.pools = append(c.pools, more...)
		c.replicas = len(c.pools)
	}
	for i, p := range c.pools {
		another := slices.Contains(c.pools[:i], p)
		c.off = append(c.off, c.scaled && another)
		c.steady = append(c.steady, !another && rapid.Bool().Draw(t, "steady"))
	}
	for range rapid.IntRange(0, 4).Draw(t, "sizes") {
		c.sizes = append(c.sizes, rapid.IntRange(1, 5).Draw(t, "size"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "outages") {
		c.outages = append(c.outages, sim.Outage{
			Replica: rapid.IntRange(0, c.replicas-1).Draw(t, "replica"),
			At:      sim.Time(rapid.Int64Range(0, 1e13).Draw(t, "at")) / 1000 * 1000,
			For:     span(t, "for", 0, 1e10, 1e12, sim.Never),
		})
	}
	for i := range c.requests {
		c.requests[i].Patience = span(t, "patience", 0, 0, 1e10, 1e12)
		c.requests[i].AfterFirst = rapid.Bool().Draw(t, "after the first token")
		c.requests[i].Model = rapid.IntRange(0, models-1).Draw(t, "model")
	}
	if rapid.Bool().Draw(t, "anyPolicy") {
		drawPolicies(t, &c.setting)
	}
	c.drawKinds(t)
	if rapid.Bool().Draw(t, "in time") {
		c.coincide(t)
	}
	return c
}

// coincide gives the replicas step times with a large common divisor, and the requests to users who
// come back at once, so that much happens at one instant.
func (c *fleetSetting) coincide(t *rapid.T) {
	c.users = rapid.IntRange(1, 10).Draw(t, "users")
	for i := range c.requests {
		q := &c.requests[i]
		q.Arrival, q.Deadline = 0, 0
		q.Patience, q.AfterFirst = span(t, "patience", 0, 3e9, 1e10), rapid.Bool().Draw(t, "after")
	}
	for _, k := range c.kinds {
		k.clock = affineClock{base: 1e9 * span(t, "step", 1, 1, 2, 3)}
	}
}

// drawKinds makes replicas differ in speed, memory, pipeline and policies.
func (c *fleetSetting) drawKinds(t *rapid.T) {
	list := []*setting{&c.setting}
	for range rapid.IntRange(0, 2).Draw(t, "other kinds") {
		kind := drawKind(t)
		if rapid.Bool().Draw(t, "otherPolicy") {
			drawPolicies(t, &kind)
		}
		list = append(list, &kind)
	}
	for range c.replicas {
		c.kinds = append(c.kinds, rapid.SampledFrom(list).Draw(t, "kind"))
	}
}

func span(t *rapid.T, name string, among ...sim.Time) sim.Time {
	return rapid.SampledFrom(among).Draw(t, name)
}

// route picks replicas by what a pool shows.
type route struct {
	by   string
	next int
}

func (r *route) Route(q *sim.Request, p *sim.Pool) int {
	switch r.by {
	case "requests":
		return p.LeastRequests()
	case "tokens":
		return p.LeastTokens()
	case "wait":
		return p.LeastWait()
	case "sibling":
		if mixed := p.Sibling(sim.Mixed); mixed != nil && mixed.Len() > 0 {
			return mixed.LeastTokens()
		}
		return p.LeastRequests()
	case "state": // all that a router can see
		best, least := 0, int64(0)
		for k := range p.Len() {
			i := p.At(k)
			st := p.State(i)
			load := st.Used + 3*int64(st.Waiting) + 5*int64(st.Running) + 7*int64(st.Decoding) +
				p.Tokens(i) + int64(p.Wait(i, q.Prompt)/1e9)
			if k == 0 || load < least {
				best, least = i, load
			}
		}
		return best
	}
	r.next++
	return p.At(r.next % p.Len())
}

// sizes is a scaler that asks for given sizes in turn, and more while the pool is busy.
type sizes struct {
	list []int
	n    int
	busy sim.Time
}

func (s *sizes) Replicas(p *sim.Pool) int {
	busy := p.Busy()
	more := 0
	if busy-s.busy > 5e9 || p.Waiting() > 3 {
		more = 1
	}
	s.busy = busy
	s.n++
	return s.list[s.n%len(s.list)] + more
}

func (c *fleetSetting) run(t *rapid.T, maxLeap int64) (sim.Result, *ends) {
	config, all := c.config(t, maxLeap)
	r, err := sim.Run(context.Background(), config)
	testkit.OK(t, err)
	return r, all
}

// encode returns the time in which the images of a request are encoded and sent.
func (c *fleetSetting) encode(r *sim.Request) (encode, send sim.Time) {
	return sim.Time(r.Prompt) * c.encoding, sim.Time(r.Prompt%7) * c.encoding
}

// config returns the simulation, and the observer that writes down what it is told.
func (c *fleetSetting) config(t *rapid.T, maxLeap int64) (sim.Config, *ends) {
	none := c.setting
	none.replicas = 0
	config, j := none.config(t, maxLeap)
	config.Source = c.source()
	all := &ends{journal: j}
	config.Observer = sim.Observers{all, &limit{T: t, leaps: 1_000_000}}
	config.Router, config.Handover = &route{by: c.router}, &route{by: c.router}
	config.Links, config.QueueTimeout, config.Outages, config.Retry = c.links, c.queueTimeout,
		c.outages, c.retry
	if c.encoders > 0 {
		config.Encoders = &sim.Encoders{Number: c.encoders, Work: c.encode}
	}
	for i, p := range c.pools {
		r := c.kinds[i].replica(t, j)
		r.Model, r.Role, r.Off, r.Steady, r.Layers, r.KVBytes, r.ColdStart = p.model, p.role,
			c.off[i], c.steady[i], c.layers, c.footprint, c.coldStart
		r.Relays, r.FirstChunk = c.relays && r.Role == sim.Prefill, c.firstChunk
		config.Replicas = append(config.Replicas, r)
		if c.scaled && !slices.Contains(c.pools[:i], p) {
			config.Scalings = append(config.Scalings,
				sim.Scaling{Model: p.model, Role: p.role, Scaler: &sizes{list: append(c.sizes, 1)},
					Every: 3e10, Min: 1})
		}
	}
	c.connect(&config)
	return config, all
}

// ends is a journal that also notes how requests end without their last token.
type ends struct {
	*journal
	list []end
}

type end struct {
	id                       int64
	why                      sim.Rejection
	answered, retries        int
	arrival, first, last, at sim.Time
}

func (e *ends) Ended(s *sim.Sequence, why sim.Rejection, at sim.Time) {
	e.journal.Rejected(&s.Request, why)
	e.list = append(e.list, end{s.ID, why, s.Answered, s.Retries, s.Arrival, s.FirstToken,
		s.LastToken, at})
}

// A user whose patience counts from the first token has it, and leaves when the patience is over:
// tokens come out at one instant after that at most, with the step that runs then. A user whose
// patience counts from the arrival has the first token only if it came before. What a source is
// told of an answer is what came out for the user.
func TestUsersLeaveWithWhatTheyHad(t *testing.T) {
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		config, all := c.config(t, 1)
		latency := span(t, "latency of users", 0, 2e9)
		for i := range config.Replicas {
			config.Replicas[i].Latency = latency
		}
		told := &told{config.Source, map[int64]int{}, map[int64]sim.Time{}}
		config.Source = told
		out, seen := map[[2]int64]int{}, map[[2]int64][]sim.Time{}
		config.Tokens = func(s *sim.Sequence, n int, at sim.Time) {
			try := [2]int64{s.ID, int64(s.Retries)}
			out[try] += n
			list := seen[try] // when the first tokens came, and others after the user left
			if leaves := s.Patience + latency; len(list) == 0 || at > list[0]+leaves &&
				at > list[len(list)-1] && s.AfterFirst && s.Patience > 0 {
				list = append(list, at)
			}
			if seen[try] = list; len(list) > 2 {
				t.Fatalf("request %d has tokens at %v, and its user left after %v", s.ID, list,
					s.Patience+latency)
			}
		}
		_, err := sim.Run(context.Background(), config)
		testkit.OK(t, err)
		for _, e := range all.list {
			patience, begun := told.patience[e.id], e.first+latency
			if told.answered[e.id] != e.answered ||
				e.answered > 0 && out[[2]int64{e.id, int64(e.retries)}] != e.answered {
				t.Fatalf("the source was told of %d tokens, the user of %d: %+v",
					told.answered[e.id], out[[2]int64{e.id, int64(e.retries)}], e)
			}
			if e.why != sim.Cancelled {
				continue
			}
			if patience < 0 && (e.answered == 0 || e.at < begun-patience) ||
				patience > 0 && (e.at < e.arrival+patience ||
					e.answered > 0 && begun > e.arrival+patience ||
					e.answered == 0 && e.first > 0 && begun <= e.arrival+patience && !c.relays) {
				t.Fatalf("patience %v: %+v", patience, e)
			}
			if e.answered > 0 {
				cut++
			}
		}
		for _, f := range all.finished {
			if told.answered[f.ID] != f.Output {
				t.Fatalf("the source was told of %d tokens of %d", told.answered[f.ID], f.Output)
			}
		}
	})
	if cut == 0 {
		t.Error("no answer was cut")
	}
}

// told is a source that notes the patience of each request, below 0 where it counts from the first
// token, and what it is told of the answer.
type told struct {
	sim.Source
	answered map[int64]int
	patience map[int64]sim.Time
}

func (s *told) Done(r *sim.Request, at sim.Time) {
	s.answered[r.ID], s.patience[r.ID] = r.Answered, r.Patience
	if r.AfterFirst {
		s.patience[r.ID] = -r.Patience
	}
	s.Source.Done(r, at)
}

// limit is an observer that gives a drawn fleet up after a number of leaps. A replica whose memory
// is full of prompts that another one has yet to take begins the next prompt and drops it, over and
// over, as vLLM does. With steps of nanoseconds and an outage of minutes the test would not end.
type limit struct {
	sim.NopObserver
	*rapid.T
	leaps int
}

func (l *limit) Steps(*sim.Leap) {
	if l.leaps--; l.leaps < 0 {
		l.Skip("prompts are begun and dropped too often")
	}
}

// Leaping gives what stepping gives in fleets too, whatever fails, goes away, moves, starts or
// stops meanwhile.
func TestFleetLeapEqualsStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		stepped, steps := c.run(t, 1)
		for _, maxLeap := range []int64{0, 7} {
			leaped, leaps := c.run(t, maxLeap)
			if d := cmp.Diff(stepped, leaped); d != "" {
				t.Fatalf("result, stepping (-) against leaps of %d (+):\n%s", maxLeap, d)
			}
			if d := cmp.Diff(steps, leaps, cmp.AllowUnexported(journal{}, ends{}, end{}),
				cmp.Comparer(func(a, b []sim.Memory) bool { return true })); d != "" {
				t.Fatalf("journal, stepping (-) against leaps of %d (+):\n%s", maxLeap, d)
			}
		}
	})
}

// Who sends the first token of a request that is handed over, and with how many others, changes
// nothing but when its user has it: not before it was computed, and not after the last one.
func TestRelaysDelayFirstTokensOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		for i := range c.requests {
			c.requests[i].AfterFirst = false // else relays change when users leave
		}
		c.relays = false
		own, before := c.run(t, 0)
		c.relays = true
		relayed, after := c.run(t, 0)
		if d := cmp.Diff(own, relayed); d != "" {
			t.Fatalf("result without (-) and with relays (+):\n%s", d)
		}
		for i, f := range after.finished {
			first := before.finished[i].FirstToken
			// A mixed replica may decode what a prefill replica hands over, too.
			handedOver := c.pools[f.Replica].role != sim.Prefill
			if f.FirstToken < first || f.FirstToken > first && !handedOver ||
				f.FirstToken > f.LastTok {
				t.Fatalf("first token at %v where it was computed at %v: %+v", f.FirstToken, first,
					f)
			}
			f.FirstToken = first
			if f != before.finished[i] {
				t.Fatalf("without relays %+v, with relays %+v", before.finished[i], f)
			}
		}
	})
}

// Every request ends once, in one of the ways; every block is given back, also by requests that a
// failure hit; every transfer belongs to a hand-over.
func TestFleetConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		r, j := c.run(t, 0)
		if sum := r.Completed + r.Rejected + r.TimedOut + r.Cancelled +
			r.Lost; r.Arrived != int64(len(c.requests)) || r.Arrived != sum {
			t.Fatalf("%d requests: %+v", len(c.requests), r)
		}
		var seen []int64
		for _, f := range j.finished {
			seen = append(seen, f.ID)
			if f.Generated != f.Output || f.Arrival > f.Scheduled || f.Scheduled >= f.FirstToken ||
				f.FirstToken > f.LastTok {
				t.Fatalf("finished: %+v", f)
			}
		}
		seen = append(seen, j.rejected...)
		slices.Sort(seen)
		for i, id := range seen {
			if int64(i) != id {
				t.Fatalf("requests that ended: %v", seen)
			}
		}
		for i, m := range j.memories {
			if m.Used() != 0 {
				t.Fatalf("replica %d still holds %d blocks", i, m.Used())
			}
		}
		var handedOver int64
		for i := range r.Replicas {
			handedOver += r.Replicas[i].HandedOver
		}
		for i, l := range r.Links {
			// The run may end before KV caches arrive whose users have left.
			exact := float64(l.Bytes) / c.links[i].Bandwidth
			off := (l.Busy.Seconds() - exact) / (1e-9*exact + 1e-12*float64(l.Transfers))
			if l.Busy > r.End || l.Bytes > 0 && (off > 1 || off < -1 && r.Completed == r.Arrived) {
				t.Fatalf("a link of %g byte/s is taken for %v by %d bytes in %d transfers",
					c.links[i].Bandwidth, l.Busy, l.Bytes, l.Transfers)
			}
			if l.Transfers > handedOver && len(c.outages) == 0 || l.Visible < 0 || l.Busy < 0 {
				t.Fatalf("%d hand-overs, link %+v", handedOver, l)
			}
		}
	})
}
