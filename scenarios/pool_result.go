package scenarios

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

// KindResult describes a kind of server: the pools that have it, and the evidence for its
// predictions.
type KindResult struct {
	Pools    []string
	Evidence evidence.Evidence
}

// kindResults lists the kinds of servers, of which each replica has a load.
func kindResults(kinds []kind, load evidence.Load) []KindResult {
	var list []KindResult
	for _, k := range kinds {
		key, own := k[0].Key()
		e := evidence.Of(key, own)
		if own := k[0].twin; own != nil {
			e = evidence.Fitted(key, *own)
		}
		if r := k[0].Config.Release; !r.Version.IsZero() {
			e = e.At(r.Version.String(), r.Measured.Compare(r.Version) == 0)
		}
		for _, b := range k[0].Clock.Backends() {
			if b.Asked && b.Kin != "" && e.Grade != evidence.Here {
				e = e.FromKin(b.Operator.Title() + " by " + b.Kin)
			}
		}
		if k[0].role != sim.Mixed {
			decodes := slices.ContainsFunc(k, func(p *pool) bool { return p.role != sim.Prefill })
			e = e.Apart(!decodes)
		}
		list = append(list, KindResult{k.names(), e.Under(load)})
	}
	return list
}

// weakest returns the evidence of the lowest grade.
func weakest(kinds []KindResult) evidence.Evidence {
	list := make([]evidence.Evidence, len(kinds))
	for i := range kinds {
		list[i] = kinds[i].Evidence
	}
	return evidence.Weakest(list)
}

// PoolResult holds the work and the costs of one pool.
type PoolResult struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Model and Hardware are the names of the model and of the accelerator of the pool.
	Model    string `json:"model"`
	Hardware string `json:"hardware"`
	// Accelerators is the number of accelerators over all replicas, including accelerators of draft
	// models. MeanReplicas is the mean number of replicas that ran or were starting.
	Replicas     int     `json:"replicas" jsonschema:"replicas; of the run"`
	Accelerators int     `json:"accelerators" jsonschema:"accelerators, also those of draft models; of the run"`
	MeanReplicas float64 `json:"mean_replicas" jsonschema:"mean number of replicas that run or start; of the run"`
	// Completed counts requests that ended in this pool, HandedOver requests that went to another
	// pool, and Rejected requests that this pool could not serve.
	Completed  int64 `json:"completed" jsonschema:"requests that ended here; of completed requests"`
	HandedOver int64 `json:"handed_over" jsonschema:"requests that went on to another pool; of admitted requests"`
	Rejected   int64 `json:"rejected" jsonschema:"requests that this pool could not serve; of arrived requests"`
	// OutputTokens counts the tokens that came out, and PrefillTokens the prompt tokens that were
	// computed; what a preempted request computes again counts again.
	OutputTokens  int64 `json:"output_tokens" jsonschema:"tokens that came out; of admitted requests"`
	PrefillTokens int64 `json:"prefill_tokens" jsonschema:"prompt tokens that were computed, again after a preemption too; of admitted requests"`
	// Admitted counts the requests that were first scheduled in this pool, AdmittedTokens their
	// prompt tokens, and CachedTokens the tokens among these that came from the prefix cache then.
	Admitted       int64 `json:"admitted" jsonschema:"requests that were first scheduled here; of admitted requests"`
	AdmittedTokens int64 `json:"admitted_input_tokens" jsonschema:"their prompt tokens; of admitted requests"`
	CachedTokens   int64 `json:"cached_tokens" jsonschema:"prompt tokens from the prefix cache when first scheduled; of admitted requests"`
	Preemptions    int64 `json:"preemptions" jsonschema:"preemptions; of admitted requests"`
	metrics.Occupancy
	// KVUsage is the mean share of the pool's KV memory in use, and PeakKVUsage the largest share
	// of any of its replicas.
	KVUsage     float64 `json:"kv_usage" jsonschema:"mean share of the pool's KV memory in use; of the run"`
	PeakKVUsage float64 `json:"peak_kv_usage" jsonschema:"largest share of the KV memory of a replica in use; of the run"`
	// Busy is the share of the time in which a replica that was up ran a step. MFU, MBU, Cost,
	// Energy and AcceleratorHours are as in Result, for the pool.
	Busy             float64 `json:"busy" jsonschema:"share of the time of replicas that are up in which steps run; of the run"`
	MFU              float64 `json:"mfu,omitzero" jsonschema:"share of peak arithmetic used; of steps"`
	MBU              float64 `json:"mbu,omitzero" jsonschema:"share of peak memory bandwidth used; of steps"`
	Cost             float64 `json:"cost" jsonschema:"price of the pool; of the run"`
	Energy           float64 `json:"energy" jsonschema:"energy of its accelerators in Wh; of the run"`
	AcceleratorHours float64 `json:"accelerator_hours" jsonschema:"time for which its accelerators are paid; of the run"`
	// Prefill and Decode say what bounds a typical step of the pool.
	Prefill *Phenomenon `json:"prefill,omitempty"`
	Decode  *Phenomenon `json:"decode,omitempty"`
}

