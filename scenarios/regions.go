package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/sim"
)

// regions lists the regions of pools and of classes of requests, each once, those of pools first.
func (l *layout) regions() []string {
	var list []string
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for i := range l.written {
		add(l.written[i].Region)
	}
	for i := range l.file.Scenario.Workload.Classes {
		add(l.file.Scenario.Workload.Classes[i].Region)
	}
	return list
}

// regionOf returns the number of the region of users, which is the first where none is named.
func (l *layout) regionOf(field, name string) int {
	if name == "" {
		return 0
	}
	if !slices.ContainsFunc(l.written, func(p Pool) bool { return p.Region != "" }) {
		l.problem(field, "found %s, and no pool has a region; give each pool one", name)
		return 0
	}
	return slices.Index(l.regions(), name)
}

// trips returns how long messages take from users of each region to replicas of each pool and back;
// nil where there are no regions.
func (f *fleet) trips(w *Fleet) [][]sim.Time {
	pools := f.written
	list := make([][]sim.Time, max(1, len(pools)))
	named := slices.IndexFunc(pools, func(p Pool) bool { return p.Region != "" })
	if named < 0 {
		if len(w.Distances) > 0 {
			f.problem("fleet.distances", "have no meaning where no pool has a region")
		}
		for i := range list {
			list[i] = []sim.Time{sim.Time(w.RoundTrip)}
		}
		return list
	}
	if w.RoundTrip > 0 {
		f.problem("fleet.round-trip", "has no meaning where pools have regions; use distances")
	}
	names := f.regions()
	for i, d := range w.Distances {
		for _, end := range [][2]string{{"from", d.From}, {"to", d.To}} {
			if !slices.Contains(names, end[1]) {
				f.problem(fmt.Sprintf("fleet.distances.%d.%s", i, end[0]), "%s",
					nearest.Unknown("region", end[1], names))
			}
		}
	}
	for i := range pools {
		if pools[i].Region == "" {
			f.problem(fmt.Sprintf("fleet.pools.%d.region", i), "must be given: other pools have a "+
				"region")
		}
		for _, users := range names {
			list[i] = append(list[i], f.trip(w.Distances, users, pools[i].Region))
		}
	}
	return list
}

// trip returns how long a message takes between regions and back.
func (f *fleet) trip(distances []Distance, users, replicas string) sim.Time {
	for _, d := range distances {
		if d.From == users && d.To == replicas || d.From == replicas && d.To == users {
			return sim.Time(d.RoundTrip)
		}
	}
	if users != replicas && replicas != "" {
		f.problem("fleet.distances", "found none from %s to %s; give its round-trip", users,
			replicas)
	}
	return 0
}
