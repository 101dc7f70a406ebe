package horizon

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn returns a small question.
func drawn(t *rapid.T) *Question {
	months := rapid.IntRange(1, 5).Draw(t, "months")
	q := &Question{Change: float64(rapid.IntRange(0, 10).Draw(t, "change"))}
	for k := range rapid.IntRange(1, 3).Draw(t, "kinds") {
		kind := Kind{Name: fmt.Sprint(k),
			Monthly: float64(rapid.IntRange(0, 12).Draw(t, "price")),
			Fixed:   float64(rapid.IntRange(0, 1).Draw(t, "fixed"))}
		for range months {
			needs := Always(rapid.IntRange(0, 1).Draw(t, "all day"))
			for len(needs) < 3 && rapid.Bool().Draw(t, "more") {
				share := 1.0
				if len(needs) > 0 {
					share = needs[len(needs)-1]
				}
				of := rapid.SampledFrom([]float64{0.25, 0.5, 1}).Draw(t, "of")
				needs = append(needs, share*of)
			}
			few := len(kind.Needs) > 0 && rapid.IntRange(0, 5).Draw(t, "too few") == 0
			if few || kind.Most > 0 {
				kind.Most, needs = 2, nil
			}
			kind.Needs = append(kind.Needs, needs)
		}
		for range rapid.IntRange(0, 2).Draw(t, "terms") {
			term := Term{Months: rapid.IntRange(1, 4).Draw(t, "length"),
				Monthly: float64(rapid.IntRange(0, 9).Draw(t, "monthly")),
				Within:  rapid.Bool().Draw(t, "within")}
			if term.Within && rapid.Bool().Draw(t, "limited") {
				term.Months, term.Most = months, rapid.IntRange(1, 2).Draw(t, "most")
			} else if rapid.Bool().Draw(t, "only with a term") {
				kind.Monthly = math.Inf(1)
			}
			kind.Terms = append(kind.Terms, term)
		}
		q.Kinds = append(q.Kinds, kind)
		if rapid.Bool().Draw(t, "held") {
			r := Rental{Kind: k, Replicas: rapid.IntRange(1, 2).Draw(t, "n"),
				Term: rapid.IntRange(Uncommitted, len(kind.Terms)-1).Draw(t, "term"),
				To:   rapid.IntRange(1, months).Draw(t, "until")}
			if r.Term != Uncommitted && kind.Terms[r.Term].Most > 0 {
				r.To, r.Replicas = months, 1
			}
			q.Held = append(q.Held, r)
		}
	}
	if rapid.Bool().Draw(t, "two at once") {
		beside := map[[3]int][][]float64{}
		for older := range q.Kinds {
			for newer := range q.Kinds {
				for n := 1; n <= 3; n++ {
					for range months {
						key, few := [3]int{older, n, newer}, rapid.IntRange(0, 2).Draw(t, "beside")
						beside[key] = append(beside[key], Always(few))
					}
				}
			}
		}
		q.Beside = func(older, n, newer int) [][]float64 { return beside[[3]int{older, n, newer}] }
	}
	return q
}

// exhaustiveMixes is exhaustive, and tries every two kinds that serve at once, with what either
// rents by itself.
func exhaustiveMixes(q *Question) float64 {
	least, months := exhaustive(q), len(q.Kinds[0].Needs)
	// alone is what some needs of one kind cost.
	alone := func(kind int, needs func(m int) []float64, months int) float64 {
		k := q.Kinds[kind]
		cost := float64(months) * k.Fixed
		k.Fixed, k.Most = 0, 0
		k.Needs = nil
		for m := range len(q.Kinds[0].Needs) {
			k.Needs = append(k.Needs, needs(m))
		}
		one := &Question{Kinds: []Kind{k}}
		for _, r := range q.Held {
			if r.Kind == kind {
				r.Kind = 0
				one.Held = append(one.Held, r)
			}
		}
		return cost + exhaustive(one)
	}
	for older := range q.Kinds {
		a := &q.Kinds[older]
		few := func(m, n int) bool { return len(a.Needs[m]) > n || a.Needs[m] == nil && a.Most > 0 }
		for n := 1; n <= 3 && q.Beside != nil; n++ {
			from := 0
			for from < months && !few(from, n) {
				from++
			}
			if from == months || a.Most > 0 && n > 2 && !slices.ContainsFunc(a.Needs,
				func(needs []float64) bool { return len(needs) >= n }) {
				continue
			}
			for newer, b := range q.Kinds {
				beside := q.Beside(older, n, newer)
				for end := from + 1; end <= months && len(beside[end-1]) > 0; end++ {
					if newer == older || end < months && b.Most > 0 {
						continue
					}
					cost := alone(older, func(m int) []float64 {
						switch {
						case m >= end:
							return nil
						case a.Most > 0 && a.Needs[m] == nil:
							return Always(n)
						}
						return a.Needs[m][:min(n, len(a.Needs[m]))]
					}, end) + alone(newer, func(m int) []float64 {
						switch {
						case m < from:
							return nil
						case m < end:
							return beside[m]
						}
						return b.Needs[m]
					}, months-from)
					if from > 0 {
						cost += q.Change
					}
					least = min(least, cost)
				}
			}
		}
	}
	return least
}

