package training

import "math"

// Failures is what interruptions cost a long run.
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
