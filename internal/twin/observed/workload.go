package observed

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// WriteWorkload writes the traffic of the last run as the workload of a scenario: its trace where
// requests are known one by one, else its rate and its mean lengths.
func (o *Observed) WriteWorkload(to io.Writer) error {
	w := bufio.NewWriter(to)
	r := o.trafficRun()
	if r == nil {
		return nil
	}
	fmt.Fprintf(w, "# Traffic of the run %q.\nworkload:\n", r.Name)
	if len(r.Requests) > 0 {
		fmt.Fprintf(w, "  trace: %s\n", TraceFile)
		return w.Flush()
	}
	l := &r.Load
	if l.Rate > 0 {
		fmt.Fprintf(w, "  rate: %s/s\n", strconv.FormatFloat(l.Rate, 'g', 6, 64))
	} else {
		fmt.Fprintf(w, "  arrivals: {process: closed-loop, users: %d}\n", max(1, l.Concurrency))
	}
	fmt.Fprintf(w, "  # Only means are known: the spread of lengths is not.\n")
	fmt.Fprintf(w, "  prompt: %d\n  output: %d\n", max(1, int(l.Prompt+0.5)),
		max(1, int(l.Output+0.5)))
	if l.Requests > 0 {
		fmt.Fprintf(w, "  requests: %d\n", l.Requests)
	}
	return w.Flush()
}

// trafficRun returns the last run with requests, or the last with a load; nil for none.
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

// Traffic returns the rate and the mean lengths of the last run that says them; zero for none.
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
