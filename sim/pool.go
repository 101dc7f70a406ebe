package sim

import (
	"cmp"
	"slices"
)

// Pool is the set of replicas of one model, one role and one longest prompt. Routers, scalers and
// admission see it. It names replicas by their index in Config.Replicas.
type Pool struct {
	fleet *fleet
	poolKey

	members     []int // all of its replicas, ascending; they do not change
	accepting   []int // the members that serve, ascending; open and close change it
	outstanding int   // the sum of member.outstanding
	arrived     int64 // requests that came to the pool; grows only
	gate        Queue // requests that wait for a replica that takes them
	scaled      bool  // a Scaler can start replicas
	predicting  bool  // a router or admission has asked how long prompts wait
	reads       int64 // how often a policy looked at a replica; for tests

	// trees has the members by each measure, from the first question for it on. A member that does
	// not take requests has the key Never. changed brings a member up to date.
	trees  [measures]*tournament
	ranked bool // a tree is there
}

// measure is a kind of load by which replicas are compared.
type measure int

const (
	byRequests measure = iota
	byTokens
	byPending
	byWait
	measures
)

// Len returns the number of replicas that take requests.
func (p *Pool) Len() int { return len(p.accepting) }

// At returns the index of the k-th replica that takes requests, k in [0, Len()).
func (p *Pool) At(k int) int { return p.accepting[k] }

// Accepts reports whether the replica with the index i is in the pool and takes requests.
func (p *Pool) Accepts(i int) bool {
	if i < 0 || i >= len(p.fleet.replicas) {
		return false
	}
	r := &p.fleet.replicas[i]
	return r.pool == p && r.phase == serving
}

// Now returns the simulated time.
func (p *Pool) Now() Time { return p.fleet.now }

// Arrived returns the number of requests that came to the pool so far.
func (p *Pool) Arrived() int64 { return p.arrived }

// Outstanding returns the number of requests that the pool was given and has not finished.
func (p *Pool) Outstanding() int { return p.outstanding + p.gate.Len() }

// Requests returns the number of requests that replica i was given and has not finished.
func (p *Pool) Requests(i int) int { return p.member(i).outstanding }

// Tokens returns the number of prompt tokens of the requests that replica i was given and has not
// finished.
func (p *Pool) Tokens(i int) int64 { return p.member(i).prompts }

// Pending returns the number of prompt tokens that replica i was given and has not computed. The
// tokens of a prompt count until the whole prompt is computed.
func (p *Pool) Pending(i int) int64 { return p.member(i).uncomputed }

// Weight returns ReplicaConfig.Weight of replica i, or 1 where it is 0.
func (p *Pool) Weight(i int) float64 { return p.fleet.replicas[i].weight }

// RoundTrip returns how long a message takes from the user of a request to replica i and back.
func (p *Pool) RoundTrip(r *Request, i int) Time {
	return p.fleet.replicas[i].roundTrip(r.Region)
}

// member returns replica i.
func (p *Pool) member(i int) *member {
	p.reads++
	return &p.fleet.replicas[i]
}

// Wait predicts the time to first token on replica i of a request whose prompt has the given number
// of tokens. It is the time in which the replica computes the pending prompts and then this one.
// The prediction ignores decodes in the same batch and cached prefixes.
func (p *Pool) Wait(i, prompt int) Time {
	r := p.member(i)
	r.pool.predict()
	return max(0, r.computed-p.fleet.now) + Time(prompt)*r.timePerPromptToken()
}

// predict begins to keep track of when prompts will be computed.
func (p *Pool) predict() {
	if p.predicting {
		return
	}
	p.predicting = true
	for _, i := range p.members {
		p.fleet.replicas[i].predict(p.fleet.now)
	}
}

// State returns the state of replica i. It takes time in proportion to the stages of the replica's
// pipeline.
func (p *Pool) State(i int) State { return p.member(i).state(p.fleet.now, true) }

// Memory returns the memory of replica i, which has all that steps until now took and left. Only
// what it reports may be asked for.
func (p *Pool) Memory(i int) Memory {
	r := p.member(i)
	r.account(p.fleet.now)
	return r.memory
}

// LeastRequests returns the replica with the fewest unfinished requests, among the replicas that
// take requests. Of equal replicas it returns the one with the lowest index. Like LeastTokens and
// LeastWait, it takes time in proportion to the logarithm of the size of the pool, which must not
// be empty.
func (p *Pool) LeastRequests() int { return p.least(byRequests) }

// LeastTokens returns the replica with the fewest prompt tokens of unfinished requests.
func (p *Pool) LeastTokens() int { return p.least(byTokens) }

// LeastPending returns the replica with the fewest prompt tokens that are not computed yet.
func (p *Pool) LeastPending() int { return p.least(byPending) }

// LeastWait returns the replica that is predicted to be the first to finish its pending prompts. If
// replicas are equally fast and compute one prompt at a time, sending each request there serves all
// requests as from one queue.
func (p *Pool) LeastWait() int { return p.least(byWait) }

