package observed

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// WriteWorkload writes the traffic of the last run as the workload of a scenario: its trace where
// requests are known one by one, else its rate and the distributions of its lengths, as far as they
// are known.
func (o *Observed) WriteWorkload(to io.Writer) error {
	w := bufio.NewWriter(to)
	r := o.trafficRun()
	if r == nil {
		return nil
	}
	fmt.Fprintf(w, "# Traffic of the run %q.\nworkload:\n", r.Name)
	if len(r.Requests) > 0 {
		fmt.Fprintf(w, "  trace: %s\n", TraceFile)
		if r.waits() {
			r.Load.writeLoop(w)
		}
		return w.Flush()
	}
	l := r.Load
	if l.Rate > 0 {
		fmt.Fprintf(w, "  rate: %s/s\n", strconv.FormatFloat(l.Rate, 'g', 6, 64))
	} else {
		l.writeLoop(w)
	}
	if l.PromptSpread == 0 && l.OutputSpread == 0 {
		fmt.Fprintf(w, "  # Only means are known: the spread of lengths is not.\n")
	}
	if shared := math.Round(l.Cached); shared >= 1 && shared < l.Prompt {
		fmt.Fprintf(w, "  # The cache had this much of a prompt on average. It is taken to be the "+
			"same text\n  # in all prompts; which prompts share which text is not known.\n"+
			"  prefix: {groups: 1, tokens: %.0f}\n", shared)
		l.Prompt -= shared
	}
	fmt.Fprintf(w, "  prompt: %s\n  output: %s\n", length(l.Prompt, l.PromptSpread),
		length(l.Output, l.OutputSpread))
	if l.Requests > 0 {
		fmt.Fprintf(w, "  requests: %d\n", l.Requests)
	}
	return w.Flush()
}

// writeLoop writes the arrivals of a client that waits for answers. Load generators with a bound on
// the concurrency start with all of it at once.
func (l *Load) writeLoop(w io.Writer) {
	fmt.Fprintf(w, "  arrivals: {process: closed-loop, users: %d, start: together}\n",
		max(1, l.Concurrency))
}

// waits reports whether a limit of the client delayed most of the requests.
func (r *Run) waits() bool {
	late := 0
	for i := range r.Requests {
		if r.Requests[i].Start() > r.Requests[i].Arrival {
			late++
		}
	}
	return r.Load.Concurrency > 0 && 2*late > len(r.Requests)
}

// length returns the length of a scenario's workload with a mean and a spread; 0 means that the
// spread is not known.
func length(mean, spread float64) string {
	if spread > 0 {
		return fmt.Sprintf("{distribution: lognormal, mean: %.4g, cv: %.3g}", max(1, mean), spread)
	}
	return strconv.Itoa(max(1, int(mean+0.5)))
}

// trafficRun returns the last run with requests, or the last with a load; nil without one.
func (o *Observed) trafficRun() *Run {
	var found *Run
	for i := range o.Runs {
		r := &o.Runs[i]
		if len(r.Requests) > 0 || (found == nil || len(found.Requests) == 0) && r.Load.Prompt > 0 {
			found = r
		}
	}
	return found
}

// Traffic returns the rate and the mean lengths of the last run that says them; zero without one.
func (o *Observed) Traffic() Load {
	r := o.trafficRun()
	if r == nil {
		return Load{}
	}
	if len(r.Requests) == 0 {
		return r.Load
	}
	l, _ := r.described()
	return l
}

// Users returns the mean numbers of requests in flight that the run shows: one of the requests
// together, one of each interval, and of steps the sequences of a step with few and one with many.
func (r *Run) Users() (list []float64) {
	add := func(users float64) {
		if users > 0 {
			list = append(list, users)
		}
	}
	switch {
	case len(r.Requests) > 0:
		time := 0.0
		for i := range r.Requests {
			time += r.Requests[i].E2E
		}
		if last := r.Requests[len(r.Requests)-1].Start(); last > 0 {
			add(time / last)
		}
	case len(r.Intervals) > 0:
		for i := range r.Intervals {
			v := &r.Intervals[i]
			add(v.Requests / v.Seconds * v.E2E)
		}
	case len(r.Steps) > 0:
		var running []int
		for i := range r.Steps {
			running = append(running, r.Steps[i].Decodes)
		}
		slices.Sort(running)
		add(float64(running[len(running)/10]))
		add(float64(running[len(running)-1-len(running)/10]))
	default:
		add(cmp.Or(float64(r.Load.Concurrency), r.Load.Rate*r.Summary.E2E))
	}
	return list
}
