package candidate

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// spotOffer returns an offer of servers that are preempted hourly times an hour. In the share
// together of these preemptions, all servers are preempted at once.
func spotOffer(hourly, together float64, notice, back sim.Time) *asked.Offer {
	return &asked.Offer{Term: asked.Spot, Interruptions: scenarios.PerSecond(hourly / 3600),
		Together: together, Notice: scenarios.Span(notice), Return: scenarios.Span(back)}
}

// A group is preempted as often as its spot servers together, and for as long as the slowest.
func TestInterruptionsOfOptions(t *testing.T) {
	often := spotOffer(3, 0.5, 60*sim.Second, 360*sim.Second)
	rarely := spotOffer(1, 0.1, 120*sim.Second, 240*sim.Second)
	stays := &asked.Offer{Term: asked.Reserved}
	for _, c := range []struct {
		first, second *asked.Offer
		want          Interruption
	}{
		{stays, nil, Interruption{}},
		{often, nil, Interruption{3.0 / 3600, 0.5, 60, 300}},
		{stays, rarely, Interruption{1.0 / 3600, 0.1, 120, 120}},
		{often, rarely, Interruption{4.0 / 3600, 0.4, 120, 300}},
		{rarely, often, Interruption{4.0 / 3600, 0.4, 60, 300}},
		{spotOffer(1, 0, 300*sim.Second, 60*sim.Second), nil, Interruption{1.0 / 3600, 0, 300, 0}},
	} {
		o := &Option{Parts: &Parts{Prefill: &Server{Offer: c.first}}}
		if c.second != nil {
			o.Decode = &Server{Offer: c.second}
		}
		got, taken := o.Interrupted()
		if !near(got.Rate, c.want.Rate) || !near(got.Together, c.want.Together) &&
			c.want.Rate > 0 || !near(got.Outage, c.want.Outage) || got.Notice != c.want.Notice ||
			taken != (c.want.Rate > 0) || o.IsSpot() != taken {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// A replica is preempted by itself or with all others.
func TestShareOfTimeAway(t *testing.T) {
	p := Interruption{Rate: 0.01, Together: 0.2, Outage: 100}
	all, alone := 0.2/1.2, 0.8/1.8
	if !near(p.All(), all) || !near(p.Alone(), alone) ||
		!near(p.Down(), 1-(1-all)*(1-alone)) {
		t.Errorf("all are away for %g, one for %g, %g in all", p.All(), p.Alone(), p.Down())
	}
	const want = "91% of the requests keep the SLO in the long run: a replica is preempted " +
		"36 times an hour (20% of the times with all others), and down for 54% of the time"
	if got := p.Words(0.91); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p = Interruption{Rate: 0.01}
	const apart = "91% of the requests keep the SLO in the long run: a replica is preempted " +
		"36 times an hour, and down for 0% of the time"
	if got := p.Words(0.91); got != apart {
		t.Errorf("%q, want %q", got, apart)
	}
}

// Absences are announced at the rate while a replica is there, begin after the notice, and do not
// overlap; those of all are the same for each. How many replicas there are does not matter.
func TestAbsencesAreDrawn(t *testing.T) {
	const within = 1e6
	for _, together := range []float64{0, 0.3, 1} {
		p := Interruption{Rate: 0.01, Together: together, Notice: 20, Outage: 80}
		lists := p.Draw(3, within, 7)
		fewer := p.Draw(1, within, 7)[0]
		if len(lists) != 3 || len(fewer) != len(lists[0]) || fewer[9] != lists[0][9] ||
			p.Draw(1, within, 8)[0][0] == fewer[0] {
			t.Fatalf("together %g: %d absences, %d in a smaller fleet", together, len(lists[0]),
				len(fewer))
		}
		down := 0.0
		for _, list := range lists {
			before := 0.0
			for _, a := range list {
				if a.From < before || a.To < a.From+80 || a.From < 20 || a.From-20 >= within+100 {
					t.Fatalf("%+v after %g", a, before)
				}
				before = a.To
				down += a.To - a.From
			}
		}
		// A cycle is 100 s there, 20 s of notice and 80 s away.
		own := func(rate float64) float64 { return rate * 80 / (1 + rate*100) }
		want := 1 - (1-own(0.01*together))*(1-own(0.01*(1-together)))
		if got := down / 3 / within; math.Abs(got/want-1) > 0.03 {
			t.Errorf("together %g: away for %g of the time, want %g", together, got, want)
		}
		if (lists[0][5] == lists[1][5]) != (together == 1) {
			t.Errorf("together %g: %v and %v", together, lists[0][5], lists[1][5])
		}
	}
	if got := (Interruption{Rate: 1e-9, Outage: 1}).Draw(2, 1, 7); len(got[0])+len(got[1]) > 0 {
		t.Errorf("within a second: %v", got)
	}
}
