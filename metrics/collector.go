// Package metrics computes the figures of a run from what the simulator reports: TTFT, TPOT, ITL,
// E2E latency, throughput, SLO attainment and goodput, and a time series of queue, batch and KV
// use. The memory that it takes does not depend on the number of requests.
package metrics

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Config says which figures to collect.
type Config struct {
	// Classes holds the request classes, by Request.Class. It is nil or has one class if classes
	// are not reported separately.
	Classes []Class
	// Tenants holds the names of the tenants, by Request.Tenant. It is nil if tenants are not
	// reported separately. Tenants with higher numbers are reported together, as others.
	Tenants []string
	// SLO is the SLO of requests without a class, and of classes without an SLO of their own.
	SLO SLO
	// KeepCut is set if sessions go on after an answer that its user cut, so that it counts as the
	// answer to its call.
	KeepCut bool
	// Whole is set if answers come as a whole, so that there are no gaps between tokens.
	Whole bool
	// SeriesPoints bounds the points of the time series; 0 means 2,048. When it is full, every
	// other point is dropped.
	SeriesPoints int
}

// Class is a kind of request.
type Class struct {
	Name string
	SLO  SLO
	// Tenant is the index in Config.Tenants of the tenant who sends the requests of the class.
	Tenant int
}

// Collector is a sim.Observer that sums up a run.
type Collector struct {
	all      *group
	classes  []*group
	tenants  []*group
	owners   []int // the tenants of the classes
	itl      *Distribution
	series   series
	sessions sessions
	keepCut  bool
	whole    bool

	started bool
	first   sim.Time // arrival of the first request
	newest  sim.Time // arrival of the last
	peak    int      // largest batch
}

// New returns an empty collector.
func New(c Config) (*Collector, error) {
	itl, err := NewDistribution(tokenAccuracy)
	if err != nil {
		return nil, err
	}
	all, err := newGroup("", c.SLO)
	if err != nil {
		return nil, err
	}
	m := &Collector{all: all, itl: itl, series: newSeries(c.SeriesPoints),
		keepCut: c.KeepCut, whole: c.Whole}
	for _, class := range c.Classes {
		slo := class.SLO
		if slo.None() {
			slo = c.SLO
		}
		g, err := newGroup(class.Name, slo)
		if err != nil {
			return nil, err
		}
		m.classes = append(m.classes, g)
		m.owners = append(m.owners, class.Tenant)
	}
	return m, m.addTenants(c)
}

// addTenants prepares the groups of tenants, and one for tenants with a number and no name. The
// share wanted of a tenant is the largest share wanted of its classes.
func (c *Collector) addTenants(config Config) error {
	if len(config.Tenants) == 0 {
		return nil
	}
	others := "others"
	for slices.Contains(config.Tenants, others) {
		others = "all " + others
	}
	for i, name := range append(slices.Clip(config.Tenants), others) {
		slo := SLO{}
		for k, class := range c.classes {
			if c.owners[k] == i || i == len(config.Tenants) {
				slo.Share = max(slo.Share, class.slo.Share)
			}
		}
		g, err := newGroup(name, slo)
		if err != nil {
			return err
		}
		c.tenants = append(c.tenants, g)
	}
	return nil
}

// tenant returns the group of a tenant, or nil if tenants are not reported.
func (c *Collector) tenant(number int) *group {
	if len(c.tenants) == 0 {
		return nil
	}
	return c.tenants[min(number, len(c.tenants)-1)]
}

// Steps implements sim.Observer.
func (c *Collector) Steps(l *sim.Leap) {
	c.peak = max(c.peak, l.Decodes+len(l.Prefill))
	if c.whole {
		return
	}
	for i := range l.Gaps {
		c.itl.AddRepeated(l.Gaps[i].Span, l.Gaps[i].Count)
	}
	if l.Steps > 1 && !l.Together {
		c.itl.AddSteps(l)
	}
}

// Finished implements sim.Observer.
func (c *Collector) Finished(s *sim.Sequence) {
	c.sessions.finished(s)
	c.add(s, s.E2E(), false)
}

// Ended implements sim.EndObserver.
func (c *Collector) Ended(s *sim.Sequence, why sim.Rejection, _ sim.Time) {
	part, e2e, cut := Cut(s, why)
	switch {
	case !cut:
		c.Rejected(&s.Request, why)
		return
	case c.keepCut:
		c.sessions.finished(&part)
	default:
		c.sessions.rejected(&s.Request)
	}
	c.add(&part, e2e, true)
}

// add adds a request that finished or was cut.
func (c *Collector) add(s *sim.Sequence, e2e sim.Time, cut bool) {
	c.seen(s.Arrival)
	if s.Class >= len(c.classes) {
		c.all.add(s, e2e, c.all.slo.judge(s, e2e), cut)
		return
	}
	g := c.classes[s.Class]
	v := g.slo.judge(s, e2e)
	g.add(s, e2e, v, cut)
	c.all.add(s, e2e, v, cut)
	if g := c.tenant(s.Tenant); g != nil {
		g.add(s, e2e, v, cut)
	}
}

// Rejected implements sim.Observer.
func (c *Collector) Rejected(r *sim.Request, why sim.Rejection) {
	c.seen(r.Arrival)
	c.sessions.rejected(r)
	c.all.without[why]++
	if r.Class < len(c.classes) {
		c.classes[r.Class].without[why]++
	}
	if g := c.tenant(r.Tenant); g != nil {
		g.without[why]++
	}
}

// Sampled implements sim.Observer.
func (c *Collector) Sampled(at sim.Time, replica int, state sim.State) {
	c.series.add(at, replica, state)
}

// seen notes the arrival of a request; requests do not finish in order of arrival.
func (c *Collector) seen(arrival sim.Time) {
	if !c.started || arrival < c.first {
		c.started, c.first = true, arrival
	}
	c.newest = max(c.newest, arrival)
}

// Series returns the state of the fleet over time, evenly spaced.
func (c *Collector) Series() []Point {
	c.series.close()
	return c.series.points
}

// Rejections returns the number of requests without an answer for each reason that occurred.
func (c *Collector) Rejections() map[sim.Rejection]int64 {
	why := map[sim.Rejection]int64{}
	for i, n := range c.all.without {
		if n > 0 {
			why[sim.Rejection(i)] = n
		}
	}
	return why
}
