package training

// Scaled is a job on another number of accelerators.
type Scaled struct {
	GPUs   int     `json:"gpus"`
	Layout Layout  `json:"layout"`
	Step   Step    `json:"step"`
	Total  float64 `json:"step_s"`
}

// Scaling returns the job on an eighth, a quarter and half of its accelerators, on all, and on two,
// four and eight times as many, with the same batch. Dimensions of the layout that are not given
// are chosen for each; numbers of accelerators on which no layout fits are left out.
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
