// Package horizon finds what to rent, and when, while a load changes from month to month and within
// a day.
//
// Months count from 0. In each month one kind of server answers all requests, with as many replicas
// as it needs then, or two do (mix.go); a kind that was left is not taken up again. Each replica of
// a kind has a term of its own: it is rented as long as it is needed, or paid for some months at a
// lower price, as one that is bought. A term that was begun is paid to its end, also if that is
// after the last month.
//
// The schedule is the cheapest that there is. What a stay of a kind costs is the least cost of a
// flow through its months (commit.go), which is exact. The choice of kinds is a shortest path over
// months, kinds and the set of kinds that were left (Wagner and Whitin, "Dynamic Version of the
// Economic Lot Size Model", Management Science, 1958, has the form for one product).
package horizon

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Term is a commitment to pay for a replica for some months, whether it is needed or not.
type Term struct {
	Months  int     // 1 or more
	Monthly float64 // the price of a replica for a month
	// Within reports whether nothing is paid after the last month of the horizon.
	Within bool
	// Most is how many replicas there are on this term; 0 if there is no limit. A term with a limit
	// must be within the horizon and as long as it, so that none of them is given back.
	Most int
}

// paid returns how many months are paid of a term that begins in one of the months of a horizon.
func (t *Term) paid(begin, months int) int {
	if t.Within {
		return min(t.Months, months-begin)
	}
	return t.Months
}

// Kind is a kind of server.
type Kind struct {
	Name string
	// Needs are, by month, the shares of the month in which the first, the second and each further
	// replica are needed to keep the SLO: in (0, 1], and descending.
	Needs [][]float64
	// Monthly is the price of a replica for a whole month without a commitment. A part of a month
	// costs its share of that. It is infinite where each replica has a term.
	Monthly float64
	// Fixed is what each month of this kind costs beside: a base of dearer replicas.
	Fixed float64
	Terms []Term
	// Most is how many replicas there are, where they are too few to serve alone in some month and
	// in all after it, whose needs are nil; 0 where they are enough.
	Most int
}

// until returns the first month in which a kind has too few replicas to serve alone.
func (k *Kind) until() int {
	m := slices.IndexFunc(k.Needs, func(needs []float64) bool { return needs == nil })
	if k.Most == 0 || m < 0 {
		return len(k.Needs)
	}
	return m
}

// Always returns the needs of a month for n replicas that are needed all the time.
func Always(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// MostKinds bounds the kinds of a question: sets of them are enumerated.
const MostKinds = 8

// Question is what a schedule is made for.
type Question struct {
	Kinds []Kind
	// Change is what it costs once to go from one kind of server to another.
	Change float64
	// Held are rentals that were begun and cannot be given back; they are no part of the cost.
	Held []Rental
	// Beside returns the needs of a newer kind, by month, beside some replicas of an older one that
	// are too few by themselves: empty where there are too few of the newer kind. Nil lets no two
	// kinds serve at once.
	Beside func(older, replicas, newer int) [][]float64
}

// Rental is replicas that are rented for one term after another, or while they are needed.
type Rental struct {
	Kind, Term int // Term is Uncommitted without a commitment
	Replicas   int
	From, To   int     // the first month, and the month after the last that is paid
	Cost       float64 // of all of them, to the end
	Share      float64 // of the time from the first month to the last that is paid
}

// Uncommitted is the term of replicas that are rented while they are needed.
const Uncommitted = -1

// Schedule is what to rent, and when.
type Schedule struct {
	Serving []int    // the kind by month; the newer of two
	Mix     *Mix     // nil if no two kinds serve at once
	Rentals []Rental // by their first month
	Cost    float64  // with changes of kinds, and without what is held; infinite without a schedule
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
		for m, shares := range k.Needs {
			for i, share := range shares {
				if !(share > 0 && share <= 1) || i > 0 && share > shares[i-1] {
					return fmt.Errorf("%s: replicas needed in shares %g of month %d, want "+
						"descending shares above 0 to 1", k.Name, shares, m)
				}
			}
		}
		if !(k.Monthly >= 0) {
			return fmt.Errorf("%s: a price of %g a month", k.Name, k.Monthly)
		}
		enough := !math.IsInf(k.Monthly, 1)
		for _, t := range k.Terms {
			if t.Months < 1 || !(t.Monthly >= 0) || math.IsInf(t.Monthly, 1) {
				return fmt.Errorf("%s: a term of %d months for %g a month", k.Name, t.Months,
					t.Monthly)
			}
			if t.Most < 0 || t.Most > 0 && !(t.Within && t.Months >= len(k.Needs)) {
				return fmt.Errorf("%s: %d replicas on a term of %d months, want 0 or a term to "+
					"the end of %d", k.Name, t.Most, t.Months, len(k.Needs))
			}
			enough = enough || t.Most == 0
		}
		if !enough {
			return fmt.Errorf("%s: no term without a limit", k.Name)
		}
	}
	return nil
}