// accelerators returns how many the replicas have, without accelerators of draft models.
func (p *pool) accelerators() int { return p.size * p.s.Parallelism.degrees().GPUs() }

// draftAccelerators returns how many accelerators draft models have of their own over all replicas.
func (p *pool) draftAccelerators() int {
	if p.draftsElsewhere() && p.role != sim.Prefill {
		return p.size * p.s.Speculation.Tensor
	}
	return 0
}

// usage is the work of steps, and the work that the accelerators could have done in the same time.
type usage struct{ done, could steptime.Work }

// mfu and mbu return the shares of the peaks that were used.
func (u *usage) mfu() float64 { return times(u.done.FLOPs, u.could.FLOPs) }
func (u *usage) mbu() float64 { return times(u.done.Bytes, u.could.Bytes) }

// poolResults returns the result of each pool, and the usage of all accelerators.
func (f *finished) poolResults() (list []PoolResult, total usage) {
	list = make([]PoolResult, len(f.pools))
	for i := range f.pools {
		p, sum, meter := &f.pools[i], &list[i], &f.work.meters[i]
		*sum = PoolResult{
			Name: p.name, Role: roleNames()[p.role], Model: p.Model.Name,
			Hardware: p.Accelerator.Name,
			Replicas: p.size,
		}
		b := sum.add(f.outcome, p.first, p.size)
		load := &f.outcome.Load
		if len(f.pools) > 1 {
			load = &f.outcome.Sets[i]
		}
		sum.Occupancy = metrics.OccupancyOf(load, f.outcome.End)
		b.usage = meter.usage()
		if flops, bandwidth, known := p.Clock.Attainable(); known {
			u := usage{meter.work(), steptime.Work{FLOPs: float64(flops * b.busy),
				Bytes: float64(bandwidth * b.busy)}}
			sum.MFU, sum.MBU = u.mfu(), u.mbu()
			total.done.Add(u.done)
			total.could.Add(u.could)
		}
		sum.charge(p.accelerators(), p.Accelerator, p.s.Hardware.Price.Amount, &b)
		sum.Cost += float64(p.s.Memory.HostHourly() * b.paid / 3600)
		if n := f.scenario.Fleet.Encoders; n > 0 && i == 0 {
			sum.chargeEncoders(n, p, f.outcome)
		}
		if !slices.ContainsFunc(f.pools[:i], func(o pool) bool { return o.model == p.model }) {
			sum.Cost += float64(p.s.Memory.PoolHourly() * f.outcome.End.Seconds() / 3600)
		}
		if n := p.draftAccelerators(); n > 0 {
			sum.charge(n, &p.drafting.accelerator, p.drafting.accelerator.Price, &b)
		}
	}
	if f.summary.Completed > 0 {
		f.explainPools(list)
	}
	return list, total
}

// explainPools adds what bounds a typical step of each phase, as far as that is predicted.
func (f *finished) explainPools(list []PoolResult) {
	for i := range f.pools {
		p := &f.pools[i]
		if p.s.Steps != nil {
			continue // what bounds steps that are given is not known
		}
		if p.role != sim.Decode {
			list[i].Prefill = prefillPhenomenon(p.Clock, f.meanPrompt(list, p.model),
				p.TokenBudget())
		}
		list[i].Decode = f.work.meters[i].decodes.phenomenon(p.Clock, p.s.drafts())
	}
}

// meanPrompt returns the mean length of the prompts for a model that were admitted.
func (f *finished) meanPrompt(pools []PoolResult, model int) int {
	var tokens, prompts int64
	for i := range f.pools {
		if f.pools[i].model == model {
			tokens, prompts = tokens+pools[i].AdmittedTokens, prompts+pools[i].Admitted
		}
	}
	return max(1, int(math.Round(times(float64(tokens), float64(prompts)))))
}

