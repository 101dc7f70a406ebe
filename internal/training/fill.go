package training

import (
	"fmt"
	"strconv"
	"strings"
)

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
		if err := j.Check(); err != nil {
			return err
		}
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
