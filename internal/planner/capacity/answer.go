package capacity

import (
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Answer is the outcome of a plan for one model.
type Answer struct {
	// joint is set where other models take accelerators from the same stock.
	joint bool
	Name  string        `json:"name,omitempty"`
	Model string        `json:"model"`
	Load  string        `json:"load"`
	SLO   scenarios.SLO `json:"slo"`
	// ClassSLOs are the SLOs of classes that have one of their own.
	ClassSLOs []ClassSLO `json:"class_slo,omitempty"`
	// Rate is the steady rate in requests/s that the fleet must sustain, while Spare replicas are
	// down.
	Rate       float64 `json:"rate"`
	Spare      int     `json:"spare"`
	Confidence float64 `json:"confidence"`

	// Goal is the goal of the plan in words.
	Goal menu.Goal `json:"goal"`
	// Prices names the price file and its date; empty if there is none.
	Prices string `json:"prices,omitempty"`
	// Chosen is the fleet that the goal asks for, and of a front the cheapest fleet. It is nil if
	// no option meets the SLO. Then Nearest is the option that comes closest, if any option fits.
	Chosen  *Deployment `json:"chosen,omitempty"`
	Nearest *Nearest    `json:"nearest,omitempty"`
	// Points are the simulated fleets of the goals front and latency. Reaches are the highest known
	// rates of fleets for the goal throughput. Both are empty for other goals.
	Points  []Point `json:"points,omitempty"`
	Reaches []Reach `json:"reaches,omitempty"`
	// Jobs are the fleets of a job that would be in time, the cheapest first.
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
	// Mixed is a cheaper fleet of two kinds of replicas, if there is one.
	Mixed *Mixed `json:"mixed,omitempty"`
	// Growth is the fleet for the rate to come, and Autoscaling what scaling with the load saves.
	// Each is nil if the plan does not ask for it.
	Growth      *Growth     `json:"growth,omitempty"`
	Autoscaling *Autoscaled `json:"autoscaling,omitempty"`
	// Rented is the cheapest day of a wave with some replicas that always run and others by the
	// hour; nil if the plan does not ask for it.
	Rented *Rented `json:"rented,omitempty"`
	// Sensitivity says which inputs change the answer if they are wrong by 10 %.
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`

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
	// Fates has the fate of every option, in the order of the menu; for a large menu, that of every
	// simulated option.
	Fates []Fate `json:"options_in_order"`
}

// ClassSLO is the SLO of a class.
type ClassSLO struct {
	Class string        `json:"class"`
	SLO   scenarios.SLO `json:"slo"`
}

// classSLOs returns the SLOs of classes that have one of their own.
func classSLOs(p *menu.Plan) []ClassSLO {
	var list []ClassSLO
	for _, c := range p.Workload.Classes {
		if c.SLO != (scenarios.SLO{}) {
			list = append(list, ClassSLO{c.Name, c.SLO.Complete()})
		}
	}
	return list
}

// Deployment is a fleet of equal replicas.
type Deployment struct {
	option *option
	load   string // in words
	Label  string `json:"label"`
	// Replicas includes the spares.
	Replicas     int     `json:"replicas"`
	Accelerators int     `json:"accelerators"`
	Hourly       float64 `json:"dollars_per_hour"`
	// Scaled says how many replicas run, if they start and stop with the load. The price of an hour
	// is then that of the running replicas, on average. Scaled is nil if all replicas run all the
	// time.
	Scaled *ScaledFleet `json:"scaled,omitempty"`
	// PerMillion, EnergyPerMillion and GPUHours are for a million output tokens: in US dollars, Wh
	// (an upper bound) and hours of an accelerator.
	PerMillion       float64 `json:"dollars_per_million_output_tokens"`
	EnergyPerMillion float64 `json:"wh_per_million_output_tokens"`
	GPUHours         float64 `json:"gpu_hours_per_million_output_tokens"`
	// Carbon is the emissions for that energy, in grams of CO2 equivalent; 0 if unknown.
	Carbon float64 `json:"g_co2_per_million_output_tokens,omitempty"`
	// Sold is the worth of the tokens of an hour; nil if the plan has no prices of tokens.
	Sold *scenarios.Sold `json:"tokens_sold,omitempty"`
	// Interrupted is the simulation of the fleet with spot replicas that are taken away; nil if
	// there are none.
	Interrupted *Interrupted `json:"interrupted,omitempty"`
	// JobHours is the time in hours of the simulated part of a job, with steps as predicted; 0 for
	// other loads.
	JobHours float64 `json:"job_hours,omitempty"`
	JobShare float64 `json:"job_share_simulated,omitempty"`
	// Kept is the share of requests that meet the SLO in the simulation of the whole fleet, and
	// KeptWithoutSpares the share when the spares are down.
	Kept              float64 `json:"kept"`
	KeptWithoutSpares float64 `json:"kept_without_spares"`
	// Binds names the limit of the SLO that binds the whole fleet.
	Binds string `json:"slo_binds"`
	// Classes are the shares by class, if there are several.
	Classes []ClassKept `json:"classes,omitempty"`
	// Grade says what the predictions for the fleet rest on.
	Grade evidence.Grade `json:"grade"`
	// Chances are the probabilities that this number of replicas without the spares, one fewer and
	// one more keep the SLO, given how wrong the predictions of TPOT and TTFT may be.
	Chances []Chance `json:"chances"`
	// Certainty is what the fleet costs beyond one that is enough if all predictions are right; nil
	// where that was not looked for.
	Certainty *Certainty `json:"certainty,omitempty"`
	// Insights explain the figures of the whole fleet, as for a scenario.
	Insights []string `json:"insights"`
	// OneFewer says why one replica fewer misses the SLO, and what would help; nil if the fleet has
	// one replica.
	OneFewer *Advice `json:"one_fewer,omitempty"`
	// Scenario is the fleet as a scenario file. Launch has the commands that start a replica, one
	// for each pool.
	Scenario string   `json:"scenario"`
	Launch   []string `json:"launch"`
	// Bundle has the files that start the fleet. It is nil if no known engine runs on its hardware,
	// for the reason in Unstartable.
	Bundle      *launch.Bundle `json:"-"`
	Unstartable string         `json:"unstartable,omitempty"`
}

// Certainty is what it costs that the SLO is kept although predictions may be wrong.
type Certainty struct {
	// Predicted is the least number of replicas, spares left out, that keep the SLO if all
	// predictions are right.
	Predicted int `json:"replicas_as_predicted"`
	// Needed is the number of the fleet, spares left out.
	Needed int `json:"replicas"`
	// Hourly is the price of the further replicas of the fleet, in US dollars an hour.
	Hourly float64 `json:"dollars_per_hour"`
}

// Nearest is the option that comes closest to the SLO.
type Nearest struct {
	option int
	Label  string  `json:"label"`
	Kept   float64 `json:"kept"`
	Limit  string  `json:"limit"`
	// Advice says what would help the option; nil if it cannot be simulated.
	Advice *Advice `json:"advice,omitempty"`
}

// Advice says why a fleet misses the SLO, and which changes outside the menu were tried.
type Advice struct {
	// Replicas is the number that run. Slowdown is the factor on predicted step times, and Late the
	// further factor on TTFT, under which they must keep the SLO, and Kept is the share of requests
	// that do.
	Replicas int     `json:"replicas"`
	Slowdown float64 `json:"slowdown"`
	Late     float64 `json:"ttft_factor"`
	Kept     float64 `json:"kept"`
	// Insights explain the figures of the run, as for a scenario, and say what helps.
	Insights []string           `json:"insights"`
	Remedies []scenarios.Remedy `json:"remedies,omitempty"`
}

// Shape is a kind of replica by accelerator and parallelism.
type Shape struct {
	option int
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
	// replica sustains none, or if replicas are not judged one by one.
	Rate float64 `json:"rate"`
	// KVTokens is the number of tokens that the KV memory of a replica holds; 0 if the model does
	// not fit.
	KVTokens int `json:"kv_tokens"`
	// Replicas and Accelerators are the numbers of the fleet, spares included; 0 if no fleet meets
	// the SLO.
	Replicas     int `json:"replicas"`
	Accelerators int `json:"accelerators"`
	// Fewest is the least number of running replicas, spares included, if they start and stop with
	// the load; 0 if all run all the time.
	Fewest     int     `json:"fewest_replicas,omitempty"`
	Hourly     float64 `json:"dollars_per_hour"`
	PerMillion float64 `json:"dollars_per_million_output_tokens"`
	// HourlyLeast is the price of the fleet that would suffice if steps were as fast as they are in
	// one case of ten. It is estimated, and not simulated.
	HourlyLeast float64 `json:"least_dollars_per_hour"`
	// Limit says what limits the shape: why it does not fit, or what it misses at a higher rate.
	Limit string `json:"limit"`
}

// Mixed is a fleet of two kinds of replicas, among which requests go to the replica with the fewest
// unless the menu has routing policies.
type Mixed struct {
	options  [2]*option
	Labels   [2]string `json:"labels"`
	Replicas [2]int    `json:"replicas"`
	Hourly   float64   `json:"dollars_per_hour"`
	// Share is the share of the requests that the first kind serves, by the highest rates.
	Share float64 `json:"share_of_first"`
	// Kept is the share of requests that kept the part of the SLO that binds, the fleet simulated
	// whole with the spares down.
	Kept float64 `json:"kept"`
}

// Growth is the cheapest fleet for a higher rate.
type Growth struct {
	Factor   float64 `json:"factor"`
	Label    string  `json:"label,omitempty"`
	Replicas int     `json:"replicas"`
	Hourly   float64 `json:"dollars_per_hour"`
}

// Autoscaled is a day of the chosen fleet under a load that follows a wave, with as many replicas
// as each quarter of an hour and the next need.
type Autoscaled struct {
	// Fixed and Scaled are GPU-hours a day without and with scaling.
	Fixed  float64 `json:"gpu_hours_fixed"`
	Scaled float64 `json:"gpu_hours_scaled"`
	Least  int     `json:"fewest_replicas"`
	Most   int     `json:"most_replicas"`
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

// Fate says why an option won or lost.
type Fate struct {
	Label    string  `json:"label"`
	Kind     string  `json:"kind"`
	Words    string  `json:"words,omitempty"`
	Replicas int     `json:"replicas,omitempty"`
	Ceiling  float64 `json:"bound_requests_per_second,omitempty"`
}