// exhaustive returns the least cost by trying every kind in every month, and every number of
// commitments of every term that can be begun there. A replica of a term with a limit ends as many
// months after the last as the term's number tells, so that they can be counted.
func exhaustive(q *Question) float64 {
	months := len(q.Kinds[0].Needs)
	known := map[string]float64{}
	var from func(month, serving, left int, ends [][]int) float64
	// rent tries all numbers of commitments, from a term on; what they do not cover is rented while
	// it is needed.
	var rent func(month, kind, left, term int, ends [][]int) float64
	rent = func(month, kind, left, term int, ends [][]int) float64 {
		k, there := &q.Kinds[kind], 0
		for _, e := range ends[kind] {
			if e > month {
				there++
			}
		}
		needs := k.Fixed
		for i, share := range k.Needs[month] {
			if i >= there {
				needs += share * k.Monthly
			}
		}
		least := needs + from(month+1, kind, left, ends)
		for i := term; i < len(k.Terms) && there < 3; i++ {
			t := k.Terms[i]
			paid, end, taken := t.Months, month+t.Months, 0
			if t.Within {
				paid = min(paid, months-month)
			}
			if t.Most > 0 {
				end = months + 9 + i
			}
			for _, e := range ends[kind] {
				if e == months+9+i {
					taken++
				}
			}
			if t.Most > 0 && taken == t.Most {
				continue
			}
			more := slices.Clone(ends)
			more[kind] = append(slices.Clone(ends[kind]), end)
			slices.Sort(more[kind])
			least = min(least, float64(paid)*t.Monthly+rent(month, kind, left, i, more))
		}
		return least
	}
	from = func(month, serving, left int, ends [][]int) float64 {
		if month == months {
			return 0
		}
		key := fmt.Sprint(month, serving, left, ends)
		if c, ok := known[key]; ok {
			return c
		}
		least := math.Inf(1)
		for kind := range q.Kinds {
			switch {
			case left>>kind&1 == 1 || q.Kinds[kind].Most > 0 && q.Kinds[kind].Needs[month] == nil:
			case serving < 0 || serving == kind:
				least = min(least, rent(month, kind, left, 0, ends))
			default:
				least = min(least, q.Change+rent(month, kind, left|1<<serving, 0, ends))
			}
		}
		known[key] = least
		return least
	}
	ends := make([][]int, len(q.Kinds))
	for _, r := range q.Held {
		to := r.To
		if r.Term != Uncommitted && q.Kinds[r.Kind].Terms[r.Term].Most > 0 {
			to = months + 9 + r.Term
		}
		for range r.Replicas {
			ends[r.Kind] = append(ends[r.Kind], to)
		}
	}
	return from(0, -1, 0, ends)
}

