package capacity

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/sim"
)

// interruption describes how replicas of an option are taken away and come back.
type interruption struct {
	rate float64 // how often each, 1/s
	// notice passes from the announcement until a replica is gone, and away is for how long then
	// none serves in its place, in seconds.
	notice, away float64
}

// interrupted returns how replicas of an option are taken away; false where they are not. Of a
// group, all replicas go together, as often as those of either kind would.
func (o *option) interrupted() (interruption, bool) {
	var all interruption
	for _, s := range o.servers() {
		if s.offer.Term != menu.Spot {
			continue
		}
		notice, back := sim.Time(s.offer.Notice).Seconds(), sim.Time(s.offer.Return).Seconds()
		all.rate += float64(s.offer.Interruptions)
		all.notice, all.away = notice, max(all.away, back-notice)
	}
	all.away = max(all.away, 0)
	return all, all.rate > 0
}

// down returns the share of the time for which a replica is away in the long run. It is that of a
// renewal process of times between interruptions, and absences.
func (p interruption) down() float64 {
	absent := float64(p.rate * p.away)
	return absent / (1 + absent)
}

// words says what interruptions leave of the SLO of a fleet that keeps it while they are none.
func (p interruption) words(kept float64) string {
	return fmt.Sprintf("%s of the requests keep the SLO in the long run: a replica is taken away "+
		"%s times an hour, and away for %s of the time", report.Percent(kept),
		report.Figure(3600*p.rate), report.Percent(p.down()))
}
