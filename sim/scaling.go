package sim

// scale asks the scaler with the number n how many replicas should run, and starts or stops
// replicas.
func (f *fleet) scale(n int) {
	sc := &f.scalings[n]
	p := f.pools.find(poolKey{sc.Model, sc.Role, sc.MaxPrompt})
	least := sc.Min
	if p.Outstanding() > 0 { // the last replica stops, and the first starts, by requests alone
		least = max(least, 1)
	}
	want := min(max(sc.Scaler.Replicas(p), least), len(p.members))
	have := p.Running()
	for ; have < want && p.start(); have++ {
	}
	for ; have > want && p.stop(); have-- {
	}
	f.schedule(later(f.now, sc.Every), event{kind: scaling, n: n})
}

// start lets one more replica run: a replica that drains, else the first that is off.
func (p *Pool) start() bool {
	f := p.fleet
	for _, i := range p.members {
		if r := &f.replicas[i]; r.phase == draining {
			f.open(r)
			return true
		}
	}
	for _, i := range p.members {
		if r := &f.replicas[i]; r.phase == off {
			r.phase, r.since = starting, f.now
			f.schedule(later(f.now, r.coldStart), event{kind: readying, n: i, life: r.generation})
			return true
		}
	}
	return false
}

// stop stops one replica that is not steady: the last that is starting, else the last that takes
// requests.
func (p *Pool) stop() bool {
	f := p.fleet
	for k := len(p.members) - 1; k >= 0; k-- {
		if r := &f.replicas[p.members[k]]; r.phase == starting {
			r.switchOff()
			return true
		}
	}
	for k := len(p.accepting) - 1; k >= 0; k-- {
		if r := &f.replicas[p.accepting[k]]; !r.steady {
			p.close(r, draining)
			r.switchOffIfDrained()
			return true
		}
	}
	return false
}
