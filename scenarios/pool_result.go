package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// PoolResult is what one pool did, and what it took.
type PoolResult struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Model and Hardware are the names of what the pool serves and on what.
	Model    string `json:"model"`
	Hardware string `json:"hardware"`
	// Accelerators is their number over all replicas, those of draft models included; MeanReplicas counts the replicas that ran or
	// were starting, on average.
	Replicas     int     `json:"replicas"`
	Accelerators int     `json:"accelerators"`
	MeanReplicas float64 `json:"mean_replicas"`
	// Completed requests ended here, HandedOver ones went on at another pool, Rejected ones could not be served here.
	Completed  int64 `json:"completed"`
	HandedOver int64 `json:"handed_over"`
	Rejected   int64 `json:"rejected"`
	// OutputTokens came out here, PrefillTokens were computed for prompts, CachedTokens were in the prefix cache.
	OutputTokens  int64 `json:"output_tokens"`
	PrefillTokens int64 `json:"prefill_tokens"`
	CachedTokens  int64 `json:"cached_tokens"`
	Preemptions   int64 `json:"preemptions"`
	// Busy is the share of the time in which a replica that was up ran a step. MFU, MBU, Cost, Energy and AcceleratorHours are those
	// of Result, for the pool.
	Busy             float64 `json:"busy"`
	MFU              float64 `json:"mfu"`
	MBU              float64 `json:"mbu"`
	Cost             float64 `json:"cost"`
	Energy           float64 `json:"energy"`
	AcceleratorHours float64 `json:"accelerator_hours"`
	// Prefill and Decode tell what bounds a typical step of the pool.
	Prefill *Phenomenon `json:"prefill,omitempty"`
	Decode  *Phenomenon `json:"decode,omitempty"`
}

// accelerators returns how many the replicas have, without those of draft models.
func (p *pool) accelerators() int { return p.size * p.s.Parallelism.degrees().GPUs() }

// sumUpPools returns what each pool did, and adds it up in r.
func (s *Simulation) sumUpPools(r *Result, outcome *sim.Result, work *fleetWork) []PoolResult {
	list := make([]PoolResult, len(s.pools))
	var done, peak steptime.Work // what steps needed, and could have had
	for i := range s.pools {
		p, sum, meter := &s.pools[i], &list[i], &work.meters[i]
		*sum = PoolResult{
			Name: p.name, Role: roles[p.role], Model: p.Model.Name, Hardware: p.Accelerator.Name, Replicas: p.size,
		}
		busy := sum.add(outcome, p.first, p.size)
		flops, bandwidth := p.Clock.Peaks()
		could := steptime.Work{FLOPs: float64(flops * busy), Bytes: float64(bandwidth * busy)}
		sum.MFU, sum.MBU = times(meter.total.FLOPs, could.FLOPs), times(meter.total.Bytes, could.Bytes)
		done.FLOPs, done.Bytes = done.FLOPs+meter.total.FLOPs, done.Bytes+meter.total.Bytes
		peak.FLOPs, peak.Bytes = peak.FLOPs+could.FLOPs, peak.Bytes+could.Bytes
		up := sum.MeanReplicas * r.Duration
		sum.Busy = times(busy, up)
		sum.charge(p.accelerators(), p.Accelerator, float64(p.s.Hardware.Price), busy, up)
		if n, drafter := s.draftAccelerators(p); n > 0 {
			sum.charge(n, drafter, drafter.Price, busy, up)
		}
		r.Accelerators += sum.Accelerators
		r.Cost += sum.Cost
		r.Energy += sum.Energy
		r.AcceleratorHours += sum.AcceleratorHours
	}
	r.MFU, r.MBU = times(done.FLOPs, peak.FLOPs), times(done.Bytes, peak.Bytes)
	if r.TotalOutputTokens > 0 {
		r.CostPerMillion = r.Cost / float64(r.TotalOutputTokens) * 1e6
		r.EnergyPerMillion = r.Energy / float64(r.TotalOutputTokens) * 1e6
	}
	return list
}

// add takes in the work of the replicas from first on, and returns for how many seconds they ran steps.
func (sum *PoolResult) add(outcome *sim.Result, first, size int) (busy float64) {
	for i := first; i < first+size; i++ {
		w := &outcome.Replicas[i]
		sum.Completed += w.Completed
		sum.HandedOver += w.HandedOver
		sum.Rejected += w.Rejected
		sum.OutputTokens += w.Sampled
		sum.PrefillTokens += w.PrefillTokens
		sum.CachedTokens += w.CachedTokens
		sum.Preemptions += w.Preemptions
		sum.MeanReplicas += times(w.Up.Seconds(), outcome.End.Seconds())
		busy += w.Busy.Seconds()
	}
	return busy
}

// charge adds what n accelerators of all replicas cost and take: idle power, and while steps run what their use of bandwidth and
// arithmetic takes (hardware.PowerLaw). Busy and up are the seconds for which replicas ran steps and were up, summed over them.
func (sum *PoolResult) charge(n int, a *hardware.Accelerator, price, busy, up float64) {
	each := float64(n) / float64(sum.Replicas) / 3600
	sum.Accelerators += n
	sum.AcceleratorHours += float64(each * up)
	sum.Cost += float64(price * each * up)
	sum.Energy += float64(each * (float64(a.Power(sum.MBU, sum.MFU)*busy) + float64(a.IdlePower*(up-busy))))
}
