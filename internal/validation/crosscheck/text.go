package crosscheck

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// WriteText writes the comparison for people.
func (c *Comparison) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s: %s\n\n", c.Name, c.Title)
	fmt.Fprintf(t, "\tpredicted\texecuted\trange of %d runs\terror\t%s\n", c.Runs,
		realTimeColumn(c, "in real time"))
	for _, m := range c.Measures {
		name := m.Name
		if m.Unit != "" {
			name += " (" + m.Unit + ")"
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f – %.1f\t%+.1f %%\t%s\n", name, m.Predicted, m.Executed,
			m.Low, m.High, 100*m.Error,
			realTimeColumn(c, strconv.FormatFloat(m.RealTime, 'f', 1, 64)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nSingle steps (%d): error %.1f %% (median), %.1f %% (p90), %+.1f %% (sum); "+
		"%d took %.0f %% longer than is typical\n",
		c.Steps.Count, 100*c.Steps.Median, 100*c.Steps.P90, 100*c.Steps.Bias, c.Steps.Outliers,
		100*(OutlierLimit-1))
	for i, n := range c.Noise {
		fmt.Fprintf(w, "Run %d: the machine's speed changed by %.1f %%; other programs used %.0f "+
			"%% of the processors, a hypervisor took %.1f %%\n",
			i+1, 100*n.Drift(), 100*n.Others, 100*n.Stolen)
	}
	verdict := "The machine was quiet enough.\n"
	if c.Invalid != "" {
		verdict = "This comparison does not count: " + c.Invalid + ".\n"
	}
	_, err := io.WriteString(w, verdict)
	return err
}

// realTimeColumn returns the text where the scenario ran in real time too.
func realTimeColumn(c *Comparison, text string) string {
	if c.RealTime == nil {
		return ""
	}
	return text + "\t"
}

// Grid is a number of comparisons, and how many of them keep the limits that the project sets
// itself.
type Grid struct {
	Comparisons []*Comparison `json:"comparisons"`
	// Valid is the number of comparisons that count. Of those, MeansKept have means of TTFT, TPOT
	// and E2E and a throughput within MeanLimit, TailsKept all three p99 within TailLimit, and
	// StepsKept a median error of single steps within StepLimit.
	Valid     int `json:"valid"`
	MeansKept int `json:"means_kept"`
	TailsKept int `json:"tails_kept"`
	StepsKept int `json:"steps_kept"`
}

// The limits of errors.
const (
	MeanLimit = 0.05
	TailLimit = 0.10
	StepLimit = 0.06
)

// Summarise counts.
func Summarise(list []*Comparison) *Grid {
	g := &Grid{Comparisons: list}
	for _, c := range list {
		if c.Invalid != "" {
			continue
		}
		g.Valid++
		if c.worst("TTFT mean", "TPOT mean", "E2E mean", "output throughput") <= MeanLimit {
			g.MeansKept++
		}
		if c.worst("TTFT p99", "TPOT p99", "E2E p99") <= TailLimit {
			g.TailsKept++
		}
		if c.Steps.Median <= StepLimit {
			g.StepsKept++
		}
	}
	return g
}

// worst returns the largest absolute error of some measures.
func (c *Comparison) worst(names ...string) float64 {
	worst := 0.0
	for _, name := range names {
		worst = max(worst, math.Abs(c.Measure(name).Error))
	}
	return worst
}

// WriteText writes a line for each comparison.
func (g *Grid) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "error in %\tTTFT\tTPOT\tE2E\trate\tTTFT p99\tTPOT p99\tE2E p99\tstep\tnoise\t")
	for _, c := range g.Comparisons {
		fmt.Fprint(t, c.Name, "\t")
		for _, name := range []string{"TTFT mean", "TPOT mean", "E2E mean", "output throughput",
			"TTFT p99", "TPOT p99", "E2E p99"} {
			fmt.Fprintf(t, "%+.1f\t", 100*c.Measure(name).Error)
		}
		drift := 0.0
		for _, n := range c.Noise {
			drift = max(drift, n.Drift())
		}
		mark := ""
		if c.Invalid != "" {
			mark = " (void)"
		}
		fmt.Fprintf(t, "%.1f\t%.1f%s\t\n", 100*c.Steps.Median, 100*drift, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nOf %d scenarios %d count. Means of TTFT, TPOT, E2E and "+
		"throughput within %.0f %%: %d. All p99 within %.0f %%: %d. Median step within %.0f "+
		"%%: %d.\n",
		len(g.Comparisons), g.Valid, 100*MeanLimit, g.MeansKept, 100*TailLimit, g.TailsKept,
		100*StepLimit, g.StepsKept)
	return err
}