// add adds the work of the replicas from first on, and returns the basis of their bill.
func (sum *PoolResult) add(outcome *sim.Result, first, size int) (b bill) {
	used, capacity := 0.0, int64(0)
	for i := first; i < first+size; i++ {
		w := &outcome.Replicas[i]
		used += w.KVIntegral.Over(outcome.End)
		capacity += w.KVCapacity
		sum.PeakKVUsage = max(sum.PeakKVUsage, times(float64(w.KVPeak), float64(w.KVCapacity)))
		sum.Completed += w.Completed
		sum.HandedOver += w.HandedOver
		sum.Rejected += w.Rejected
		sum.OutputTokens += w.Sampled
		sum.PrefillTokens += w.PrefillTokens
		sum.Admitted += w.Admitted
		sum.AdmittedTokens += w.AdmittedTokens
		sum.CachedTokens += w.CachedTokens
		sum.Preemptions += w.Preemptions
		b.busy += w.Busy.Seconds()
		b.up += w.Up.Seconds()
		b.paid += (w.Up + w.Failed).Seconds()
	}
	sum.KVUsage = times(used, float64(capacity))
	sum.MeanReplicas = times(b.up, outcome.End.Seconds())
	sum.Busy = times(b.busy, b.up)
	return b
}

// usage returns the mean usage of an accelerator by steps. It weighs the mean decode step, and a
// step with the mean number of prompt tokens, by the time that each took.
func (m *workMeter) usage() hardware.Usage {
	var decoding, prompts hardware.Usage
	if step := m.meanDecode(); step != nil {
		decoding = m.clock.Usage(step)
	}
	if m.promptSteps > 0 {
		mean := times(float64(m.counts.Tokens), float64(m.promptSteps))
		prompts = m.clock.Usage(promptAlone(max(1, int(math.Round(mean)))))
	}
	return decoding.Mixed(times(m.decoding.Seconds(), (m.decoding+m.prompts).Seconds()), prompts)
}

// bill holds the basis of cost and energy: the seconds for which replicas ran steps, were up and
// are paid, summed over them, and the usage of an accelerator by steps. A replica that has failed
// is paid, since its accelerators stay rented; it takes no power.
type bill struct {
	busy, up, paid float64
	usage          hardware.Usage
}

// charge adds the cost and the energy of n accelerators for each replica. The power is the idle
// power, and while steps run the power of hardware.PowerLaw.
func (sum *PoolResult) charge(n int, a *hardware.Accelerator, price float64, b *bill) {
	each := float64(n) / float64(sum.Replicas) / 3600
	sum.Accelerators += n
	sum.AcceleratorHours += float64(each * b.paid)
	sum.Cost += float64(price * each * b.paid)
	sum.Energy += float64(each * (float64(a.Power(b.usage)*b.busy) +
		float64(a.IdlePower*(b.up-b.busy))))
}

// chargeEncoders adds n accelerators that are there for images and sounds all the time of a run.
// While they encode, their arithmetic is taken to be used in full.
func (sum *PoolResult) chargeEncoders(n int, p *pool, outcome *sim.Result) {
	scale := float64(sum.Replicas) // over which charge takes the mean
	b := bill{busy: scale * outcome.Encoding.Seconds() / float64(n),
		up: scale * outcome.End.Seconds(), paid: scale * outcome.End.Seconds(),
		usage: hardware.Usage{Computing: 1, Arithmetic: 1}}
	sum.charge(n, p.Accelerator, p.s.Hardware.Price.Amount, &b)
}

