package horizon

import "slices"

// Mix is two kinds that serve at once. The older kind serves alone as long as some replicas of it
// are enough, which may be no month at all. From then on these replicas stay, and a newer kind
// serves the rest, until the older kind is left or the horizon ends.
type Mix struct {
	Older, Newer int
	Replicas     int // of the older kind
	// Needs are the replicas of the newer kind by month, from From to before To.
	From, To int
	Needs    []int
}

// finest is into how many steps the number of replicas is divided that an older kind may keep, if
// it has more: numbers of replicas are not known better.
const finest = 100

// mixed returns the cheapest schedule in which two kinds serve at once; or best, if it costs no
// more. All pairs of kinds, numbers of replicas of the older one and months in which it
// is left are tried, unless a bound excludes them. What either kind rents is the cheapest for what
// it needs, as of one kind.
func (q *Question) mixed(best *Schedule) *Schedule {
	var alone []*stays
	for kind := range q.Kinds {
		alone = append(alone, newStays(q, kind))
	}
	for older := range q.Kinds {
		k := &q.Kinds[older]
		most := k.Most
		for _, needs := range k.Needs {
			most = max(most, len(needs))
		}
		step := 1 + most/finest
		for n := step; n <= most; n += step {
			from := k.firstBeyond(n)
			if from == len(k.Needs) {
				break
			}
			kept := newStays(q.with(older, k.upTo(n)), older)
			for newer := range q.Kinds {
				if newer != older {
					m := Mix{Older: older, Newer: newer, Replicas: n, From: from}
					best = q.cheapestMix(m, kept, alone[newer], best)
				}
			}
		}
	}
	return best
}

// firstBeyond returns the first month in which n replicas of a kind are too few to serve alone.
func (k *Kind) firstBeyond(n int) int {
	for m, needs := range k.Needs[:k.until()] {
		if len(needs) > n {
			return m
		}
	}
	return k.until()
}

// upTo returns the needs of a kind if at most n of its replicas serve.
func (k *Kind) upTo(n int) [][]float64 {
	list := slices.Clone(k.Needs)
	for m := range list {
		if m >= k.until() {
			list[m] = Always(n)
		}
		list[m] = list[m][:min(n, len(list[m]))]
	}
	return list
}

// with returns a question in which a kind has other needs.
func (q *Question) with(kind int, needs [][]float64) *Question {
	other := *q
	other.Kinds = slices.Clone(q.Kinds)
	other.Kinds[kind].Needs, other.Kinds[kind].Most = needs, 0
	return &other
}

// cheapestMix returns the cheapest of best and the schedules of a mix, whose older kind is kept
// until any month, and whose newer kind then serves alone.
func (q *Question) cheapestMix(m Mix, kept, alone *stays, best *Schedule) *Schedule {
	newer := alone.kind
	months, beside := len(newer.Needs), q.Beside(m.Older, m.Replicas, m.Newer)
	rest := newStays(q.with(m.Newer, beside), m.Newer)
	changes := 0
	if m.From > 0 {
		changes = 1
	}
	for end := m.From + 1; end <= months && len(beside[end-1]) > 0; end++ {
		least := float64(changes)*q.Change + rest.least(m.From, end)
		if end < months {
			least += alone.least(end, months)
		}
		wins := best.Cost * (1 - 1e-9)
		if least+kept.least(0, end) >= wins || least+kept.cost(0, end) >= wins {
			continue
		}
		needs := slices.Concat(beside[:end], newer.Needs[end:])
		added := newStays(q.with(m.Newer, needs), m.Newer)
		c := float64(changes)*q.Change + kept.cost(0, end) + added.cost(m.From, months)
		if c < wins {
			mix := m
			mix.To, mix.Needs = end, nil
			for _, b := range beside[m.From:end] {
				mix.Needs = append(mix.Needs, len(b))
			}
			best = &Schedule{Cost: c, Changes: changes, Mix: &mix,
				Serving: slices.Concat(slices.Repeat([]int{m.Older}, m.From),
					slices.Repeat([]int{m.Newer}, months-m.From)),
				Rentals: slices.Concat(kept.stay(0, end).rentals(),
					added.stay(m.From, months).rentals())}
		}
	}
	return best
}
