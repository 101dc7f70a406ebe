// Package answer holds what a plan answers, as values: the fleet, what it costs, what its
// simulations found and what was ruled out. It writes them as a page, in brief, and as CSV.
package answer

import (
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Answer is the outcome of a plan for one model.
type Answer struct {
	// Joint is set where other models take accelerators from the same stock.
	Joint bool          `json:"-"`
	Name  string        `json:"name,omitempty"`
	Model string        `json:"model"`
	Load  string        `json:"load"`
	SLO   scenarios.SLO `json:"slo"`
	// SentOn says where the requests come from, if another model has them first.
	SentOn string `json:"requests_from,omitempty"`
	// ClassesApart is the least price of an hour if classes have servers of their own, where one
	// fleet for all is the answer. ClassesTogether is the price of one fleet for all, where several
	// are the answer. They are 0 where that is not known.
	ClassesApart    float64 `json:"classes_apart_dollars_per_hour,omitempty"`
	ClassesTogether float64 `json:"classes_together_dollars_per_hour,omitempty"`
	// ClassSLOs are the SLOs of classes that have one of their own.
	ClassSLOs []ClassSLO `json:"class_slo,omitempty"`
	// Rate is the steady rate in requests/s that the fleet must sustain, while Spare replicas are
	// down.
	Rate       float64 `json:"rate"`
	Spare      int     `json:"spare"`
	Confidence float64 `json:"confidence"`

	// KnownOff says in what way predictions for the answer, or for the nearest option, are known to
	// be off, and OthersOff the same for other options.
	KnownOff  []string `json:"known_deviations,omitempty"`
	OthersOff []string `json:"known_deviations_of_others,omitempty"`
	// Warnings says which keys of the plan were read as something else, or have no effect.
	Warnings []string `json:"warnings,omitempty"`
	// Goal is the goal of the plan in words.
	Goal asked.Goal `json:"goal"`
	// Currency is the currency of all amounts, even where the name of a figure has dollars in it;
	// absent for US dollars.
	Currency units.Currency `json:"currency,omitempty"`
	// Prices names the price file and its date; it may be empty.
	Prices string `json:"prices,omitempty"`
	// PricesOf are the prices of the menu, with the chosen fleet's first.
	PricesOf []Price `json:"prices_of,omitempty"`
	// Chosen is the fleet that the goal asks for, and of a front the cheapest fleet. It is nil if
	// no option meets the SLO. Then Nearest is the option that comes closest, if any option fits.
	Chosen  *Deployment `json:"chosen,omitempty"`
	Nearest *Nearest    `json:"nearest,omitempty"`
	// Today is the deployment that serves now, where one was given.
	Today *Today `json:"today,omitempty"`
	// Points are the simulated fleets of the goal front. Throughputs are the rates of fleets
	// for the goal throughput. Both are empty for other goals.
	Points      []Point      `json:"points,omitempty"`
	Throughputs []Throughput `json:"reaches,omitempty"`
	// Jobs are the fleets of a job that would be in time, the cheapest first, and among them, if
	// the first was not measured, the cheapest that was.
	Jobs []JobDone `json:"jobs,omitempty"`
	// Shapes are the kinds of replicas by accelerator and parallelism, each at its best settings,
	// cheapest fleet first.
	Shapes []Shape `json:"shapes"`
	// FurtherShapes is the number of shapes that are not shown, which are the ones farthest from
	// being chosen.
	FurtherShapes int `json:"further_shapes,omitempty"`
	// BestMeasured is the cheapest measured shape, if the cheapest of all was not measured. If no
	// shape was measured, it is the cheapest shape with a better grade, if there is one.
	BestMeasured *Shape `json:"best_measured,omitempty"`
	// Growth is the fleet for the rate to come; nil if the plan does not ask for it.
	Growth *Growth `json:"growth,omitempty"`
	// PriceCurves are the prices of fleets for loads around the asked one, the answer's first;
	// empty where that was not asked.
	PriceCurves []PriceCurve `json:"price_curves,omitempty"`
	// Horizon is what to rent over months in which the load grows; nil if the plan does not ask.
	Horizon *Horizon `json:"horizon,omitempty"`
	// Sensitivity says which inputs change the answer if they are wrong by 10 %.
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
	// Measurements are worth making, the one that may save most first: no fleet is the cheapest
	// for sure while its step times are only predicted.
	Measurements []Measurement `json:"worth_measuring,omitempty"`
	// Contenders is the number of options among which the answers with other inputs were looked
	// for, the nearest to the answer; 0 where they are all that may win.
	Contenders int `json:"sensitivity_options,omitempty"`

	// Tuned is what settings beside the menu's brought; nil where no such setting was tried.
	Tuned *Tuned `json:"tuned,omitempty"`

	// Options is the size of the menu. Simulations is the number of simulations that the search
	// needed, and Further the number for the rest of the answer.
	Options     int `json:"options"`
	Simulations int `json:"simulations"`
	Further     int `json:"further_simulations"`
	// Failed is the number of simulations that failed. The answer leaves out their results.
	Failed int `json:"failed_simulations,omitempty"`
	// Unproven describes the rules without proof on which the answer rests; nil if it rests on
	// bounds and simulations only.
	Unproven *Unproven `json:"unproven,omitempty"`
	// Pruned counts options that were not simulated, by reason.
	Pruned []Pruned `json:"pruned"`
	// Outcomes has the outcome of every option, in the order of the menu; for a large menu, every
	// simulated option's.
	Outcomes []Outcome `json:"options_in_order"`
}

// ClassSLO is the SLO of a class.
type ClassSLO struct {
	Class string        `json:"class"`
	SLO   scenarios.SLO `json:"slo"`
}

// Sensitivity is what the answer would be if an input were 10 % other than it is.
type Sensitivity struct {
	Input   string `json:"input"`
	Changes bool   `json:"changes"`
	Answer  string `json:"answer"`
}

// Pruned is options that were not simulated.
type Pruned struct {
	Why     string `json:"why"`
	Options int    `json:"options"`
	Example string `json:"example"`
}

// Outcome says why an option won or lost.
type Outcome struct {
	Label   string  `json:"label"`
	Kind    string  `json:"kind"`
	Words   string  `json:"words,omitempty"`
	Ceiling float64 `json:"bound_requests_per_second,omitempty"`
}

// Unproven says by which rules fleets were left out that no bound excludes and that were not
// simulated. The rules are not proven.
type Unproven struct {
	// Rules are the rules in words.
	Rules []string `json:"rules"`
	// Options is how many options have such fleets, where the goal is the cheapest.
	Options int `json:"options,omitempty"`
	// Checked is how many of these fleets were simulated in the end, and Better how many of them
	// became the answer then.
	Checked int `json:"checked,omitempty"`
	Better  int `json:"better,omitempty"`
}

// Answers are the outcome of a plan: the fleet of each model.
type Answers struct {
	Name string `json:"name,omitempty"`
	// Divided says how the requests of one model are divided by their prompts, each part with an
	// answer of its own; nil where they are not.
	Divided *Divided  `json:"divided,omitempty"`
	Models  []*Answer `json:"models"`
	// Accelerators and Hourly add up over all chosen fleets.
	Accelerators int     `json:"accelerators"`
	Hourly       float64 `json:"dollars_per_hour"`
	// Currency is the currency of Hourly; absent for US dollars.
	Currency units.Currency `json:"currency,omitempty"`
}

// Divided is what the fleets of requests that are divided by the lengths of their prompts show as
// one.
type Divided struct {
	Seeds    int   `json:"seeds"`
	Requests int64 `json:"requests"` // with each seed
	// Kept is the least share of all requests that keeps the SLO with any seed, spares down, with
	// steps as slow as the plan demands.
	Kept     float64 `json:"kept"`
	Scenario string  `json:"scenario"`
}

// Failed counts simulations that failed.
func (a *Answers) Failed() int {
	n := 0
	for _, answer := range a.Models {
		n += answer.Failed
	}
	return n
}

// Buildable reports whether some option of each model's menu can be built.
func (a *Answers) Buildable() bool {
	return !slices.ContainsFunc(a.Models, func(answer *Answer) bool {
		return answer.Chosen == nil && answer.Nearest == nil
	})
}

// Met reports whether there is a fleet for every model.
func (a *Answers) Met() bool {
	return !slices.ContainsFunc(a.Models, func(answer *Answer) bool { return answer.Chosen == nil })
}

// Advice says why a fleet misses the SLO, and which changes outside the menu were tried.
type Advice struct {
	// Replicas is the number that run. Slowdown is the factor on predicted step times, and Late the
	// further factor on TTFT, under which they must keep the SLO, and Kept is the share of requests
	// that do; the SLO asks for Target.
	Replicas int     `json:"replicas"`
	Slowdown float64 `json:"slowdown"`
	Late     float64 `json:"ttft_factor"`
	Kept     float64 `json:"kept"`
	Target   float64 `json:"-"`
	// Insights explain the figures of the run, as for a scenario, and say what helps.
	Insights []string           `json:"insights"`
	Remedies []scenarios.Remedy `json:"remedies,omitempty"`
}

// Shape is a kind of replica by accelerator and parallelism.
type Shape struct {
	Option int    `json:"-"` // its number on the menu
	Shape  string `json:"shape"`
	// Accelerator is the name of its accelerators; empty if it has two kinds. GPUs is the number of
	// accelerators of a replica or a group.
	Accelerator string `json:"accelerator"`
	GPUs        int    `json:"gpus"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
	// Label names the option of this shape that is shown, which is the cheapest one as far as is
	// known.
	Label string `json:"label"`
	// Rate is the highest rate that a replica sustains, in requests/s, to about 3 %. It is 0 if a
	// replica sustains no request, or if replicas are not judged one by one.
	Rate float64 `json:"rate"`
	// KVTokens is the number of tokens that the KV memory of a replica holds; 0 if the model does
	// not fit.
	KVTokens int `json:"kv_tokens"`
	// Replicas and Accelerators are the numbers of the fleet, spares included, and Hourly its
	// price, as the plan would answer with this shape alone; 0 if that was not asked, or no fleet
	// meets the SLO.
	Replicas     int `json:"replicas"`
	Accelerators int `json:"accelerators"`
	// Fewest is the least number of running replicas, spares included, if they start and stop with
	// the load; 0 if all run all the time.
	Fewest     int     `json:"fewest_replicas,omitempty"`
	Hourly     float64 `json:"dollars_per_hour"`
	PerMillion float64 `json:"dollars_per_million_output_tokens"`
	// AtLeast bounds the price an hour of a fleet from below, with any settings that a plan tries;
	// 0 where a price is known, or that no fleet keeps the SLO.
	AtLeast float64 `json:"at_least_dollars_per_hour,omitempty"`
	// Limit says what limits the shape: why it does not fit, or what it misses at a higher rate.
	Limit string `json:"limit"`
}

// Point is a simulated fleet with its price and its figures. Steps are slow: as slow as the asked
// confidence demands, by how far predictions of such servers were off.
type Point struct {
	Option   int    `json:"-"` // its number on the menu
	Label    string `json:"label"`
	Replicas int    `json:"replicas"` // with the spares
	// Hourly is its price in US dollars an hour, Latency the measure of the goal in milliseconds,
	// and Energy the energy for a million output tokens in Wh.
	Hourly  float64 `json:"dollars_per_hour"`
	Latency float64 `json:"latency_ms"`
	Energy  float64 `json:"wh_per_million_output_tokens"`
	// Kept is the share of requests that keep the part of the SLO that binds, with the spares down.
	Kept float64 `json:"kept"`
	// Front reports whether no other fleet is better in one of these three and as good in the
	// others.
	Front bool `json:"front"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
}

// Dominates reports whether p is at least as good as q in price, latency and energy, and better in
// one.
func (p *Point) Dominates(q *Point) bool {
	return p.Hourly <= q.Hourly && p.Latency <= q.Latency && p.Energy <= q.Energy &&
		(p.Hourly < q.Hourly || p.Latency < q.Latency || p.Energy < q.Energy)
}

// Throughput says how many requests the largest fleet of an option serves.
type Throughput struct {
	Label    string  `json:"label"`
	Replicas int     `json:"replicas"` // with the spares
	Hourly   float64 `json:"dollars_per_hour"`
	Watts    float64 `json:"peak_watts"`
	// Rate is the highest rate in requests/s, of rates about 3 % apart, at which the whole fleet
	// was simulated and keeps the SLO.
	Rate float64 `json:"rate"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
}

// JobDone is the fleet of a job, or an option that would do it.
type JobDone struct {
	Label    string `json:"label"`
	Replicas int    `json:"replicas"`
	Requests int64  `json:"requests"`
	// Hours is what the whole fleet takes with slow steps and pauses, and the share of it
	// Interruptions more, by their mean number, which are not simulated.
	Hours         float64 `json:"hours"`
	Interruptions float64 `json:"interruptions_share,omitempty"`
	// Dollars is the price of the fleet until the job is done, PerMillion the price of a million
	// tokens, prompts and answers together.
	Dollars    float64 `json:"dollars"`
	PerMillion float64 `json:"dollars_per_million_tokens"`
	// Grade says what the predictions rest on, and InTime in which share of the cases the fleet is
	// in time, over all errors of predicted step times, if the job takes as much longer as they do,
	// as far as servers bear it out that were left out of the fit.
	Grade  evidence.Grade `json:"grade"`
	InTime float64        `json:"in_time_probability"`
	// Runs are the times in which the fleet is up, where its price differs by hour, From the hour
	// of the day from which it may be, and AtOnce what the job would cost from then on.
	Runs   []JobRun `json:"runs,omitempty"`
	From   int      `json:"from_hour,omitempty"`
	AtOnce float64  `json:"dollars_at_once,omitempty"`
}

// JobRun is a time in which the fleet of a job is up, in hours since the job may run.
type JobRun struct {
	From     float64 `json:"from_hours"`
	To       float64 `json:"to_hours"`
	Requests int64   `json:"requests"`
}

// ClassKept is the share of the requests of a class that met its SLO.
type ClassKept struct {
	Name string  `json:"name"`
	Kept float64 `json:"kept"`
}

// Certain is the least probability that is distinguished from 0, and from 1 by its complement.
const Certain = 0.015

// Setting is a setting of a replica, or of one of a pool.
type Setting struct {
	// Name is the engine's flag, or the key of a scenario where no flag sets it.
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	// Pool is prefill or decode where only one of the two has it.
	Pool string `json:"pool,omitempty"`
}

// Today is the deployment that serves now, beside the fleet of the answer. Both are simulated at
// the predicted speed, with all replicas up and with the same seeds.
type Today struct {
	Label        string `json:"label"`
	Replicas     int    `json:"replicas"`
	Accelerators int    `json:"accelerators"`
	// Hourly is its price an hour; nil where its accelerator has no price.
	Hourly *float64 `json:"dollars_per_hour,omitempty"`
	// Kept is the share of requests after the warm-up that keep the part of the SLO that binds, and
	// Met whether the SLO is kept. AnswerKept and AnswerMet describe the answer's fleet; nil
	// without an answer.
	Kept       float64  `json:"slo_attainment"`
	Met        bool     `json:"slo_met"`
	AnswerKept *float64 `json:"answer_slo_attainment,omitempty"`
	AnswerMet  *bool    `json:"answer_slo_met,omitempty"`
	// Saved is what the answer costs less an hour, where replicas that stay cost what they cost
	// today; nil where a price is missing. SavedAsPlanned is what it costs less where they have the
	// plan's price; nil where that is the same.
	Saved          *float64 `json:"saved_dollars_per_hour,omitempty"`
	SavedAsPlanned *float64 `json:"saved_at_plan_prices,omitempty"`
	// Changes are the settings that the answer has differently, and Steps what leads from one
	// fleet to the other, in order.
	Changes []string `json:"changes,omitempty"`
	Steps   []string `json:"steps,omitempty"`
}

// Price is the price of an accelerator of the menu and where it is from.
type Price struct {
	Accelerator string `json:"accelerator"`
	// Hourly is the price an hour, in Currency, a code of ISO 4217.
	Hourly   float64 `json:"hourly"`
	Currency string  `json:"currency"`
	Term     string  `json:"term"`
	Region   string  `json:"region,omitempty"`
	// Provider is empty where the menu names no provider.
	Provider string `json:"provider,omitempty"`
	// Date is a day, or of the catalogue a year or a month; empty where it is not known.
	Date string `json:"date,omitempty"`
	// Source is empty where the menu gives no source.
	Source string `json:"source,omitempty"`
	// Chosen reports whether the chosen fleet has the accelerator at this price.
	Chosen bool `json:"chosen,omitempty"`
}

// Tuned is what settings of the engine brought that the menu leaves to its defaults.
type Tuned struct {
	// Settings are the chosen fleet's settings that differ from the defaults.
	Settings []Setting `json:"settings,omitempty"`
	// Without is the fleet that would be the answer with the defaults.
	Without         string  `json:"without"`
	WithoutReplicas int     `json:"without_replicas"`
	WithoutHourly   float64 `json:"without_dollars_per_hour"`
	// WithoutScaled reports whether its replicas start and stop, so that Replicas is their largest
	// number.
	WithoutScaled bool `json:"without_scaled,omitempty"`
	// PlainCache is the answer where the KV cache has the format of the menu, or the engine; nil
	// where it has it in the answer too, or where that was not asked.
	PlainCache *Priced `json:"without_fp8_cache,omitempty"`
	// WithoutJob is the price of a job with it.
	WithoutJob float64 `json:"without_dollars,omitempty"`
	// WithoutLatency is its latency in milliseconds, of a front.
	WithoutLatency float64 `json:"without_latency_ms,omitempty"`
	// WithoutRate is the rate that it serves, in requests/s, where the highest is asked for.
	WithoutRate float64 `json:"without_requests_per_second,omitempty"`
	// Tried counts the options with other settings that were simulated, and Simulations their
	// simulations.
	Tried       int `json:"tried"`
	Simulations int `json:"simulations"`
}
