package scenarios

import (
	"cmp"
	"slices"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Result is the outcome of a scenario, and the output of `--format json`: beside the metrics
// it has the evidence for them.
type Result struct {
	Name string `json:"name,omitempty"`
	// Setup describes the servers in words, and Load the requests.
	Setup string `json:"setup"`
	Load  string `json:"load"`
	// Version is the version of the program. Scenario has every default filled in. Together with
	// the files that the scenario names, they determine everything else.
	Version  string `json:"version"`
	Seed     uint64 `json:"seed"`
	Scenario any    `json:"scenario"`

	metrics.Summary
	// SLO is the SLO of requests without a class, and of classes without an SLO of their own.
	SLO SLO `json:"slo"`
	// ClassSLOs are the SLOs of the classes.
	ClassSLOs map[string]SLO `json:"class_slo,omitempty"`

	// Accelerators is the number in use over all replicas, the own accelerators of draft models
	// included.
	Accelerators int `json:"accelerators"`
	// MFU and MBU are the shares of the accelerators' peak arithmetic and peak memory bandwidth
	// that the steps used, of the time in which steps ran. They count the work that the model's
	// arithmetic needs, each byte moved once. The peaks come from the data sheet; where factors
	// below 1 make the clock compute or read faster, they are higher by the same factor. Both are
	// 0, and absent in JSON, where no step ran or the times of all steps are given.
	MFU float64 `json:"mfu,omitzero"`
	MBU float64 `json:"mbu,omitzero"`
	// Cost is the price of the accelerators for the duration, and CostPerMillion the price of a
	// million output tokens, both in Currency; 0 if the price is not known. PricedOver says how
	// CostPerMillion is computed: "at the offered rate", or "over the whole run with its drain".
	// PriceAlike gives several results the same.
	Cost float64 `json:"cost,omitzero"`
	// Currency is the currency of all amounts, also where the name of a figure has dollars in it;
	// absent for US dollars.
	Currency units.Currency `json:"currency,omitempty"`

	CostPerMillion float64 `json:"cost_per_million_output_tokens,omitzero"`
	PricedOver     string  `json:"priced_over,omitempty"`
	// CostPerSession is the price of the output tokens of a mean session, at
	// CostPerMillion; 0 if there is no such price or no session was completed.
	CostPerSession float64 `json:"cost_per_session,omitzero"`
	// TokenCosts divides Cost among the tokens; nil if the price is not known, or no request was
	// completed.
	TokenCosts *TokenCosts `json:"token_costs,omitempty"`
	// Sold is the worth of the tokens of an hour, computed in the same way; nil if the scenario has
	// no prices of tokens.
	Sold *TokenRevenue `json:"tokens_sold,omitempty"`
	// Energy is the energy of the accelerators in Wh, at their peak power while steps run and idle
	// otherwise: an upper bound. EnergyPerMillion is for a million output tokens.
	Energy           float64 `json:"energy"`
	EnergyPerMillion float64 `json:"energy_per_million_output_tokens,omitzero"`
	// AcceleratorHours is the time in hours for which accelerators are paid, summed over them:
	// while their replicas start, run, or have failed.
	AcceleratorHours float64 `json:"accelerator_hours"`

	// AdapterLoads is the number of times that an adapter came from host memory; 0 without
	// adapters.
	AdapterLoads int64 `json:"adapter_loads,omitzero"`

	// The figures of drafts; absent without speculative decoding.
	*SpeculationResult

	// Fleet has the figures that concern several replicas; absent if all replicas served
	// independently all the time.
	Fleet *FleetResult `json:"fleet,omitempty"`

	// Pools has an entry for each pool, if there are several.
	Pools []PoolResult `json:"pools,omitempty"`

	// Prefill and Decode say what bounds a typical step of the phase in the first pool that has it.
	// They are absent if there was no such step.
	Prefill *Phenomenon `json:"prefill,omitempty"`
	Decode  *Phenomenon `json:"decode,omitempty"`
	// Diagnosis says whether the system keeps up with the arrivals, and what its time is used for.
	Diagnosis *Diagnosis `json:"diagnosis"`
	// Evidence is the evidence for the predictions. If there are several kinds of servers, it is
	// the evidence of the lowest grade.
	Evidence evidence.Evidence `json:"evidence"`
	// Intervals say how uncertain the figures are; absent if they were not computed.
	Intervals *Intervals `json:"intervals,omitempty"`
	// Warnings are facts that a reader of the figures should know.
	Warnings []string `json:"warnings"`

	// Kinds has an entry for each kind of server.
	Kinds []KindResult `json:"-"`

	// Series is the state of the fleet over time. TTFTs and TPOTs are the histograms of these
	// latencies.
	Series       []metrics.Point   `json:"-"`
	TTFTs, TPOTs metrics.Histogram `json:"-"`

	// WholeRun has the prices over the whole run.
	WholeRun Prices `json:"-"`
}

// ByClass reports whether classes have different SLOs.
func (r *Result) ByClass() bool {
	for _, slo := range r.ClassSLOs {
		if slo != r.SLO.WithoutGaps() {
			return true
		}
	}
	return false
}

// result returns the figures of the run.
func (f *finished) result() (*Result, error) {
	echo, err := strict.Plain(f.scenario)
	if err != nil {
		return nil, err
	}
	// before the clocks compute steps that did not run
	kinds, notices := kindsOf(f.pools), f.notices()
	pools, used := f.poolResults()
	kindList := kindResults(kinds, f.load())
	r := &Result{
		Name: f.scenario.Name, Setup: setup(kinds), Load: f.source.Summary().Text,
		Version: Version(), Seed: f.scenario.Seed, Scenario: echo,
		Summary: f.summary,
		SLO:     f.scenario.SLO, ClassSLOs: classSLOs(f.scenario.Workload.Classes),
		MFU: used.mfu(), MBU: used.mbu(),
		SpeculationResult: f.speculationResult(),
		AdapterLoads:      f.adapterLoads, Currency: f.scenario.Currency(),
		Fleet:     f.fleetResult(),
		Evidence:  weakest(kindList),
		Diagnosis: f.diagnose(),
		Warnings:  append([]string{}, slices.Concat(f.warnings, notices)...),
		Kinds:     kindList,
		Series:    f.collector.Series(),
	}
	r.TTFTs, r.TPOTs = f.collector.Histograms()
	for i := range pools {
		p := &pools[i]
		r.Accelerators += p.Accelerators
		r.Cost += p.Cost
		r.Energy += p.Energy
		r.AcceleratorHours += p.AcceleratorHours
		r.Prefill, r.Decode = cmp.Or(r.Prefill, p.Prefill), cmp.Or(r.Decode, p.Decode)
	}
	if slices.ContainsFunc(pools, func(p PoolResult) bool {
		return p.Cost == 0 && p.AcceleratorHours > 0
	}) {
		r.Cost = 0 // an accelerator has no price, so the whole has no cost
	}
	r.TokenCosts = f.tokenCosts(r.Cost, pools)
	if r.TotalOutputTokens > 0 {
		r.EnergyPerMillion = r.Energy / float64(r.TotalOutputTokens) * 1e6
	}
	load := f.source.Summary()
	var shown Prices
	r.WholeRun, shown = prices(&r.Summary, f.scenario.Tokens, r.Cost, r.Diagnosis.Load,
		load.Rate*load.Output)
	r.setPrices(shown)
	if len(pools) > 1 {
		r.Pools = pools
	}
	return r, nil
}

// load returns what a replica had to do. It is not open, since what an error of steps makes of the
// latencies of an open load is simulated.
func (f *finished) load() evidence.Load {
	s, replicas := &f.summary, 0.0
	for i := range f.outcome.Replicas {
		replicas += times(f.outcome.Replicas[i].Up.Seconds(), f.outcome.End.Seconds())
	}
	begun := float64(s.Begun())
	return evidence.Load{Users: times(s.MeanRunning+s.MeanWaiting, replicas),
		Prompt: times(float64(s.TotalInputTokens), begun),
		Output: times(float64(s.TotalOutputTokens), begun), Whole: f.scenario.Workload.Whole}
}

func (r *Result) setPrices(p Prices) {
	r.CostPerMillion, r.CostPerSession, r.Sold, r.PricedOver = p.PerMillion, p.PerSession, p.Sold,
		p.Over
}

// classSLOs returns the SLO of each class by its name; nil where there are no classes.
func classSLOs(classes []Class) map[string]SLO {
	if len(classes) == 0 {
		return nil
	}
	slos := map[string]SLO{}
	for i := range classes {
		slos[classes[i].Name] = classes[i].SLO
	}
	return slos
}

// Intervals say how uncertain a result is. Each range contains the measured value in a share of the
// cases, Level. It covers the error of the step times and the random numbers of the run.
type Intervals struct {
	// Level is the share of the cases in which the range contains the measured value, 0.8.
	Level float64 `json:"level"`
	// Runs is the number of additional simulations behind the ranges, and Requests the number of
	// requests of each.
	Runs     int   `json:"runs"`
	Requests int64 `json:"requests"`
	// Of holds the range of each metric by its name.
	Of map[string]Range `json:"metrics"`
}

// Range is from Low to High, in the unit of its metric.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// nearCapacity is by how many times as much as the times of steps the time of a request varies,
// from which on a load is near what the servers bear.
const nearCapacity = 1.5

// Load returns the load that servers of a spread bear in Level of the cases, where 1 is what they
// bear at the predicted steps; false where the load of the run is not near that. Steps that are 7 %
// slower bear 7 % less load, although latencies may grow by more.
func (v *Intervals) Load(spread *evidence.Spread) (span Range, near bool) {
	fast, slow := spread.Range()
	request := v.Of["mean_e2el_ms"]
	near = request.Low > 0 && request.High/request.Low > nearCapacity*slow/fast
	return Range{Low: 1 / slow, High: 1 / fast}, near
}

// PriceAlike gives results that are shown beside each other one denominator of prices: the
// offered rate if each of them is priced at it, and otherwise each result's whole run. At equal
// flows of tokens, prices are then in the proportion of the prices of an hour.
func PriceAlike(results ...*Result) {
	over := make([]string, len(results))
	for i, r := range results {
		over[i] = r.PricedOver
	}
	if PricedApart(over) {
		for _, r := range results {
			r.PriceWholeRun()
		}
	}
}

// PricedApart reports whether results whose Result.PricedOver is given have different denominators
// of prices. A result without answers has no prices.
func PricedApart(over []string) bool {
	return slices.Contains(over, OfferedRate) && slices.Contains(over, wholeRun)
}

// PriceWholeRun computes the prices of a result over its whole run.
func (r *Result) PriceWholeRun() { r.setPrices(r.WholeRun) }

// SpeculationResult holds the figures of drafts. The keys that begin with spec_decode have the
// names of vLLM's serving benchmark.
type SpeculationResult struct {
	// Drafts is the number of drafts, DraftTokens the number of their tokens, and AcceptedTokens
	// the number of accepted tokens. AcceptanceRate is the share of accepted tokens in percent.
	Drafts         int64   `json:"spec_decode_num_drafts"`
	DraftTokens    int64   `json:"spec_decode_draft_tokens"`
	AcceptedTokens int64   `json:"spec_decode_accepted_tokens"`
	AcceptanceRate float64 `json:"spec_decode_acceptance_rate"`
	// AcceptanceLength is the mean number of tokens that a step with a draft gives, including the
	// model's own token.
	AcceptanceLength float64 `json:"spec_decode_acceptance_length"`
	// PerPosition is, for each place in a row of drafted tokens, the share of drafts that were
	// accepted that far.
	PerPosition []float64 `json:"spec_decode_per_position_acceptance_rates" jsonschema:"shares of drafts that were accepted that far; of admitted requests"`
	// TokensPerStep is the mean number of tokens that a step gives to a sequence that decodes, with
	// a draft or without.
	TokensPerStep float64 `json:"tokens_per_step"`
	// DraftTime is the share of the time of steps that drafting adds, including the host's
	// overhead.
	DraftTime float64 `json:"draft_time_share"`
	// WastedFLOPs is the share of all arithmetic, including the drafter's, that decoding without
	// drafts would not have needed.
	WastedFLOPs float64 `json:"wasted_flops_share"`
	// Speedup is the comparison with the same scenario without speculative decoding; absent if that
	// did not run.
	Speedup *Speedup `json:"speculation_speedup,omitempty"`
}

// Speedup holds factors by which speculative decoding is faster.
type Speedup struct {
	// TPOT and E2EL compare mean latencies, and OutputThroughput compares tokens a second.
	TPOT             float64 `json:"tpot" jsonschema:"mean TPOT without drafts over that with them; of begun requests"`
	E2EL             float64 `json:"e2el" jsonschema:"mean time of a request without drafts over that with them; of completed requests"`
	OutputThroughput float64 `json:"output_throughput" jsonschema:"output tokens a second with drafts over those without; of completed requests"`
}

// speculationResult returns the figures of drafts, or nil if no pool drafts.
func (f *finished) speculationResult() *SpeculationResult {
	if !slices.ContainsFunc(f.speculators, func(p *speculation.Speculator) bool {
		return p != nil
	}) {
		return nil
	}
	var total sim.ReplicaResult
	var accepted []int64
	draftFLOPs := 0.0
	for i, p := range f.speculators {
		if p == nil {
			continue
		}
		w := &f.outcome.Replicas[i]
		total.Busy += w.Busy
		total.Drafting += w.Drafting
		total.Drafted += w.Drafted
		total.Accepted += w.Accepted
		total.DecodeTokens += w.DecodeTokens
		draftFLOPs += p.FLOPs()
		for n, drafts := range p.Accepted() {
			if n == len(accepted) {
				accepted = append(accepted, 0)
			}
			accepted[n] += drafts
		}
	}
	d := &SpeculationResult{DraftTokens: total.Drafted, AcceptedTokens: total.Accepted,
		PerPosition: perPosition(accepted)}
	for _, drafts := range accepted {
		d.Drafts += drafts
	}
	if d.Drafts > 0 {
		d.AcceptanceRate = 100 * float64(d.AcceptedTokens) / float64(d.DraftTokens)
		d.AcceptanceLength = 1 + float64(d.AcceptedTokens)/float64(d.Drafts)
	}
	if steps := total.DecodeTokens - total.Drafted; steps > 0 {
		d.TokensPerStep = float64(steps+d.AcceptedTokens) / float64(steps)
		all, verifying, tokens := f.work.total()
		rejected := times(float64(d.DraftTokens-d.AcceptedTokens), float64(tokens))
		d.WastedFLOPs = (float64(verifying*rejected) + draftFLOPs) / (all + draftFLOPs)
	}
	if total.Busy > 0 {
		d.DraftTime = total.Drafting.Seconds() / total.Busy.Seconds()
	}
	d.Speedup = f.speedup()
	return d
}

// perPosition returns the shares of drafts with at least 1, 2, … accepted tokens.
func perPosition(accepted []int64) []float64 {
	shares := make([]float64, len(accepted)-1)
	var reached int64
	for n := len(accepted) - 1; n > 0; n-- {
		reached += accepted[n]
		shares[n-1] = float64(reached)
	}
	if all := float64(reached + accepted[0]); all > 0 {
		for i := range shares {
			shares[i] /= all
		}
	}
	return shares
}

// speedup compares with the baseline; nil without one.
func (f *finished) speedup() *Speedup {
	base, with := f.baseline, &f.summary
	if base == nil {
		return nil
	}
	return &Speedup{
		TPOT:             times(base.MeanTPOT, with.MeanTPOT),
		E2EL:             times(base.MeanE2EL, with.MeanE2EL),
		OutputThroughput: times(with.OutputThroughput, base.OutputThroughput),
	}
}
