// Package horizon finds what to rent, and when, while a load grows month by month.
//
// Months count from 0. In each month one kind of server answers all requests, with as many replicas
// as it needs then; a kind that was left is not taken up again. A replica is rented for a term: for
// one month at a time, or for longer at a lower price. A term that was begun is paid to its end,
// also if that is after the last month.
//
// The schedule is the cheapest that there is. Since needs never become fewer, each replica of a
// kind is needed from its first month until the kind is left, and is covered alone, by the shortest
// path over terms from one month to the other. The choice of kinds is a shortest path over months,
// kinds and the set of kinds that were left (Wagner and Whitin, "Dynamic Version of the Economic
// Lot Size Model", Management Science, 1958, has the form for one product).
package horizon

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Term is a way to rent a replica.
type Term struct {
	Months  int     // for which it is paid at least; 1 or more
	Monthly float64 // the price of a replica for a month
}

// Kind is a kind of server.
type Kind struct {
	Name  string
	Needs []int // replicas that keep the SLO, by month; never fewer than in the month before
	Terms []Term
}

// MostKinds bounds the kinds of a question: sets of them are enumerated.
const MostKinds = 8

// Question is what a schedule is made for.
type Question struct {
	Kinds []Kind
	// Change is what it costs once to go from one kind of server to another.
	Change float64
	// Held are rentals that were begun and cannot be given back; they are no part of the cost.
	Held []Rental
}

// Rental is replicas that are rented for one term after another.
type Rental struct {
	Kind, Term int
	Replicas   int
	From, To   int     // the first month, and the month after the last that is paid
	Cost       float64 // of all of them, to the end
}

// Schedule is what to rent, and when.
type Schedule struct {
	Serving []int    // the kind by month
	Rentals []Rental // by their first month
	Cost    float64  // with changes of kinds, and without what is held
	Changes int
}

// Check reports what a question must not have.
func (q *Question) Check() error {
	if n := len(q.Kinds); n == 0 || n > MostKinds {
		return fmt.Errorf("%d kinds of servers, want 1 to %d", n, MostKinds)
	}
	for i := range q.Kinds {
		k := &q.Kinds[i]
		if len(k.Needs) == 0 || len(k.Needs) != len(q.Kinds[0].Needs) {
			return fmt.Errorf("%s: needs of %d months, want %d and at least one", k.Name,
				len(k.Needs), len(q.Kinds[0].Needs))
		}
		if !slices.IsSorted(k.Needs) || k.Needs[0] < 0 {
			return fmt.Errorf("%s: needs %d become fewer", k.Name, k.Needs)
		}
		if len(k.Terms) == 0 {
			return fmt.Errorf("%s: has no term", k.Name)
		}
		for _, t := range k.Terms {
			if t.Months < 1 || !(t.Monthly >= 0) {
				return fmt.Errorf("%s: a term of %d months for %g a month", k.Name, t.Months,
					t.Monthly)
			}
		}
	}
	return nil
}

// Cheapest returns the cheapest schedule.
func Cheapest(q *Question) (*Schedule, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	months, kinds := len(q.Kinds[0].Needs), len(q.Kinds)
	// A stay of a kind ends where a later month, or no month, begins.
	type place struct{ end, kind, left int } // left is the set of kinds that were left before
	type step struct {
		cost  float64
		begin int // of the stay that ends here
		from  place
	}
	best := map[place]step{}
	costs := make([]*covering, kinds)
	for k := range q.Kinds {
		costs[k] = newCovering(q, k)
	}
	last := place{end: -1}
	for end := 1; end <= months; end++ {
		for kind := range kinds {
			for left := range 1 << kinds {
				if left>>kind&1 == 1 {
					continue
				}
				here, found := step{cost: math.Inf(1)}, false
				try := func(begin int, before float64, from place) {
					if c := before + costs[kind].cost(begin, end); c < here.cost {
						here, found = step{c, begin, from}, true
					}
				}
				if left == 0 {
					try(0, 0, place{})
				}
				for begin := 1; begin < end; begin++ {
					for other := range kinds {
						if left>>other&1 == 1 {
							from := place{begin, other, left &^ (1 << other)}
							if s, ok := best[from]; ok {
								try(begin, s.cost+q.Change, from)
							}
						}
					}
				}
				if !found {
					continue
				}
				p := place{end, kind, left}
				best[p] = here
				if end == months && (last.end < 0 || here.cost < best[last].cost) {
					last = p
				}
			}
		}
	}
	s := &Schedule{Serving: make([]int, months), Cost: best[last].cost}
	for p := last; ; {
		at := best[p]
		for m := at.begin; m < p.end; m++ {
			s.Serving[m] = p.kind
		}
		s.Rentals = append(s.Rentals, costs[p.kind].rentals(at.begin, p.end)...)
		if at.begin == 0 {
			break
		}
		s.Changes++
		p = at.from
	}
	slices.SortStableFunc(s.Rentals, func(a, b Rental) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Kind, b.Kind),
			-cmp.Compare(a.To, b.To))
	})
	return s, nil
}

