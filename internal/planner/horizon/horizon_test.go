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
		kind := Kind{Name: fmt.Sprint(k)}
		n := 0
		for range months {
			n += rapid.IntRange(0, 1).Draw(t, "more")
			kind.Needs = append(kind.Needs, n)
		}
		for range rapid.IntRange(1, 2).Draw(t, "terms") {
			kind.Terms = append(kind.Terms, Term{rapid.IntRange(1, 4).Draw(t, "length"),
				float64(rapid.IntRange(0, 9).Draw(t, "monthly"))})
		}
		q.Kinds = append(q.Kinds, kind)
		if rapid.Bool().Draw(t, "held") {
			q.Held = append(q.Held, Rental{Kind: k, Replicas: rapid.IntRange(1, 2).Draw(t, "n"),
				To: rapid.IntRange(1, months).Draw(t, "until")})
		}
	}
	return q
}

// exhaustive returns the least cost by trying every kind in every month, and every number of
// replicas of every term, from the replicas that are there.
func exhaustive(q *Question) float64 {
	months := len(q.Kinds[0].Needs)
	known := map[string]float64{}
	var from func(month, serving, left int, ends [][]int) float64
	// rent tries all ways to have the needed replicas of a kind in a month.
	var rent func(month, kind, left int, ends [][]int) float64
	rent = func(month, kind, left int, ends [][]int) float64 {
		there := 0
		for _, e := range ends[kind] {
			if e > month {
				there++
			}
		}
		if there >= q.Kinds[kind].Needs[month] {
			return from(month+1, kind, left, ends)
		}
		least := math.Inf(1)
		for _, t := range q.Kinds[kind].Terms {
			more := slices.Clone(ends)
			more[kind] = append(slices.Clone(ends[kind]), month+t.Months)
			slices.Sort(more[kind])
			least = min(least, float64(t.Months)*t.Monthly+rent(month, kind, left, more))
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
			case left>>kind&1 == 1:
			case serving < 0 || serving == kind:
				least = min(least, rent(month, kind, left, ends))
			default:
				least = min(least, q.Change+rent(month, kind, left|1<<serving, ends))
			}
		}
		known[key] = least
		return least
	}
	ends := make([][]int, len(q.Kinds))
	for _, r := range q.Held {
		for range r.Replicas {
			ends[r.Kind] = append(ends[r.Kind], r.To)
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
		if want := exhaustive(q); math.Abs(s.Cost-want) > 1e-9 {
			t.Fatalf("%g, and %g is possible: %+v", s.Cost, want, s)
		}
		sum, changes := 0.0, 0
		for m, kind := range s.Serving {
			there := 0
			for _, r := range slices.Concat(s.Rentals, q.Held) {
				if r.Kind == kind && r.From <= m && m < r.To {
					there += r.Replicas
				}
			}
			if there < q.Kinds[kind].Needs[m] {
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

// More kinds, terms and held replicas never cost more, and more needs never less.
func TestMoreChoiceCostsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawn(t)
		less := *q
		less.Kinds = slices.Clone(q.Kinds)
		k := &less.Kinds[0]
		switch rapid.IntRange(0, 3).Draw(t, "without") {
		case 0:
			less.Held = nil
		case 1:
			k.Terms = k.Terms[:1]
		case 2:
			k.Needs = slices.Clone(k.Needs)
			for m := range k.Needs {
				k.Needs[m]++
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
	monthly := []Term{{1, 10}}
	for _, c := range []struct {
		want  string
		kinds []Kind
	}{
		{"0 kinds of servers", nil},
		{"become fewer", []Kind{{"a", []int{2, 1}, monthly}}},
		{"needs of 1 months, want 2", []Kind{{"a", []int{1, 2}, monthly},
			{"b", []int{1}, monthly}}},
		{"has no term", []Kind{{"a", []int{1}, nil}}},
		{"a term of 0 months", []Kind{{"a", []int{1}, []Term{{0, 1}}}}},
		{"for NaN a month", []Kind{{"a", []int{1}, []Term{{1, math.NaN()}}}}},
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
				needs[m] = needs[m-1] + rapid.IntRange(0, 1).Draw(t, "more")
			}
			other.Kinds[k].Needs = needs
		}
		if r, err := s.Regret(&other); err != nil || r < -1e-9 {
			t.Fatalf("a regret of %g (%v): %+v", r, err, s)
		}
	})
}

func ExampleCheapest() {
	s, _ := Cheapest(&Question{
		Kinds: []Kind{
			{"H100", []int{1, 1, 2, 2, 3, 4}, []Term{{1, 100}, {6, 60}}},
			{"B200", []int{1, 1, 1, 1, 1, 2}, []Term{{1, 210}}},
		},
		Change: 50,
	})
	for _, r := range s.Rentals {
		fmt.Printf("months %d to %d: kind %d, term %d, %d × for %g\n", r.From, r.To-1, r.Kind,
			r.Term, r.Replicas, r.Cost)
	}
	fmt.Println(s.Cost, s.Serving)
	// Output:
	// months 0 to 5: kind 0, term 1, 1 × for 360
	// months 2 to 7: kind 0, term 1, 1 × for 360
	// months 4 to 5: kind 0, term 0, 1 × for 200
	// months 5 to 5: kind 0, term 0, 1 × for 100
	// 1020 [0 0 0 0 0 0]
}
