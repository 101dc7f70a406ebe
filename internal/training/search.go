package training

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
)

// Candidate is a layout with its time and memory.
type Candidate struct {
	Layout Layout
	Step   float64
	Memory float64
}

// Search names the dimensions that Best may choose. The others stay as in the job's layout.
type Search struct {
	// Fixed is the dimensions that are not to be changed, by their names: tensor, context,
	// pipeline, data, expert, micro-batch, virtual, zero and recompute.
	Fixed map[string]bool
}

// Best returns the layout with the shortest step that fits into memory. It passes over
// larger micro-batches than the first that does not fit, since memory grows with them. Ties go to
// the layout that is tried first, with fewer tensor ranks and fewer stages.
func (j *Job) Best(s Search) (Candidate, error) {
	return s.choose(j, true)
}

// choose tries layouts, all of them unless it may pass over layouts that cannot fit.
func (s *Search) choose(j *Job, prune bool) (Candidate, error) {
	var best Candidate
	if err := j.checkNumbers(); err != nil {
		return best, err
	}
	least := 0.0
	tried := 0
	var refused error // the layout that was tried first
	counted := j.Model.Parameters()
	for _, l := range s.layouts(j) {
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
		return best, s.whyNone(j, refused)
	case best.Step == 0:
		return best, fmt.Errorf("no layout fits: the smallest of %d needs %s of the %s that %s "+
			"has; %s", tried, gib(least), gib(j.Machine.Accelerator.Memory),
			j.Machine.Accelerator.Name, j.wouldFit(least))
	}
	return best, nil
}

// whyNone says why no layout can be tried: dimensions that are given and do not divide the
// accelerators, or what the first layout was refused for.
func (s *Search) whyNone(j *Job, refused error) error {
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
func (s *Search) layouts(j *Job) []Layout {
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
				list = append(list, s.inner(j, l)...)
			}
		}
	}
	return list
}

// inner lists what may be chosen within the dimensions of a layout.
func (s *Search) inner(j *Job, l Layout) []Layout {
	var list []Layout
	spread := divisors(experts(j.Model), l.Tensor*l.Context*l.Data)
	for _, expert := range s.options("expert", j.Layout.Expert, spread) {
		for _, virtual := range s.options("virtual", j.Layout.Virtual, s.chunks(j, l.Pipeline)) {
			for _, zero := range s.options("zero", j.Layout.ZeRO, []int{1, 2, 3}) {
				for _, recompute := range []Recompute{NoRecompute, Selective, Full} {
					if s.Fixed["recompute"] && recompute != j.Layout.Recompute ||
						recompute == Selective && j.Attention != Stored && !s.Fixed["recompute"] {
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
func (s *Search) chunks(j *Job, pipeline int) []int {
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

// Dimensions are the names of what Fill chooses where it is not given.
func Dimensions() []string {
	return []string{"tensor", "pipeline", "data", "expert", "micro-batch", "virtual", "zero",
		"recompute"}
}

// UsualBatch returns the sequences of a step of about four million tokens, whole ones for every
// accelerator.
func (j *Job) UsualBatch() int { return max(1, (4<<20)/(j.Seq*j.GPUs)) * j.GPUs }

// Fill chooses the dimensions of the layout that are not given, by their names, so that a step is
// shortest. What is given and does not go together, and a job that fits into no memory, are errors.
func (j *Job) Fill(given map[string]bool) error {
	fixed := map[string]bool{"context": true}
	for _, name := range Dimensions() {
		fixed[name] = given[name]
	}
	l := &j.Layout
	if fixed["tensor"] && fixed["pipeline"] && !fixed["data"] && l.Tensor > 0 &&
		l.Pipeline > 0 && l.Context > 0 {
		l.Data = max(1, j.GPUs/(l.Tensor*l.Pipeline*l.Context))
		fixed["data"] = true
	}
	spread := fixed["tensor"] && fixed["pipeline"]
	if spread { // what is wrong with what was given is said before anything is chosen
		if err := j.Check(); err != nil {
			return err
		}
	}
	if spread && fixed["micro-batch"] && fixed["recompute"] {
		return j.Fit()
	}
	best, err := j.Best(Search{Fixed: fixed})
	if err != nil {
		return err
	}
	j.Layout = best.Layout
	return nil
}

// ParseTokens reads a number of tokens such as 300B or 1.5e12, up to 1e18.
func ParseTokens(text string) (float64, error) {
	scale, number := 1.0, text
	for suffix, s := range map[string]float64{"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			number, scale = before, s
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*scale > 1e18 {
		return 0, fmt.Errorf("found %q, want a number of tokens up to 1e18, such as 300B or 15T",
			text)
	}
	return n * scale, nil
}

// Result is a job with what it costs, as JSON has it.
type Result struct {
	Model       string `json:"model"`
	Accelerator string `json:"accelerator"`
	GPUs        int    `json:"gpus"`
	// Batch is the number of sequences of a step, Seq the tokens of each.
	Batch  int    `json:"global_batch"`
	Seq    int    `json:"seq"`
	Layout Layout `json:"layout"`
	Cost
}

// Result returns the job with its cost.
func (j *Job) Result(c Cost) Result {
	return Result{j.Model.Name, j.Machine.Accelerator.Name, j.GPUs, j.Batch, j.Seq, j.Layout, c}
}

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

// Share has the times of a part of a step on several numbers of accelerators, in accelerators times
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
				parts = append(parts, Share{Name: part.Name, Y: make([]float64, len(scaling))})
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
