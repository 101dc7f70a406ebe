package training

import (
	"fmt"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/plots"
)

// ScalingPicture draws what a step of training takes on several numbers of accelerators, by part:
// the accelerators times the seconds of the step, so that bars are equally high where twice the
// accelerators take half the time.
func ScalingPicture(title string, scaling []Scaled) (*plot.Plot, error) {
	names, stack := stackOf(scaling)
	return plots.Stacked(title, "accelerators, and the time of a step on them",
		"accelerators x time of a step (s)", names, stack)
}

// stackOf returns the names of the bars, and the parts that take a hundredth of any of them;
// the others are one part together.
func stackOf(scaling []Scaled) (names []string, stack []plots.Series) {
	rest := plots.Series{Name: "the rest", Y: make([]float64, len(scaling))}
	var parts []plots.Series
	for i := range scaling {
		s := &scaling[i]
		names = append(names, fmt.Sprintf("%d\n%.3g s", s.GPUs, s.Total))
		for k, part := range s.Step.Parts() {
			if i == 0 {
				parts = append(parts, plots.Series{Name: part.Name,
					Y: make([]float64, len(scaling))})
			}
			parts[k].Y[i] = part.Seconds * float64(s.GPUs)
		}
	}
	for _, part := range parts {
		large := false
		for i, y := range part.Y {
			large = large || y >= 0.01*scaling[i].Total*float64(scaling[i].GPUs)
		}
		if large {
			stack = append(stack, part)
			continue
		}
		for i, y := range part.Y {
			rest.Y[i] += y
		}
	}
	return names, append(stack, rest)
}
