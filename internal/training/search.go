package training

import (
	"cmp"
	"fmt"
)

// Candidate is a layout with its time and memory.
type Candidate struct {
	Layout Layout
	Step   float64
	Memory float64
}

// Search is what Best may choose. What the job's layout gives for the others is kept.
type Search struct {
	// Fixed is the dimensions that are not to be changed, by their names: tensor, context,
	// pipeline, data, expert, micro-batch, virtual, zero and recompute.
	Fixed map[string]bool
}

// Best returns the layout with the shortest step that fits into memory. It passes over
// larger micro-batches than the first that does not fit, since memory grows with them. Ties go to
// the layout that is tried first, with fewer tensor ranks and fewer stages.
func (j *Job) Best(s Search) (Candidate, error) {
	return j.choose(s, true)
}

// choose tries layouts, all of them unless it may pass over layouts that cannot fit.
func (j *Job) choose(s Search, prune bool) (Candidate, error) {
	var best Candidate
	if err := j.checkNumbers(); err != nil {
		return best, err
	}
	least := 0.0
	tried := 0
	var refused error // the layout that was tried first
	counted := j.Model.Parameters()
	for _, l := range j.layouts(s) {
		for _, micro := range s.options("micro-batch", j.Layout.Micro, doubles(64)) {
			t := *j
			t.Layout, t.counted = l, &counted
			t.Layout.Micro = micro
			if err := t.Check(); err != nil {
				refused = cmp.Or(refused, err)
				continue
			}
			tried++
			memory := t.Memory()
			if least == 0 || memory.Total() < least {
				least = memory.Total()
			}
			if !memory.Fits() {
				if prune {
					break
				}
				continue
			}
			step := t.Step()
			if seconds := step.Total(); best.Step == 0 || seconds < best.Step {
				best = Candidate{t.Layout, seconds, memory.Total()}
			}
		}
	}
	switch {
	case tried == 0:
		return best, j.whyNone(s, refused)
	case best.Step == 0:
		return best, fmt.Errorf("no layout fits: the smallest of %d needs %s of the %s that %s "+
			"has; %s", tried, gib(least), gib(j.Machine.Accelerator.Memory),
			j.Machine.Accelerator.Name, j.wouldFit(least))
	}
	return best, nil
}

// whyNone says why no layout can be tried: dimensions that are given and do not divide the
// accelerators, or what the first layout was refused for.
func (j *Job) whyNone(s Search, refused error) error {
	if refused != nil {
		return fmt.Errorf("no layout divides the accelerators, the heads, the experts and the "+
			"batch; the first one that was tried: %w", refused)
	}
	l := &j.Layout
	for _, d := range []struct {
		name string
		n    int
	}{{"tensor", l.Tensor}, {"context", l.Context}, {"pipeline", l.Pipeline}, {"data", l.Data}} {
		if s.Fixed[d.name] && j.GPUs%d.n != 0 {
			return fmt.Errorf("%s: %d does not divide the %d accelerators", d.name, d.n, j.GPUs)
		}
	}
	return fmt.Errorf("the dimensions that are given do not divide the %d accelerators; leave "+
		"more of them free, or change gpus", j.GPUs)
}

// wouldFit says what to change so that the job fits, where its smallest layout needs bytes.
func (j *Job) wouldFit(bytes float64) string {
	states := bytes - outside
	room := j.Machine.Accelerator.Memory - outside
	if room <= 0 {
		return "the accelerator is too small for any program"
	}
	n := j.GPUs
	for float64(n) < float64(j.GPUs)*states/room {
		n *= 2
	}
	return fmt.Sprintf("about %d accelerators would do, or an optimizer that keeps less, such as "+
		"adamw-8bit-pure-16bit", n)
}

// layouts lists the layouts that a search tries, without their micro-batches.
func (j *Job) layouts(s Search) []Layout {
	var list []Layout
	given := &j.Layout
	for _, tensor := range s.options("tensor", given.Tensor, doubles(min(64, j.GPUs))) {
		for _, context := range s.options("context", given.Context, []int{1}) {
			for _, pipeline := range s.options("pipeline", given.Pipeline,
				divisors(min(j.GPUs, j.Model.Layers()), j.GPUs)) {
				if tensor == 0 || context == 0 || pipeline == 0 ||
					j.GPUs%(tensor*context*pipeline) != 0 {
					continue
				}
				l := *given
				l.Tensor, l.Context, l.Pipeline = tensor, context, pipeline
				l.Data = j.GPUs / (tensor * context * pipeline)
				if s.Fixed["data"] && l.Data != given.Data {
					continue
				}
				list = append(list, j.inner(s, l)...)
			}
		}
	}
	return list
}

// inner lists what may be chosen within the dimensions of a layout.
func (j *Job) inner(s Search, l Layout) []Layout {
	var list []Layout
	spread := divisors(experts(j.Model), l.Tensor*l.Context*l.Data)
	for _, expert := range s.options("expert", j.Layout.Expert, spread) {
		for _, virtual := range s.options("virtual", j.Layout.Virtual, j.chunks(l.Pipeline)) {
			for _, zero := range s.options("zero", j.Layout.ZeRO, []int{1, 2, 3}) {
				for _, recompute := range []Recompute{NoRecompute, Selective, Full} {
					if s.Fixed["recompute"] && recompute != j.Layout.Recompute ||
						recompute == Selective && j.Attention != Stored &&
							!s.Fixed["recompute"] {
						continue // flash attention always computes scores again
					}
					l.Expert, l.Virtual, l.ZeRO, l.Recompute = expert, virtual, zero, recompute
					list = append(list, l)
				}
			}
		}
	}
	return list
}

// chunks lists how many chunks a stage may have: as Check accepts them, up to 8.
func (j *Job) chunks(pipeline int) []int {
	list := []int{1}
	if pipeline == 1 || j.Layout.Schedule == ZeroBubble {
		return list
	}
	for v := 2; v <= 8; v++ {
		if pipeline*v <= j.Model.Layers()+endLayers {
			list = append(list, v)
		}
	}
	return list
}

// options returns the given value of a dimension that is fixed, or all.
func (s *Search) options(name string, given int, all []int) []int {
	if s.Fixed[name] {
		return []int{given}
	}
	return all
}

// doubles lists the powers of two up to n.
func doubles(n int) []int {
	var list []int
	for i := 1; i <= n; i *= 2 {
		list = append(list, i)
	}
	return list
}

// divisors lists the numbers up to n that divide of.
func divisors(n, of int) []int {
	var list []int
	for i := 1; i <= n; i++ {
		if of%i == 0 {
			list = append(list, i)
		}
	}
	return list
}