// covering rents the replicas of one kind.
type covering struct {
	kind  int
	needs []int
	terms []Term
	held  []int // the month after the last of each held replica, the longest first
	ends  map[int]*paths
}

// paths are the cheapest ways to cover one replica from any month to an end.
type paths struct {
	cost []float64 // by the first month; 0 at the end
	term []int
}

func newCovering(q *Question, kind int) *covering {
	c := &covering{kind: kind, needs: q.Kinds[kind].Needs, terms: q.Kinds[kind].Terms,
		ends: map[int]*paths{}}
	for _, r := range q.Held {
		if r.Kind == kind {
			for range r.Replicas {
				c.held = append(c.held, r.To)
			}
		}
	}
	slices.SortFunc(c.held, func(a, b int) int { return cmp.Compare(b, a) })
	return c
}

// to returns the ways to an end.
func (c *covering) to(end int) *paths {
	if p := c.ends[end]; p != nil {
		return p
	}
	p := &paths{cost: make([]float64, end+1), term: make([]int, end)}
	for m := end - 1; m >= 0; m-- {
		p.cost[m] = math.Inf(1)
		for i, t := range c.terms {
			whole := float64(t.Months) * t.Monthly
			if cost := whole + p.cost[min(end, m+t.Months)]; cost < p.cost[m] {
				p.cost[m], p.term[m] = cost, i
			}
		}
	}
	c.ends[end] = p
	return p
}

// replicas calls with with the month from which each replica of a stay is rented. A later beginning
// never costs more, so that the held replicas that last longest are the ones that are needed first.
func (c *covering) replicas(begin, end int, with func(from int)) {
	month := begin
	for i := range c.needs[end-1] {
		for c.needs[month] <= i {
			month++
		}
		from := month
		if i < len(c.held) {
			from = min(end, max(from, c.held[i]))
		}
		with(from)
	}
}

// cost returns what a stay costs.
func (c *covering) cost(begin, end int) float64 {
	sum, p := 0.0, c.to(end)
	c.replicas(begin, end, func(from int) { sum += p.cost[from] })
	return sum
}

// rentals returns what a stay rents. Terms of one replica that follow each other are one rental.
func (c *covering) rentals(begin, end int) []Rental {
	var list []Rental
	p := c.to(end)
	add := func(r Rental) {
		for i := range list {
			if o := &list[i]; o.Term == r.Term && o.From == r.From && o.To == r.To {
				o.Replicas, o.Cost = o.Replicas+1, o.Cost+r.Cost
				return
			}
		}
		list = append(list, r)
	}
	c.replicas(begin, end, func(from int) {
		for m := from; m < end; {
			r := Rental{Kind: c.kind, Term: p.term[m], Replicas: 1, From: m}
			for m < end && p.term[m] == r.Term {
				t := c.terms[r.Term]
				m += t.Months
				r.Cost += float64(t.Months) * t.Monthly
			}
			r.To = m
			add(r)
		}
	})
	return list
}

// Begun returns the rentals that a schedule begins with, until their first terms end: what cannot
// be given back if the load turns out to be another.
func (s *Schedule) Begun(kinds []Kind) []Rental {
	var list []Rental
	for _, r := range s.Rentals {
		if t := kinds[r.Kind].Terms[r.Term]; r.From == 0 {
			r.To, r.Cost = t.Months, float64(r.Replicas*t.Months)*t.Monthly
			list = append(list, r)
		}
	}
	return list
}

// Regret returns by how much a schedule that begins as s does costs more than the cheapest one, if
// the load is that of another question. Later months are planned anew, by who knows it.
func (s *Schedule) Regret(other *Question) (float64, error) {
	begun := s.Begun(other.Kinds)
	bound := *other
	bound.Held = slices.Concat(other.Held, begun)
	free, err := Cheapest(other)
	if err != nil {
		return 0, err
	}
	rest, err := Cheapest(&bound)
	if err != nil {
		return 0, err
	}
	cost := rest.Cost
	for _, r := range begun {
		cost += r.Cost
	}
	return cost - free.Cost, nil
}
