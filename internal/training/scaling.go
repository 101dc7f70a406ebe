package training

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
)

// Scaled is a job on another number of accelerators.
type Scaled struct {
	GPUs   int     `json:"gpus"`
	Layout Layout  `json:"layout"`
	Step   Step    `json:"step"`
	Total  float64 `json:"step_s"`
}

// Scaling returns the job on an eighth, a quarter and half of its accelerators, on all, and on two,
// four and eight times their number, with the same batch. Dimensions of the layout that are not
// given are chosen for each; numbers of accelerators on which no layout fits are left out.
func (j *Job) Scaling(given map[string]bool) []Scaled {
	var list []Scaled
	for n := 1; n <= 64; n *= 2 {
		if j.GPUs*n%8 != 0 {
			continue
		}
		t := *j
		t.GPUs = j.GPUs * n / 8
		if t.Fill(given) != nil {
			continue
		}
		step := t.Step()
		list = append(list, Scaled{t.GPUs, t.Layout, step, step.Total()})
	}
	return list
}

// Share is what a part of a step takes on several numbers of accelerators, in accelerators times
// seconds.
type Share struct {
	Name string
	Y    []float64
}

// Shares names the numbers of accelerators, and returns the parts that take a hundredth of any of
// their steps; the others are one part together. Steps are equally long in sum where twice the
// accelerators take half the time.
func Shares(scaling []Scaled) (names []string, shares []Share) {
	rest := Share{Name: "the rest", Y: make([]float64, len(scaling))}
	var parts []Share
	for i := range scaling {
		s := &scaling[i]
		names = append(names, fmt.Sprintf("%d\n%s s", s.GPUs, units.Significant(s.Total, 3)))
		for k, part := range s.Step.Parts() {
			if i == 0 {
				parts = append(parts, Share{Name: part.Name,
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
			shares = append(shares, part)
			continue
		}
		for i, y := range part.Y {
			rest.Y[i] += y
		}
	}
	return names, append(shares, rest)
}
