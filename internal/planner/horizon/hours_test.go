package horizon

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// quarters are the parts of an hour in which exhaustive search runs or pauses.
const quarters = 4

// drawnPausing returns work of quarters of hours.
func drawnPausing(t *rapid.T) *Pausing {
	quarter := func(least, most int, name string) float64 {
		return float64(rapid.IntRange(least, most).Draw(t, name)) / quarters
	}
	p := &Pausing{Within: quarter(1, 14, "within"), Start: quarter(0, 2, "start")}
	p.Work = quarter(1, int(p.Within*quarters), "work")
	for range int(math.Ceil(p.Within)) {
		p.Prices = append(p.Prices, float64(rapid.IntRange(1, 5).Draw(t, "price")))
	}
	return p
}

// exhaustive compares all sets of quarters of hours.
func (p *Pausing) exhaustive() float64 {
	least := math.Inf(1)
	n := int(p.Within * quarters)
	for set := range 1 << n {
		cost, time, on := 0.0, 0.0, false
		for i := range n {
			runs := set>>i&1 == 1
			if runs {
				time += 1.0 / quarters
				cost += p.Prices[i/quarters] / quarters
			}
			if runs && !on {
				time -= p.Start
			}
			on = runs
		}
		if time >= p.Work {
			least = min(least, cost)
		}
	}
	return least
}

// The stretches cost what the cheapest of all sets of quarters of hours do, follow each other with
// pauses within the time, and are as long as the work and its starts.
func TestHoursAreTheCheapest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnPausing(t)
		runs, cost := p.Cheapest()
		if want := p.exhaustive(); math.Abs(cost-want) > 1e-6 && cost != want {
			t.Fatalf("%v for %g, and %g is possible", runs, cost, want)
		}
		sum, time, before := 0.0, 0.0, math.Inf(-1)
		for _, r := range runs {
			if r.From < 0 || r.From <= before || r.To <= r.From || r.To > p.Within+1e-6 {
				t.Fatalf("stretches %v within %g", runs, p.Within)
			}
			before, time = r.To, time+r.To-r.From-p.Start
			for h, price := range p.Prices {
				sum += price * max(0, min(r.To, float64(h+1))-max(r.From, float64(h)))
			}
		}
		if runs != nil && (math.Abs(sum-cost) > 1e-6 || math.Abs(time-p.Work) > 1e-6) {
			t.Fatalf("%v cost %g and do %g hours of work, want %g and %g", runs, sum, time, cost,
				p.Work)
		}
	})
}

// More time never costs more, nor does work that is less, starts faster, or costs less in an hour.
// With one price the work is done at once.
func TestMoreTimeCostsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnPausing(t)
		_, cost := p.Cheapest()
		more := *p
		switch rapid.IntRange(0, 3).Draw(t, "more") {
		case 0:
			more.Within += rapid.Float64Range(0, 5).Draw(t, "longer")
			for float64(len(more.Prices)) < more.Within {
				more.Prices = append(slices.Clone(more.Prices), 6)
			}
		case 1:
			more.Work *= rapid.Float64Range(0.1, 1).Draw(t, "less")
		case 2:
			more.Start *= rapid.Float64Range(0, 1).Draw(t, "faster")
		default:
			more.Prices = slices.Clone(p.Prices)
			more.Prices[rapid.IntRange(0, len(p.Prices)-1).Draw(t, "hour")] /= 2
		}
		if _, other := more.Cheapest(); other > cost+1e-6 {
			t.Fatalf("%+v costs %g, %+v %g", p, cost, more, other)
		}
		for h := range p.Prices {
			p.Prices[h] = 3
		}
		time := p.Work + p.Start
		runs, cost := p.Cheapest()
		if time > p.Within {
			if runs != nil {
				t.Fatalf("%v of work that takes %g", runs, time)
			}
		} else if len(runs) != 1 || runs[0].From != 0 || math.Abs(cost-3*time) > 1e-6 {
			t.Fatalf("with one price, %v for %g", runs, cost)
		}
	})
}

func ExamplePausing_Cheapest() {
	night := []float64{3, 3, 3, 1, 1, 2, 1, 1, 3}
	p := &Pausing{Prices: night, Within: 9, Work: 3.5, Start: 0.25}
	fmt.Println(p.Cheapest())
	p.Start = 0.75
	fmt.Println(p.Cheapest())
	// Output:
	// [{3 5} {6 8}] 4
	// [{3 7.25}] 5.25
}

// A week of prices that change each hour takes a second or so at most.
func BenchmarkWeekOfHours(b *testing.B) {
	p := &Pausing{Within: 168, Work: 60, Start: 0.1}
	for h := range 168 {
		p.Prices = append(p.Prices, 1+float64(h*7919%24)/24)
	}
	for b.Loop() {
		p.Cheapest()
	}
}
