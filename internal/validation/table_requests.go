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
func readRequests(c *catalogs, t *table) []experiment {
	spread, dtype := degrees{tensor: 1, data: 1}, "bf16"
	for _, part := range nameParts(t.file)[3:] {
		if l, ok := parseDegrees(part); ok {
			spread = l
		} else if _, err := parseDType(part); err == nil {
			dtype = part
		}
	}
	named := t.whole()
	v := (&rowSpec{format: func(*row) string { return dtype }}).trial(c, named)
	if named.err != nil {
		t.skip("%v", named.err)
		return nil
	}
	v.engineTimes, v.Parallelism.Tensor = true, spread.tensor
	spread.apply(&v.deployment)
	v.maxSequences, v.tokenBudget = 128, 2048
	arrivals := "arrival_s"
	if t.has("sent_s") { // the client's clock, and the engine's defaults
		arrivals, v.engineTimes, v.maxSequences, v.tokenBudget = "sent_s", false, 256, 8192
	}
	v.maxSequences *= spread.data // limits are for each of the ranks
	v.tokenBudget *= spread.data
	v.place = accuracy.Place{Group: v.group(), File: t.file, Line: 2}
	var requests []sim.Request
	times := map[string][]float64{}
	t.each(func(r *row) {
		arrival, first, last := r.number(arrivals), r.number("first_token_s"),
			r.number("last_token_s")
		request := sim.Request{Arrival: sim.Seconds(arrival), Prompt: r.count("prompt_tokens"),
			Output: r.count("output_tokens")}
		if r.err == nil && (first < arrival || last < first) {
			r.fail(fmt.Errorf("times go backwards: arrival %g s, first token %g s, last token %g s",
				arrival, first, last))
		}
		if r.err != nil {
			return
		}
		requests = append(requests, request)
		times["TTFT"] = append(times["TTFT"], 1000*(first-arrival))
		times["E2E"] = append(times["E2E"], 1000*(last-arrival))
		if request.Output > 1 {
			times["TPOT"] = append(times["TPOT"], 1000*(last-first)/float64(request.Output-1))
		}
	})
	if len(requests) == 0 {
		return nil
	}
	slices.SortStableFunc(requests, byArrival)
	if t.has("sent_s") && inFlight(requests, times["E2E"]) >= clientLimit {
		t.skip("requests of a closed loop: the client had as many in flight as it may")
		return nil
	}
	v.place.Name = fmt.Sprintf("%d requests", len(requests))
	end := requests[len(requests)-1].Arrival + 1
	v.sent = &sending{requests: wholeRun(requests), counts: arrivedIn(0, end)}
	for _, name := range []string{"TTFT", "TPOT", "E2E"} {
		v.measured = append(v.measured, statisticsOf(name, times[name])...)
	}
	return []experiment{v}
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

// statisticsOf returns mean and percentiles as measured figures. Fewer than 100 values have no 99th
// percentile but their largest, which is the first request's, before the server is warm.
func statisticsOf(name string, values []float64) []accuracy.Measurement {
	all := map[string]float64{}
	addStatistics(all, name, values)
	var list []accuracy.Measurement
	for _, statistic := range []string{" mean", " p50", " p90", " p99"} {
		if v := all[name+statistic]; v > 0 && (statistic != " p99" || len(values) >= 100) {
			list = append(list, accuracy.Measurement{Quantity: name + statistic, Unit: "ms",
				Value: v})
		}
	}
	return list
}
