package validation

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// readRequests reads a run that is sent again request by request, with the times at which the
// engine (not the client) saw them. The file's name may also state the layout and the number
// format: GPU__MODEL__tp2__fp8.
func readRequests(c *catalogs, t *table) []*trial {
	spread := degrees{tensor: 1, data: 1}
	for _, part := range nameParts(t.file)[3:] {
		if l, ok := parseDegrees(part); ok {
			spread = l
		} else if _, err := parseDType(part); err == nil {
			t.stated["dtype"] = part
		}
	}
	named := t.whole()
	v := c.trial(named)
	if named.err != nil {
		t.skip("%v", named.err)
		return nil
	}
	v.engineTimes, v.Parallelism.Tensor = true, spread.tensor
	spread.apply(&v.deployment)
	v.maxSequences, v.tokenBudget = 128, 2048
	if t.has("sent_s") { // the client's clock, and the engine's defaults
		v.engineTimes, v.maxSequences, v.tokenBudget = false, 256, 8192
	}
	v.maxSequences *= spread.data // limits are for each of the ranks
	v.tokenBudget *= spread.data
	v.place = accuracy.Place{Group: v.group(), File: t.file, Line: 2}
	log := t.logged(false)
	if len(log.requests) == 0 {
		return nil
	}
	if t.has("sent_s") && inFlight(log.requests, log.times["E2E"]) >= clientLimit {
		t.skip("requests of a closed loop: the client had as many in flight as it may")
		return nil
	}
	v.place.Name = fmt.Sprintf("%d requests", len(log.requests))
	end := log.requests[len(log.requests)-1].Arrival + 1
	v.sent = &sending{requests: wholeRun(log.requests), counts: func(arrival sim.Time) bool {
		return arrival < end && !log.silent[arrival]
	}}
	v.measured = log.measured()
	return []*trial{v}
}

// inFlight returns the largest number of requests in flight, given in order of arrival with their
// latencies in ms.
func inFlight(requests []sim.Request, latencies []float64) int {
	most := 0
	var ends []sim.Time
	for i := range requests {
		now := requests[i].Arrival
		ends = slices.DeleteFunc(ends, func(end sim.Time) bool { return end <= now })
		ends = append(ends, now+sim.Seconds(latencies[i]/1000))
		most = max(most, len(ends))
	}
	return most
}

// runLength is the number of requests of each of these runs. Of some the table has the first ones
// only.
const runLength = 300

// wholeRun adds the requests that a table leaves out: they are taken to arrive like those it has,
// one after another. They load the server and are not compared.
func wholeRun(first []sim.Request) []sim.Request {
	n, last := len(first), first[len(first)-1].Arrival
	gap := last / sim.Time(max(1, n-1))
	all := slices.Clone(first)
	for i := n; i < runLength; i++ {
		again := first[i%n]
		again.Arrival += (last + gap) * sim.Time(i/n)
		all = append(all, again)
	}
	return all
}
