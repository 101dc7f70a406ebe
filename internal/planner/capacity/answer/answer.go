// Package answer holds what a plan answers, as values: the fleet, what it costs, what its
// simulations found and what was ruled out. It writes them as a page, in brief, and as CSV.
package answer

import (
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
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
	// ClassSLOs are the SLOs of classes that have one of their own.
	ClassSLOs []ClassSLO `json:"class_slo,omitempty"`
	// Rate is the steady rate in requests/s that the fleet must sustain, while Spare replicas are
	// down.
	Rate       float64 `json:"rate"`
	Spare      int     `json:"spare"`
	Confidence float64 `json:"confidence"`

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
	// Points are the simulated fleets of the goal front. Throughputs are the highest known rates of
	// fleets for the goal throughput. Both are empty for other goals.
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
	// Sensitivity says which inputs change the answer if they are wrong by 10 %.
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`
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
	Name   string    `json:"name,omitempty"`
	Models []*Answer `json:"models"`
	// Accelerators and Hourly add up over all chosen fleets.
	Accelerators int     `json:"accelerators"`
	Hourly       float64 `json:"dollars_per_hour"`
	// Currency is the currency of Hourly; absent for US dollars.
	Currency units.Currency `json:"currency,omitempty"`
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
