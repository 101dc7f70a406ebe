package training

import (
	"fmt"
	"strings"
)

// between says what is known to be left out.
const between = "The parts only: NeMo-RL's published on-policy steps on H100 take 1.8 to 2.4 " +
	"times as long as computed (docs/training.md), for what lies between the parts is not " +
	"computed.\n"

// Text tells people about a step, in lines of any width.
func (r *RLResult) Text(l *RLLoop) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, %s: %d prompts with %d answers each, %d accelerators learn and %d "+
		"answer\n\n", l.Algorithm, l.Model, l.Mode, l.Prompts, l.Samples, l.Job.GPUs, l.GPUs)
	fmt.Fprintf(&b, "Time of a step: %.4g s\n", r.Step)
	for _, part := range []struct {
		name    string
		seconds float64
	}{{"answers (simulated)", r.Generate}, {"forward passes", r.Score}, {"learning", r.Update},
		{"new weights", r.Transfer}} {
		fmt.Fprintf(&b, "  %-20s %9.4g s %5.1f %%\n", part.name, part.seconds,
			100*part.seconds/r.Step)
	}
	if l.Mode == OneStepOff {
		b.WriteString("  Answers of the next step run beside the other parts.\n")
	}
	fmt.Fprintf(&b, "\nThe last half of the answers takes %.4g s, the last tenth %.4g s. If all "+
		"were equally long, answers would take %.4g s: the tail costs %.4g s, %.1f %% of the "+
		"step.\n", r.Half, r.Tenth, r.Even, r.Generate-r.Even, 100*(r.Generate-r.Even)/r.Step)
	fmt.Fprintf(&b, "%.4g tokens a step, %.4g a second and accelerator", r.Tokens, r.Rate)
	if r.Idle > 0 {
		fmt.Fprintf(&b, "; accelerators wait for each other %.1f %% of the time", 100*r.Idle)
	}
	b.WriteString("\n")
	b.WriteString(between)
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	return b.String()
}
