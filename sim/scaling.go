package sim

// Scaler decides how many replicas a pool has.
type Scaler interface {
	// Replicas returns how many should run or be starting. Numbers out of range are bounded.
	Replicas(p *Pool) int
}

// Scaling lets a Scaler start and stop the replicas of a pool.
type Scaling struct {
	// Model and Role name the pool.
	Model int
	Role  Role
	// Scaler is asked after each span of Every.
	Scaler Scaler
	Every  Time
	// Min is the least number of replicas.
	Min int
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

// scale asks the n-th scaler, and follows it.
func (f *fleet) scale(n int) {
	sc := &f.scalings[n]
	p := f.pool(sc.Model, sc.Role)
	want := min(max(sc.Scaler.Replicas(p), sc.Min), len(p.members))
	have := p.Running()
	for ; have < want && f.start(p); have++ {
	}
	for ; have > want && f.stop(p); have-- {
	}
	f.note(later(f.now, sc.Every), event{kind: scaling, n: n})
}

// start gets one more replica to run: one that drains, else the first that is off.
func (f *fleet) start(p *Pool) bool {
	for _, i := range p.members {
		if r := &f.replicas[i]; r.phase == draining {
			f.open(r)
			return true
		}
	}
	for _, i := range p.members {
		if r := &f.replicas[i]; r.phase == off {
			r.phase, r.since = starting, f.now
			f.note(later(f.now, r.coldStart), event{kind: readying, n: i, life: r.generation})
			return true
		}
	}
	return false
}

// stop stops one replica that is not steady: the last that is starting, else the last that takes
// requests.
func (f *fleet) stop(p *Pool) bool {
	for k := len(p.members) - 1; k >= 0; k-- {
		if r := &f.replicas[p.members[k]]; r.phase == starting {
			f.rest(r)
			return true
		}
	}
	for k := len(p.accepting) - 1; k >= 0; k-- {
		if r := &f.replicas[p.accepting[k]]; !r.steady {
			p.close(r, draining)
			f.restIfDrained(r)
			return true
		}
	}
	return false
}

// ready lets a replica that has started take requests.
func (f *fleet) ready(r *member, generation uint32) {
	if r.generation == generation { // it was not stopped meanwhile
		f.open(r)
	}
}

// restIfDrained turns r off if it has nothing left to do.
func (f *fleet) restIfDrained(r *member) {
	if r.phase == draining && r.outstanding == 0 && r.leases == 0 {
		f.rest(r)
	}
}

func (f *fleet) rest(r *member) {
	r.phase = off
	r.generation++
	r.result.Up += f.now - r.since
	r.forget()
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

// Waiting returns the number of requests that wait for a place in a batch. Like Busy it looks at
// every replica.
func (p *Pool) Waiting() int {
	n := p.gate.Len()
	for _, i := range p.members {
		r := &p.fleet.replicas[i]
		n += r.scheduler.Waiting() + r.incoming.Len()
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
