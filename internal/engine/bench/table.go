package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes results for people: shares are of what the probe reached in the same run.
func WriteTable(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "phase\tthreads\tbatch\ttokens\tstep "+
		"ms\ttokens/s\tGB/s\tshare\tGFLOP/s\tshare\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f\t%.0f\t%.1f\t%.0f %%\t%.0f\t%.0f %%\t\n", r.Phase,
			r.Threads, r.Batch, r.Tokens,
			1e3*r.StepTime, r.Rate, r.Bandwidth/1e9, 100*r.BandwidthShare, r.FLOPRate/1e9,
			100*r.FLOPShare)
	}
	return t.Flush()
}
