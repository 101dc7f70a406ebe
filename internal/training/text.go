package training

import (
	"fmt"
	"strings"
)

// gib writes bytes in GiB.
func gib(bytes float64) string { return fmt.Sprintf("%.1f GiB", bytes/(1<<30)) }

// Text tells people the cost of a job, in lines of any width.
func (c *Cost) Text(j *Job) string {
	var b strings.Builder
	l := &j.Layout
	fmt.Fprintf(&b, "%s on %d x %s, %d sequences of %d tokens a step, %s, %s\n", j.Model.Name,
		j.GPUs, j.Machine.Accelerator.Name, j.Batch, j.Seq, j.Precision, j.Optimizer.Name)
	fmt.Fprintf(&b, "layout: tensor %d, context %d, pipeline %d (%d chunks), data %d, expert %d, "+
		"micro-batch %d, zero %d, recompute %s\n\n", l.Tensor, l.Context, l.Pipeline, l.Virtual,
		l.Data, l.Expert, l.Micro, l.ZeRO, l.Recompute)
	fmt.Fprintf(&b, "Memory of one accelerator (%s stage)\n", c.Memory.Stage)
	for _, line := range c.Memory.Lines {
		fmt.Fprintf(&b, "  %-18s %12s  %s\n", line.Name, gib(line.Bytes), line.Why)
	}
	fmt.Fprintf(&b, "  %-18s %12s  of %s\n\n", "total", gib(c.Memory.Total()),
		gib(c.Memory.Capacity))
	fmt.Fprintf(&b, "Time of a step: %.3g s\n", c.StepSeconds)
	for _, part := range c.Step.Parts() {
		if part.Seconds > 0 {
			fmt.Fprintf(&b, "  %-18s %10.4g s %5.1f %%\n", part.Name, part.Seconds,
				100*part.Seconds/c.StepSeconds)
		}
	}
	fmt.Fprintf(&b, "\n%.4g tokens/s, %.4g a GPU; MFU %.1f %%, HFU %.1f %% of the peak in %s\n",
		c.TokensPerSecond, c.TokensPerSecond/float64(j.GPUs), 100*c.MFU, 100*c.HFU, c.PeakFormat)
	fmt.Fprintf(&b, "%.4g FLOP a token; 6N is %.4g\n", c.FLOPs, c.SixN)
	for _, why := range c.Why {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	c.writeRun(&b, j)
	if !c.Fitted {
		fmt.Fprintf(&b, "\nNo published run on %s in %s was fitted: rates are those of a "+
			"relative.\n", j.Machine.Accelerator.Name, j.Precision)
	}
	return b.String()
}

// writeRun writes what the whole run takes.
func (c *Cost) writeRun(b *strings.Builder, j *Job) {
	if j.Tokens == 0 {
		return
	}
	f := &c.Failures
	fmt.Fprintf(b, "\n%.4g tokens are %.4g steps: %.3g days, %.4g GPU hours", j.Tokens, c.Steps,
		c.Days, c.Days*24*float64(j.GPUs))
	if c.Dollars > 0 {
		fmt.Fprintf(b, ", %s", c.Currency.Format(fmt.Sprintf("%.4g", c.Dollars)))
	}
	fmt.Fprintf(b, ", %.4g kWh at most\n", c.KWh)
	fmt.Fprintf(b, "Failures: one every %.3g h; a checkpoint takes %.3g s, best every %.3g min; "+
		"goodput %.1f %%\n", f.MTBF/3600, f.Checkpoint, f.Interval/60, 100*f.Goodput)
}

// Part is a part of the time of a step.
type Part struct {
	Name    string
	Seconds float64
}

// Parts lists the parts of a step, in the order of the fields.
func (s *Step) Parts() []Part {
	return []Part{{"forward", s.Forward}, {"backward", s.Backward}, {"recompute", s.Recompute},
		{"bubble", s.Bubble}, {"tensor exchange", s.Tensor}, {"context exchange", s.Context},
		{"expert exchange", s.Expert}, {"pipeline exchange", s.Pipeline},
		{"data exchange", s.Data}, {"optimizer", s.Optimizer}}
}

// Fit returns an error where a job does not fit: by how much, and what would.
func (j *Job) Fit() error {
	m := j.Memory()
	if m.Fits() {
		return nil
	}
	s := Search{Fixed: map[string]bool{"expert": j.Layout.Expert > 1}}
	best, err := j.Best(s)
	words := ""
	if err == nil {
		l := best.Layout
		words = fmt.Sprintf("tensor %d, pipeline %d, data %d, micro-batch %d, zero %d, recompute "+
			"%s would, in %s", l.Tensor, l.Pipeline, l.Data, l.Micro, l.ZeRO, l.Recompute,
			gib(best.Memory))
	} else {
		words = err.Error()
	}
	largest := m.Lines[0]
	for _, line := range m.Lines {
		if line.Bytes > largest.Bytes {
			largest = line
		}
	}
	return fmt.Errorf("the job needs %s on one %s, %s more than the %s that it has, of which %s "+
		"take %s; %s", gib(m.Total()), j.Machine.Accelerator.Name,
		gib(m.Total()-m.Capacity), gib(m.Capacity), largest.Name, gib(largest.Bytes), words)
}