// The schedule costs what the cheapest of all schedules does, has in each month the replicas that
// its kind needs, and its cost is the sum of its rentals and changes.
func TestSchedulesAreTheCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawn(t)
		s, err := Cheapest(q)
		if err != nil {
			t.Fatal(err)
		}
		if want := exhaustiveMixes(q); math.Abs(s.Cost-want) > 1e-9 {
			t.Fatalf("%g, and %g is possible: %+v", s.Cost, want, s)
		}
		if math.IsInf(s.Cost, 1) {
			return
		}
		sum, changes := 0.0, 0
		for m, kind := range s.Serving {
			there := 0
			for _, r := range slices.Concat(s.Rentals, q.Held) {
				if r.Kind == kind && r.From <= m && m < r.To {
					there += r.Replicas
				}
			}
			needed := len(q.Kinds[kind].Needs[m])
			if x := s.Mix; x != nil && x.From <= m && m < x.To {
				needed = x.Needs[m-x.From]
			} else if x != nil && m < x.From {
				needed = min(needed, x.Replicas)
			}
			if there < needed {
				t.Fatalf("%d replicas in month %d: %+v", there, m, s)
			}
			if m > 0 && kind != s.Serving[m-1] {
				changes++
			}
		}
		for _, r := range s.Rentals {
			sum += r.Cost
		}
		if sum += float64(s.Changes) * q.Change; math.Abs(sum-s.Cost) > 1e-9 ||
			changes != s.Changes {
			t.Fatalf("rentals and %d changes cost %g: %+v", changes, sum, s)
		}
	})
}

// More kinds, terms and held replicas never cost more, and larger needs, longer needs and higher
// prices never less.
func TestMoreChoiceCostsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawn(t)
		less := *q
		less.Kinds = slices.Clone(q.Kinds)
		k := &less.Kinds[0]
		switch rapid.IntRange(0, 5).Draw(t, "without") {
		case 0:
			less.Held = nil
		case 1:
			k.Terms = nil
			for _, term := range q.Kinds[0].Terms {
				if math.IsInf(k.Monthly, 1) && term.Most == 0 {
					k.Terms = append(k.Terms, term)
				}
			}
			less.Held = slices.DeleteFunc(slices.Clone(q.Held),
				func(r Rental) bool { return r.Kind == 0 })
		case 2:
			q.Beside, less.Beside = nil, nil // two at once come when the first of them is too few
			k.Needs = slices.Clone(k.Needs)
			for m := range k.Needs {
				if k.Most == 0 || k.Needs[m] != nil {
					k.Needs[m] = append([]float64{1}, k.Needs[m]...)
				}
			}
		case 4:
			less.Beside = nil
		case 3:
			k.Monthly++
			k.Terms = slices.Clone(k.Terms)
			for i := range k.Terms {
				k.Terms[i].Monthly++
			}
		default:
			if len(less.Kinds) > 1 {
				less.Kinds = less.Kinds[:len(less.Kinds)-1]
				less.Held = slices.DeleteFunc(slices.Clone(q.Held),
					func(r Rental) bool { return r.Kind == len(less.Kinds) })
			}
		}
		one, err := Cheapest(q)
		other, err2 := Cheapest(&less)
		if err != nil || err2 != nil || one.Cost > other.Cost+1e-9 {
			t.Fatalf("%+v with more choice, %+v with less (%v, %v)", one, other, err, err2)
		}
	})
}

