package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// fleet runs the replicas, and carries out what happens between them. newFleet takes the router,
// handover, admission, observer, queueTimeout, retry, scalings, tokens and sent from Config; they
// do not change.
type fleet struct {
	arrivals  arrivals
	router    Router
	handover  Router
	admission Admission
	observer  Observer
	replicas  []member
	next      tournament // of replica.next; in a parallelRun, of the acts not carried out yet
	pools     pools
	links     []link
	agenda    agenda
	flows     flows // from and to pools of KV caches
	flowing   int   // event.n of the only flowing event that is not stale; grows only

	encoding     encoding // of images and sounds, apart from replicas
	queueTimeout Time
	outages      []Outage // Simulation.Fail adds to them
	fallible     bool     // replicas may fail, so that member.residents are kept
	parallel     bool     // replicas run while effects are carried out
	retry        Retry
	scalings     []Scaling

	// now is the time of what happens, or happened last; -1 before anything did. It never falls,
	// except that a parallelRun takes in the requests of the next window before it carries out what
	// happened in this one.
	now    Time
	live   int  // requests that came in, or were announced, and have not ended
	stuck  bool // live > 0, and nothing can happen to these requests any more
	err    error
	spares spares
	loads  loads
	result Result
	tokens func(s *Sequence, n int, at Time)
	sent   func(t Transfer)
	pushed map[int64]*Sequence // requests from outside that have not ended, by ID
}

func newFleet(c *Config) *fleet {
	f := &fleet{
		arrivals: arrivals{source: c.Source, announce: c.Announce}, router: c.Router,
		handover: c.Handover, admission: c.Admission,
		observer: c.Observer, next: newTournament(len(c.Replicas)), queueTimeout: c.QueueTimeout,
		outages: slices.Clone(c.Outages), retry: c.Retry, scalings: c.Scalings,
		fallible: true, now: -1, tokens: c.Tokens, sent: c.Sent,
		loads: newLoads(c), pushed: map[int64]*Sequence{},
	}
	if c.Source == nil {
		f.arrivals.source = noRequests{}
	}
	f.arrivals.expect(0)
	maxLeap := c.MaxLeap
	if maxLeap == 0 {
		maxLeap = Forever
	}
	f.replicas = make([]member, len(c.Replicas))
	var reports []*Leap // by lane
	for i := range c.Replicas {
		stages := max(c.Replicas[i].Stages, 1)
		for len(reports) < stages {
			reports = append(reports, new(Leap))
		}
		m := &f.replicas[i]
		*m = newMember(i, &c.Replicas[i], maxLeap)
		m.observed, m.streamed = c.Observer != nil, c.Tokens != nil
		m.init(stages, reports)
		f.pools.join(f, m, &c.Replicas[i])
		if f.loads.sets != nil {
			m.load = &f.loads.sets[c.Replicas[i].Set]
		}
	}
	for _, l := range c.Links {
		f.links = append(f.links, link{Link: l})
	}
	f.flows.wires = c.Wires
	f.encoding = newEncoding(c.Encoders)
	for n, o := range c.Outages {
		f.agenda.push(event{at: o.At, kind: failing, n: n})
	}
	for n, s := range c.Scalings {
		f.pools.find(poolKey{s.Model, s.Role, s.MaxPrompt}).scaled = true
		f.agenda.push(event{at: s.Every, kind: scaling, n: n})
	}
	return f
}

// newLoads returns the loads of a fleet that is about to start. One set of replicas has no load of
// its own.
func newLoads(c *Config) loads {
	l := loads{classes: make([]load, c.Classes), tenants: make([]load, c.Tenants)}
	sets := 0
	for i := range c.Replicas {
		sets = max(sets, c.Replicas[i].Set+1)
	}
	if sets > 1 {
		l.sets = make([]load, sets)
	}
	return l
}

// fault stops the simulation with an error.
func (f *fleet) fault(format string, args ...any) {
	f.err = fmt.Errorf("sim: "+format, args...)
}

// over reports whether all requests have ended, or nothing can happen to the others.
func (f *fleet) over() bool { return f.arrivals.next == Never && (f.live == 0 || f.stuck) }

// member is a replica in the fleet, and what the fleet knows of it.
type member struct {
	index int
	pool  *Pool
	// The load that the replica was given and has not finished: requests, their prompt tokens, and
	// the tokens of the prompts that are not complete; 0 <= uncomputed <= prompts. Only assign,
	// unassign and promptDone change it.
	outstanding         int
	prompts, uncomputed int64
	leases              int   // requests that go on elsewhere and hold memory here, at least 0
	position            int   // index in pool.members
	phase               phase // serving exactly if index is in pool.accepting
	// The generation grows with each failure or stop, so that events scheduled before it are
	// recognised as stale.
	generation uint32
	replica

	load      *load // of its set, nil where there is one set
	residents list  // its requests, in order of assignment, if fleet.fallible; otherwise empty
	// computed is the predicted time at which the prompts in uncomputed are complete. It is kept up
	// to date from the first question on (pool.predicting).
	computed    Time
	promptToken Time // see timePerPromptToken; 0 before it is asked for
	// since is when result.Up or result.Failed began to count: when the replica was switched on,
	// came back or failed; Never after a failure while it drained, which counts as switched off.
	since    Time
	recovers bool // it has failed, and the outage will end

	// From ReplicaConfig; they do not change.
	latency, promptLatency Time   // of every token, and for each token of the prompt
	trips                  []Time // ReplicaConfig.RoundTrips
	role                   Role
	weight                 float64
	kvBytes                Footprint[int64]
	layers                 int
	link                   int
	coldStart              Time
	pooling                Pooling
	disk                   Disk
	steady                 bool // never stopped by a scaler
}

func newMember(index int, c *ReplicaConfig, maxLeap int64) member {
	return member{
		replica: newReplica(c, maxLeap), index: index, latency: c.Latency,
		promptLatency: c.PromptLatency, trips: c.RoundTrips,
		kvBytes: c.KVBytes, layers: c.Layers, link: c.Link,
		weight: cmp.Or(c.Weight, 1),
		role:   c.Role, coldStart: c.ColdStart, pooling: c.Pooling, disk: c.Disk, steady: c.Steady,
		phase:     serving,
		residents: list{kind: resident},
	}
}

// latencyOf returns the time between every token of s and its user.
func (m *member) latencyOf(s *Sequence) Time {
	return m.latency + m.promptLatency*Time(s.Prompt) + m.roundTrip(s.Region)
}

// roundTrip returns the time of a message from a user of a region to the replica and back.
func (m *member) roundTrip(region int) Time {
	if region < 0 || region >= len(m.trips) {
		return 0
	}
	return m.trips[region]
}

// phase is a part of the life of a replica.
type phase uint8

const (
	off phase = iota
	starting
	serving
	draining // it finishes what it has, and takes no more
	failed
)

// after returns the time of an effect of the present instant that is due at the given time. It is
// always later than now. So effects between replicas and users take place at a later instant, and
// the order in which replicas are visited does not matter.
func (f *fleet) after(due Time) Time { return max(due, f.now+1) }

// schedule puts an effect of the present instant on the agenda.
func (f *fleet) schedule(due Time, e event) {
	e.at = f.after(due)
	f.agenda.push(e)
}

// link is a link under way, which only send changes.
type link struct {
	Link
	free   Time // when the last transfer is through; never falls
	result LinkResult
}