// Cheapest returns the cheapest schedule.
func Cheapest(q *Question) (*Schedule, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	s := oneByOne(q)
	if q.Beside != nil {
		s = q.mixed(s)
	}
	slices.SortStableFunc(s.Rentals, func(a, b Rental) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Kind, b.Kind),
			-cmp.Compare(a.To, b.To))
	})
	return s, nil
}

// oneByOne returns the cheapest schedule with one kind at a time.
func oneByOne(q *Question) *Schedule {
	months, kinds := len(q.Kinds[0].Needs), len(q.Kinds)
	// A stay of a kind ends where a later month, or no month, begins.
	type place struct{ end, kind, left int } // left is the set of kinds that were left before
	type step struct {
		cost  float64
		begin int // of the stay that ends here
		from  place
	}
	best := map[place]step{}
	costs := make([]*stays, kinds)
	known := math.Inf(1) // what a schedule costs at most: with one kind
	rest := make([]float64, months+1)
	for k := range q.Kinds {
		costs[k] = newStays(q, k)
		if costs[k].kind.until() == months {
			known = min(known, costs[k].cost(0, months))
		}
	}
	for m := months - 1; m >= 0; m-- {
		rest[m] = math.Inf(1)
		for _, c := range costs {
			rest[m] = min(rest[m], rest[m+1]+c.least(m, m+1))
		}
	}
	last := place{end: -1}
	for end := 1; end <= months; end++ {
		for kind := range kinds {
			for left := range 1 << kinds {
				if left>>kind&1 == 1 || end > costs[kind].kind.until() {
					continue
				}
				here, found := step{cost: math.Inf(1)}, false
				try := func(begin int, before float64, from place) {
					if before+costs[kind].least(begin, end)+rest[end] > known*(1+1e-9) {
						return
					}
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
	if last.end < 0 {
		return &Schedule{Cost: math.Inf(1)}
	}
	s := &Schedule{Serving: make([]int, months), Cost: best[last].cost}
	for p := last; ; {
		at := best[p]
		for m := at.begin; m < p.end; m++ {
			s.Serving[m] = p.kind
		}
		s.Rentals = append(s.Rentals, costs[p.kind].stay(at.begin, p.end).rentals()...)
		if at.begin == 0 {
			break
		}
		s.Changes++
		p = at.from
	}
	return s
}

// Begun returns the rentals that a schedule begins with, until their first terms end: what cannot
// be given back if the load turns out to be another.
func (s *Schedule) Begun(kinds []Kind) []Rental {
	var list []Rental
	for _, r := range s.Rentals {
		if r.From == 0 && r.Term != Uncommitted {
			k := &kinds[r.Kind]
			t := &k.Terms[r.Term]
			r.To = t.paid(0, len(k.Needs))
			r.Cost = float64(r.Replicas*r.To) * t.Monthly
			list = append(list, r)
		}
	}
	return list
}

// Regret returns by how much a schedule that begins as s does costs more than the cheapest one, if
// the load is that of another question. Later months are planned anew, by who knows it. It is not a
// number where that question has no schedule.
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