// times returns a/b, and 0 where there is no b.
func times(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// FleetResult holds the figures of a fleet that concern several replicas.
type FleetResult struct {
	// Retries counts how often requests began anew after a failure.
	Retries int64 `json:"retries" jsonschema:"times that requests began anew after a failure; of arrived requests"`
	// MeanReplicas is the mean number of replicas that ran or were starting, and UsedReplicas the
	// number of replicas that did so at some time.
	Replicas     int     `json:"replicas" jsonschema:"replicas; of the run"`
	MeanReplicas float64 `json:"mean_replicas" jsonschema:"mean number of replicas that run or start; of the run"`
	UsedReplicas int     `json:"used_replicas" jsonschema:"replicas that did so at some time; of the run"`
	// Transfers is the number of KV caches that were moved. VisibleTransfer is the mean time from
	// the end of a prefill until its KV cache had arrived. LinkBusy is the share of the time in
	// which the link was busy.
	Transfers       int64   `json:"kv_transfers" jsonschema:"KV caches that were moved; of admitted requests"`
	VisibleTransfer float64 `json:"mean_visible_transfer_ms" jsonschema:"mean time from the end of a prefill until its KV cache has arrived; of admitted requests"`
	LinkBusy        float64 `json:"link_busy" jsonschema:"share of the time in which links are busy; of the run"`
	// Handover is a constant of the engine in milliseconds, which each TTFT has in it where prefill
	// and decode are apart, and HandoverSource says what it rests on; the longest of several pools.
	Handover       float64 `json:"handover_ms,omitzero" jsonschema:"constant of the engine that is in each time to first token; of begun requests"`
	HandoverSource string  `json:"handover_source,omitempty"`
}

// fleetResult returns the figures that concern several replicas, or nil if replicas served
// independently.
func (f *finished) fleetResult() *FleetResult {
	if reflect.ValueOf(f.scenario.Fleet).IsZero() || f.outcome.End == 0 {
		return nil
	}
	sum := &FleetResult{Retries: f.outcome.Retries, Replicas: len(f.outcome.Replicas)}
	end := f.outcome.End.Seconds()
	for i := range f.outcome.Replicas {
		up := f.outcome.Replicas[i].Up
		sum.MeanReplicas += up.Seconds() / end
		if up > 0 {
			sum.UsedReplicas++
		}
	}
	for i := range f.pools {
		p := &f.pools[i]
		if ms := p.Clock.Handover().Milliseconds(); p.role == sim.Prefill && ms > sum.Handover {
			sum.Handover, sum.HandoverSource = ms, p.Engine.HandoverSource
		}
	}
	visible := 0.0
	for _, l := range f.outcome.Links {
		sum.Transfers += l.Transfers
		sum.LinkBusy += l.Busy.Seconds() / (end * float64(len(f.outcome.Links)))
		visible += l.Visible.Milliseconds()
	}
	sum.VisibleTransfer = times(visible, float64(sum.Transfers))
	return sum
}

// setup describes the servers in words.
func setup(kinds []kind) string {
	if len(kinds) == 1 {
		return kinds[0].describe()
	}
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = "pool " + strings.Join(k.names(), ", ") + ": " + k.describe()
	}
	return strings.Join(list, "; ")
}

// kind is the pools that have the same server.
type kind []*pool

// kindsOf groups pools by their servers.
func kindsOf(pools []pool) []kind {
	var list []kind
	at := map[*server]int{}
	for i := range pools {
		p := &pools[i]
		n, known := at[p.server]
		if !known {
			n, at[p.server] = len(list), len(list)
			list = append(list, nil)
		}
		list[n] = append(list[n], p)
	}
	return list
}

func (k kind) names() []string {
	names := make([]string, len(k))
	for i, p := range k {
		names[i] = p.name
	}
	return names
}

// describe describes the replicas in words.
func (k kind) describe() string {
	replicas, accelerators := 0, 0
	for _, p := range k {
		replicas += p.size
		accelerators += p.accelerators()
	}
	s := k[0].server
	p := &s.s.Parallelism
	text := fmt.Sprintf("%s (%s) on %d × %s", s.Model.Name, s.s.Engine.Weights, accelerators,
		s.Accelerator.Title)
	if replicas > 1 {
		text += fmt.Sprintf(", %d replicas", replicas)
	}
	for _, degree := range []struct {
		name string
		n    int
	}{{"tensor", p.Tensor}, {"pipeline", p.Pipeline}, {"data", p.Data}, {"expert", p.Expert}} {
		if degree.n > 1 {
			text += fmt.Sprintf(", %s parallelism %d", degree.name, degree.n)
		}
	}
	text += fmt.Sprintf("; engine %s%s, batching %s, memory %s", s.s.Engine.Preset,
		releaseWords(&s.Config.Release), s.s.Batching.Policy, s.s.Memory.Policy)
	if sp := s.s.Speculation; sp != nil {
		text += fmt.Sprintf(", speculative decoding by %s, up to %s in a row", sp.Method,
			units.Plural(sp.Tokens, "token"))
	}
	return text
}

// releaseWords says which release of an engine is predicted; "" for an engine without releases.
func releaseWords(r *engines.Release) string {
	if r.Version.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", r.Title, r.Version)
}

// finished is a simulation after its run, from which the result is made.
type finished struct {
	scenario    Scenario
	warnings    []string
	pools       []pool
	speculators []*speculation.Speculator // by replica; nil for replicas that did not draft
	source      workload.Source

	outcome   *sim.Result
	collector *metrics.Collector
	summary   metrics.Summary
	work      *fleetWork
	crowd     *burstFinder
	// adapterLoads counts the adapters that came from host memory.
	adapterLoads int64
	// baseline is the summary of the run without speculative decoding; nil if there is no
	// comparison.
	baseline *metrics.Summary
}