// A question that has no answer is refused.
func TestQuestionsAreChecked(t *testing.T) {
	one := [][]float64{{1}}
	for _, c := range []struct {
		want  string
		kinds []Kind
	}{
		{"0 kinds of servers", nil},
		{"want descending shares", []Kind{{Name: "a", Needs: [][]float64{{0.5, 1}}}}},
		{"want descending shares", []Kind{{Name: "a", Needs: [][]float64{{0}}}}},
		{"needs of 1 months, want 2", []Kind{{Name: "a", Needs: [][]float64{{1}, {1}}},
			{Name: "b", Needs: one}}},
		{"a price of -1", []Kind{{Name: "a", Needs: one, Monthly: -1}}},
		{"a term of 0 months", []Kind{{Name: "a", Needs: one, Terms: []Term{{Monthly: 1}}}}},
		{"for NaN a month", []Kind{{Name: "a", Needs: one,
			Terms: []Term{{Months: 1, Monthly: math.NaN()}}}}},
		{"2 replicas on a term of 1 months", []Kind{{Name: "a", Needs: one,
			Terms: []Term{{Months: 1, Most: 2}}}}},
		{"no term without a limit", []Kind{{Name: "a", Needs: one, Monthly: math.Inf(1),
			Terms: []Term{{Months: 1, Most: 2, Within: true}}}}},
	} {
		if _, err := Cheapest(&Question{Kinds: c.kinds}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// To know the load is worth something or nothing: the regret is never negative, and 0 where the
// load is the expected one.
func TestRegretIsOfWhatWasNotKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawn(t)
		s, err := Cheapest(q)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Regret(q); err != nil || math.Abs(r) > 1e-9 {
			t.Fatalf("a regret of %g where nothing was unknown (%v): %+v", r, err, s)
		}
		other := *q
		other.Kinds = slices.Clone(q.Kinds)
		for k := range other.Kinds {
			needs := slices.Clone(q.Kinds[k].Needs)
			for m := 1; m < len(needs); m++ {
				needs[m] = Always(rapid.IntRange(0, 3).Draw(t, "needed"))
			}
			other.Kinds[k].Needs = needs
		}
		if r, err := s.Regret(&other); err != nil || r < -1e-9 {
			t.Fatalf("a regret of %g (%v): %+v", r, err, s)
		}
	})
}

// A schedule never costs more than all replicas that are ever needed under one commitment, or none.
func TestMixedCommitmentsCostNoMoreThanOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawn(t)
		q.Held = nil
		s, err := Cheapest(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range q.Kinds {
			most, needed := 0, k.Fixed*float64(len(k.Needs))
			fixed := needed
			if k.Most > 0 {
				continue
			}
			for _, needs := range k.Needs {
				most = max(most, len(needs))
				for _, share := range needs {
					needed += share * k.Monthly
				}
			}
			least := needed
			for _, term := range k.Terms {
				if term.Most > 0 && term.Most < most {
					continue
				}
				times := math.Ceil(float64(len(k.Needs)) / float64(term.Months))
				least = min(least, fixed+float64(most)*times*float64(term.Months)*term.Monthly)
			}
			if s.Cost > least+1e-9 {
				t.Fatalf("%g, and one commitment of %s costs %g: %+v", s.Cost, k.Name, least, s)
			}
		}
	})
}

// A thousand replicas of four kinds over five years take a second or so.
func BenchmarkFiveYears(b *testing.B) {
	q := &Question{}
	for k := range 4 {
		kind := Kind{Name: fmt.Sprint(k), Monthly: 100 + 10*float64(k),
			Terms: []Term{{Months: 12, Monthly: 75 + 8*float64(k)},
				{Months: 36, Monthly: 55 + 6*float64(k)}}}
		for m := range 60 {
			var needs []float64
			for i := range 200 + 15*m {
				needs = append(needs, 1-float64(24*i/(200+15*m))/24)
			}
			kind.Needs = append(kind.Needs, needs)
		}
		q.Kinds = append(q.Kinds, kind)
	}
	q.Beside = func(older, n, newer int) (list [][]float64) {
		for m := range 60 {
			list = append(list, Always(max(1, 200+15*m-n)))
		}
		return list
	}
	for b.Loop() {
		if _, err := Cheapest(q); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleCheapest() {
	day := []float64{1, 1, 0.25} // the third replica is needed for six hours a day
	s, _ := Cheapest(&Question{
		Kinds: []Kind{
			{Name: "H100", Needs: [][]float64{day, day, day, day, Always(3), Always(4)},
				Monthly: 100, Terms: []Term{{Months: 6, Monthly: 60}}},
			{Name: "B200", Needs: slices.Repeat([][]float64{Always(1)}, 6), Monthly: 500},
		},
		Change: 50,
	})
	for _, r := range s.Rentals {
		fmt.Printf("months %d to %d: kind %d, term %d, %d × for %g\n", r.From, r.To-1, r.Kind,
			r.Term, r.Replicas, r.Cost)
	}
	fmt.Println(s.Cost, s.Serving)
	// Output:
	// months 0 to 5: kind 0, term 0, 2 × for 720
	// months 0 to 5: kind 0, term -1, 1 × for 300
	// months 5 to 5: kind 0, term -1, 1 × for 100
	// 1120 [0 0 0 0 0 0]
}