// Sibling returns the pool of another role that serves the same requests, or nil.
func (p *Pool) Sibling(role Role) *Pool {
	key := p.poolKey
	key.role = role
	return p.fleet.pools.find(key)
}

func (p *Pool) least(by measure) int {
	if p.trees[by] == nil {
		if by == byWait {
			p.predict()
		}
		t := newTournament(len(p.members))
		p.trees[by], p.ranked = &t, true
		for _, i := range p.members {
			p.rank(&p.fleet.replicas[i], by)
		}
	}
	k, _ := p.trees[by].min()
	p.reads++
	return p.members[k]
}

// changed updates the order of the replicas after the load of r changed.
func (p *Pool) changed(r *member) {
	if p.ranked {
		p.rankAll(r)
	}
}

func (p *Pool) rankAll(r *member) {
	for by := range measures {
		if p.trees[by] != nil {
			p.rank(r, by)
		}
	}
}

func (p *Pool) rank(r *member, by measure) {
	key := int64(Never)
	if r.phase == serving {
		switch by {
		case byRequests:
			key = int64(r.outstanding)
		case byTokens:
			key = r.prompts
		case byPending:
			key = r.uncomputed
		case byWait:
			key = int64(r.computed)
		}
	}
	p.trees[by].set(r.position, key)
}

// open lets r take requests, close stops it.
func (p *Pool) open(r *member) {
	r.phase = serving
	k, _ := slices.BinarySearch(p.accepting, r.index)
	p.accepting = slices.Insert(p.accepting, k, r.index)
	p.changed(r)
}

func (p *Pool) close(r *member, phase phase) {
	r.phase = phase
	if k, ok := slices.BinarySearch(p.accepting, r.index); ok {
		p.accepting = slices.Delete(p.accepting, k, k+1)
	}
	p.changed(r)
}

// allFailed reports whether no replica accepts requests now or will later.
func (p *Pool) allFailed() bool {
	for _, i := range p.members {
		switch r := &p.fleet.replicas[i]; r.phase {
		case serving, starting:
			return false
		case failed:
			if r.recovers {
				return false
			}
		case off, draining:
			if p.scaled {
				return false
			}
		}
	}
	return true
}

// Running returns the number of replicas that take requests or are starting.
func (p *Pool) Running() int {
	n := 0
	for _, i := range p.members {
		if ph := p.fleet.replicas[i].phase; ph == serving || ph == starting {
			n++
		}
	}
	return n
}

// Waiting returns the number of requests that wait for a place in a batch. Like Busy, it visits
// every replica.
func (p *Pool) Waiting() int {
	n := p.gate.Len()
	for _, i := range p.members {
		r := &p.fleet.replicas[i]
		n += r.waiting()
	}
	return n
}

// Busy returns the time during which steps ran so far, summed over the replicas.
func (p *Pool) Busy() Time {
	var sum Time
	for _, i := range p.members {
		sum += p.fleet.replicas[i].busy(p.fleet.now)
	}
	return sum
}

// pools are the pools of a fleet, one for each key that a replica has.
type pools struct {
	list []*Pool
	// entries has the pools where the requests of each model go first, by rising longest prompt:
	// prefill pools where there are some. It is nil for a model without replicas.
	entries [][]*Pool
}

// join makes r a member of its pool.
func (l *pools) join(f *fleet, r *member, c *ReplicaConfig) {
	p := l.find(c.key())
	if p == nil {
		p = &Pool{fleet: f, poolKey: c.key()}
		l.list = append(l.list, p)
		for len(l.entries) <= c.Model {
			l.entries = append(l.entries, nil)
		}
		l.enter(p)
	}
	r.pool, r.position = p, len(p.members)
	p.members = append(p.members, r.index)
	if c.Off {
		r.phase = off
	} else {
		p.accepting = append(p.accepting, r.index)
	}
}

// enter lists p where requests go first, if they do.
func (l *pools) enter(p *Pool) {
	list := l.entries[p.model]
	k, known := slices.BinarySearchFunc(list, p, func(a, b *Pool) int {
		return cmp.Compare(a.longest(), b.longest())
	})
	switch {
	case p.role == Prefill && known:
		list[k] = p
	case p.role == Prefill || p.role == Mixed && !known:
		l.entries[p.model] = slices.Insert(list, k, p)
	}
}

// entry returns the pool where a request goes first, or nil.
func (l *pools) entry(r *Request) *Pool {
	if r.Model < 0 || r.Model >= len(l.entries) {
		return nil
	}
	for _, p := range l.entries[r.Model] {
		if r.Prompt <= p.longest() {
			return p
		}
	}
	return nil
}

// find returns the pool of a key, or nil.
func (l *pools) find(key poolKey) *Pool {
	for _, p := range l.list {
		if p.poolKey == key {
			return p
		}
	}
	return nil
}
