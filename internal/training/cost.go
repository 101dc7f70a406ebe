package training

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Cost is the price of a job and its parts.
type Cost struct {
	Memory Memory `json:"memory"`
	Step   Step   `json:"step"`
	// StepSeconds is the time of a step, TokensPerSecond the rate of all accelerators together.
	StepSeconds     float64 `json:"step_s"`
	TokensPerSecond float64 `json:"tokens_per_s"`
	// MFU is the share of the peak rate in 16 bits that the model's arithmetic takes (Chowdhery et
	// al., arXiv:2204.02311, appendix B), with the pairs that a causal mask leaves; HFU counts
	// what is computed again too. PeakFormat is the number format of the peak rate.
	MFU        float64        `json:"mfu"`
	HFU        float64        `json:"hfu"`
	PeakFormat hardware.DType `json:"peak_format"`
	// FLOPs are for a token, and SixN the six for each parameter that the rule of 6ND counts.
	FLOPs float64 `json:"flops_per_token"`
	SixN  float64 `json:"six_n"`
	// Why says why the two differ.
	Why []string `json:"why_they_differ"`
	// Days, Dollars and KWh are of the whole run, failures included; Dollars is 0 where no price is
	// known. Currency is the currency of Dollars; absent for US dollars. Steps is the number of
	// steps.
	Steps    float64  `json:"steps"`
	Failures Failures `json:"failures"`
	Days     float64  `json:"days"`
	Dollars  float64  `json:"dollars,omitempty"`

	Currency units.Currency `json:"currency,omitempty"`

	KWh float64 `json:"kwh"`
	// Fitted reports whether the rates come from published runs on this very accelerator.
	Fitted bool `json:"fitted_to_this_accelerator"`
}

// Compute returns the cost of a job at a price of one accelerator; 0 means that no price is known.
func (j *Job) Compute(price scenarios.Price) Cost {
	step := j.Step()
	c := Cost{Memory: j.Memory(), Step: step, StepSeconds: step.Total(), PeakFormat: j.Precision}
	tokens := float64(j.Batch) * float64(j.Seq)
	c.TokensPerSecond = tokens / c.StepSeconds
	c.FLOPs = j.ModelFLOPs(true)
	peak := j.Machine.Accelerator.Peak[j.Precision] * float64(j.GPUs)
	c.MFU = c.TokensPerSecond * c.FLOPs / peak
	c.HFU = c.TokensPerSecond * j.hardwareFLOPs() / peak
	active := float64(j.Model.ActiveParameters().Total())
	c.SixN = 6 * active
	c.Why = j.whyNotSix(c.SixN)
	_, c.Fitted = productEfficiencyOf(&j.Machine.Accelerator, j.Precision)
	c.Failures = j.Failures()
	if j.Tokens > 0 {
		c.Steps = j.Tokens / tokens
		c.Days = c.Steps * c.StepSeconds / c.Failures.Goodput / 86400
		hours := c.Days * 24 * float64(j.GPUs)
		c.Dollars = hours * price.Amount
		c.Currency = price.Currency
		c.KWh = hours * j.Machine.Accelerator.PeakPower / 1000
	}
	return c
}

// hardwareFLOPs returns the FLOP of a token, including operations that are repeated.
func (j *Job) hardwareFLOPs() float64 {
	matrices, attention := j.forwardFLOPs(true)
	head := 2 * float64(j.Model.Vocab) * float64(j.Model.Hidden)
	flops := j.ModelFLOPs(true)
	switch j.Layout.Recompute {
	case Full:
		flops += matrices - head + attention
	case Selective:
		flops += attention
	}
	return flops
}

// whyNotSix says in words how the FLOP of a token differ from six for each parameter.
func (j *Job) whyNotSix(six float64) []string {
	_, attention := j.forwardFLOPs(true)
	p := j.Model.ActiveParameters()
	var why []string
	say := func(flops float64, words string) {
		if share := flops / six; share >= 0.001 || share <= -0.001 {
			why = append(why, fmt.Sprintf("%+.1f %%: %s", 100*share, words))
		}
	}
	products, scores := j.Method.passes()
	say(scores*attention, fmt.Sprintf("attention over %d tokens, which has no parameters", j.Seq))
	rows := float64(p.Embedding + p.Positions)
	if p.Head == 0 {
		rows = float64(p.Positions)
	}
	say(-2*products*rows, "the embedding is a row that is looked up, not a product")
	if moe := j.Model.Experts(); moe != nil {
		all := float64(j.Model.Parameters().Total() - p.Total())
		why = append(why, fmt.Sprintf("N counts the parameters on the path of a token; the %.3g "+
			"others are stored, and not computed", all))
	}
	switch j.Method {
	case LoRA:
		say((products/3-1)*six, "frozen weights have no gradients of their own")
	case DPO:
		say((products/3-1)*six, "the frozen copy computes forward")
	}
	return why
}

// Failures is the cost of interruptions in a long run.
type Failures struct {
	// MTBF is the mean time in seconds between two interruptions of the whole job, Checkpoint the
	// seconds to save it, Interval the best time between two, and Restart what it takes to begin
	// anew.
	MTBF       float64 `json:"mtbf_s"`
	Checkpoint float64 `json:"checkpoint_s"`
	Interval   float64 `json:"interval_s"`
	Restart    float64 `json:"restart_s"`
	// Goodput is the share of the time that is not lost to saving, restarting and doing again.
	Goodput float64 `json:"goodput"`
}

const (
	// gpuMTBF is the time in seconds between unexpected interruptions that one accelerator causes
	// with its share of the cluster: 419 of them in 54 days on 16,384 H100 (Llama 3,
	// arXiv:2407.21783, section 3.3.4 and table 5).
	gpuMTBF = 54 * 86400 * 16384.0 / 419
	// nodeStorage is the B/s with which a node of 8 accelerators saves: 2 TB/s sustained for 7,500
	// servers; up to 2,000 trained (arXiv:2407.21783, section 3.3.1), taken as 1 GB/s.
	nodeStorage = 1e9
	// restart is the seconds to find a failure, replace what failed and load: an own estimate.
	restart = 10 * 60
)

// Failures computes the best interval between checkpoints by Daly 2006 ("A higher order estimate of
// the optimum checkpoint interval for restart dumps", equation 37), which refines Young 1974, and
// what is left of the time by his equation 20: with interruptions as a Poisson process,
// τ seconds of work take M·exp(R/M)·(exp((τ+δ)/M)−1).
func (j *Job) Failures() Failures {
	f := Failures{MTBF: gpuMTBF / float64(j.GPUs), Restart: restart}
	bytes := (2 + j.Optimizer.States()) * float64(j.Model.Parameters().Total())
	if j.Method == LoRA {
		bytes = (2 + j.Optimizer.States()) * float64(trained(j.Model, loraRank))
	}
	nodes := max(1, float64(j.GPUs)/8)
	f.Checkpoint = bytes / (nodes * nodeStorage)
	m, d := f.MTBF, f.Checkpoint
	f.Interval = m
	if d < 2*m {
		f.Interval = math.Sqrt(2*d*m)*(1+math.Sqrt(d/(2*m))/3+d/(2*m)/9) - d
	}
	f.Goodput = f.Interval / (m * math.Exp(f.Restart/m) * math.Expm1((f.Interval+d)/m))
	return f
}
