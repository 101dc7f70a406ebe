package steptime

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// Parallelism says how one replica is spread over accelerators. Zero means 1.
type Parallelism struct {
	// Tensor splits each layer, Pipeline splits the layers into stages. Expert, a divisor of
	// Tensor, spreads the routed experts over this number of groups instead of splitting each over
	// all.
	Tensor, Pipeline, Expert int
	// Data is the number of data-parallel ranks. A rank has Tensor accelerators in each stage and
	// all weights except the routed experts'. It serves sequences of its own, and all ranks take
	// their steps together. The routed experts are shared by all ranks. With Expert = Tensor·Data,
	// or 0, they are spread over the accelerators of all ranks. With Expert = 1, each expert is
	// split over all of them.
	Data int
	// Redundant is the number of additional copies of experts, for the experts that are chosen
	// most. Expert divides experts and copies together, so the number of groups need not divide the
	// number of experts.
	Redundant int
	// TwoBatch computes prompts in two halves, so that one half exchanges tokens while the other
	// half computes.
	TwoBatch bool
	// Context, a divisor of Tensor, divides the KV cache of each sequence among groups of this
	// number of accelerators, by tokens, where they would keep copies of it.
	Context int
}

// GPUs returns the number of accelerators of one replica.
func (p Parallelism) GPUs() int { return max(1, p.Tensor) * max(1, p.Pipeline) * max(1, p.Data) }

// copies returns the mean number of copies of a routed expert.
func (p Parallelism) copies(a *models.Architecture) float64 {
	if p.Redundant == 0 {
		return 1
	}
	return 1 + float64(p.Redundant)/float64(a.Experts().Experts)
}

// Complete returns p with its defaults.
func (p Parallelism) Complete() Parallelism {
	p.Tensor, p.Pipeline, p.Data = max(1, p.Tensor), max(1, p.Pipeline), max(1, p.Data)
	if p.Expert == 0 && p.Data > 1 {
		p.Expert = p.Tensor * p.Data
	}
	p.Expert, p.Context = max(1, p.Expert), max(1, p.Context)
	return p
}

// OwnPart returns what an accelerator keeps of a sequence, given what it would keep if it divided
// contexts with no other.
func (p Parallelism) OwnPart(k models.SequenceState) models.SequenceState {
	k.Growing /= float64(max(1, p.Context))
	return k
}

// checkContext returns an error if the contexts of a model cannot be divided as asked: each
// accelerator of a group must keep the same KV heads (vllm/config/model.py, v0.15,
// verify_with_parallel_config), and layers with windows and states are not divided
// (vllm/v1/kv_cache_interface.py).
func checkContext(a *models.Architecture, p Parallelism) error {
	if p.Tensor%p.Context != 0 {
		return fmt.Errorf("decode-context %d must divide tensor parallelism %d", p.Context,
			p.Tensor)
	}
	for _, l := range a.AttentionLayers(1, hardware.BF16) {
		copies := p.Tensor / max(1, l.KVHeads)
		switch {
		case p.Context == 1 || l.Latent && l.Window == 0:
		case l.Window > 0 || l.StateBytes > 0 || l.Scan:
			return fmt.Errorf("decode-context %d divides whole contexts, and %s has layers with "+
				"windows, states or an index", p.Context, a.Name)
		case p.Context > copies:
			return fmt.Errorf("decode-context %d: want at most %d, the accelerators that keep "+
				"each of the %d KV heads of %s", p.Context, max(1, copies), l.KVHeads, a.Name)
		}
	}
	return nil
}

// checkParallelism returns an error if a model cannot be spread as asked.
func checkParallelism(a *models.Architecture, p Parallelism) error {
	tp, experts := p.Tensor, a.Experts()
	if err := a.FitsTensor(tp); err != nil {
		return fmt.Errorf("tensor parallelism %d %w; use one of %v", tp, err, divisors(a))
	}
	if err := checkContext(a, p); err != nil {
		return err
	}
	switch {
	case p.Pipeline > a.Layers():
		return fmt.Errorf("%d pipeline stages are more than the %d layers of %s", p.Pipeline,
			a.Layers(), a.Name)
	case p.Data > 1 && experts == nil:
		return fmt.Errorf("data parallelism %d shares routed experts between ranks, and %s has "+
			"none; use replicas: %d instead", p.Data, a.Name, p.Data)
	case p.Expert > 1 && experts == nil:
		return fmt.Errorf("expert parallelism %d needs a mixture of experts, and %s is none",
			p.Expert, a.Name)
	case p.Data > 1 && p.Expert != 1 && p.Expert != tp*p.Data:
		return fmt.Errorf("expert parallelism %d with data parallelism: the experts are spread "+
			"over all %d accelerators of a stage; leave expert out, or make it %d, or 1 to split "+
			"each over all", p.Expert, tp*p.Data, tp*p.Data)
	case p.Data > 1 && p.Expert == 1 && experts.Intermediate%(tp*p.Data) != 0:
		return fmt.Errorf("%d accelerators do not divide the %d channels of an expert of %s; "+
			"leave expert out", tp*p.Data, experts.Intermediate, a.Name)
	case p.Data == 1 && tp%p.Expert != 0:
		return fmt.Errorf("expert parallelism %d must divide tensor parallelism %d", p.Expert, tp)
	case p.TwoBatch && p.Data == 1:
		return fmt.Errorf("two-batch overlap hides the exchange between data-parallel ranks, and " +
			"there is one rank; set data, or leave overlap out")
	case p.Redundant < 0 || p.Redundant > 0 && p.Expert == 1:
		return fmt.Errorf("%d redundant experts: copies are for experts that are spread over "+
			"several groups (expert or data)", p.Redundant)
	case p.Redundant > 0 && p.Redundant > experts.Experts:
		return fmt.Errorf("%d redundant experts are more than the %d of %s", p.Redundant,
			experts.Experts, a.Name)
	case p.Expert > 1 && (experts.Experts+p.Redundant)%p.Expert != 0:
		missing := p.Expert - (experts.Experts+p.Redundant)%p.Expert
		return fmt.Errorf("expert parallelism %d does not divide the %d experts of %s; use one "+
			"of %v, or %d redundant experts",
			p.Expert, experts.Experts+p.Redundant, a.Name, expertDivisors(experts.Experts),
			p.Redundant+missing)
	}
	return nil
}

// expertDivisors lists the degrees of expert parallelism above 1 that the given number of experts
// allow.
func expertDivisors(experts int) []int {
	var ds []int
	for ep := 2; ep <= experts; ep++ {
		if experts%ep == 0 {
			ds = append(ds, ep)
		}
	}
	return ds
}

// divisors lists the degrees of tensor parallelism up to 64 that the layers of a allow.
func divisors(a *models.Architecture) []int {
	var ds []int
	for tp := 1; tp <= 64; tp++ {
		if a.FitsTensor(tp) == nil {
			ds = append(ds, tp)
		}
	}
	return ds
}
