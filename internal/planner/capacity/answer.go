package capacity

import (
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Answer is the outcome of a plan for one model.
type Answer struct {
	Name  string        `json:"name,omitempty"`
	Model string        `json:"model"`
	Load  string        `json:"load"`
	SLO   scenarios.SLO `json:"slo"`
	// ClassSLOs are those of classes that have one of their own.
	ClassSLOs []ClassSLO `json:"class_slo,omitempty"`
	// Rate is what the fleet must sustain where that is steady, in requests/s; Spare replicas may
	// fail meanwhile.
	Rate       float64 `json:"rate"`
	Spare      int     `json:"spare"`
	Confidence float64 `json:"confidence"`

	// Goal is what was looked for.
	Goal Goal `json:"goal"`
	// Prices names the price file and its date; empty where there is none.
	Prices string `json:"prices,omitempty"`
	// Chosen is the fleet that the goal asks for, of a front the cheapest; nil where no option
	// meets the SLO: then Nearest says which comes closest, if any fits.
	Chosen  *Deployment `json:"chosen,omitempty"`
	Nearest *Nearest    `json:"nearest,omitempty"`
	// Points are the fleets by which a front or the lowest latency was found, Reaches what is known
	// of the highest rates of fleets by which the highest was; empty for other goals.
	Points  []Point `json:"points,omitempty"`
	Reaches []Reach `json:"reaches,omitempty"`
	// Jobs are the fleets of a job that would be in time, the cheapest first.
	Jobs []JobDone `json:"jobs,omitempty"`
	// Shapes are the kinds of replicas by accelerator and parallelism, each at its best settings,
	// cheapest fleet first.
	Shapes []Shape `json:"shapes"`
	// FurtherShapes is how many are not shown, those farthest from being chosen.
	FurtherShapes int `json:"further_shapes,omitempty"`
	// BestMeasured is the cheapest of the shapes that was measured, where the cheapest of all was
	// not; or where none was, the cheapest of a better grade, if there is one.
	BestMeasured *Shape `json:"best_measured,omitempty"`
	// Mixed is a cheaper fleet of two kinds of replicas, if there is one.
	Mixed *Mixed `json:"mixed,omitempty"`
	// Growth is the fleet for the rate that is to come, Autoscaling what scaling with the load
	// saves; nil where not asked for.
	Growth      *Growth     `json:"growth,omitempty"`
	Autoscaling *Autoscaled `json:"autoscaling,omitempty"`
	// Rented is the cheapest day of a wave with replicas that always run and others by the hour;
	// nil where not asked for.
	Rented *Rented `json:"rented,omitempty"`
	// Sensitivity says which inputs change the answer if they are wrong by 10 %.
	Sensitivity []Sensitivity `json:"sensitivity,omitempty"`

	// Options is the size of the menu, Simulations how many the search needed, Further how many the
	// rest of the answer did.
	Options     int `json:"options"`
	Simulations int `json:"simulations"`
	Further     int `json:"further_simulations"`
	// Failed counts simulations that failed, so that the answer leaves out what they would have
	// told.
	Failed int `json:"failed_simulations,omitempty"`
	// Unproven says what the answer rests on beside bounds and simulations; nil where there is
	// nothing else.
	Unproven *Unproven `json:"unproven,omitempty"`
	// Pruned counts options that were not simulated, by reason.
	Pruned []Pruned `json:"pruned"`
	// Fates says of every option, in the order of the menu, what became of it; in a large menu, of
	// every simulated option.
	Fates []Fate `json:"options_in_order"`
}

// ClassSLO is the SLO of a class.
type ClassSLO struct {
	Class string        `json:"class"`
	SLO   scenarios.SLO `json:"slo"`
}

// classSLOs returns the SLOs of classes that have one of their own.
func (p *Plan) classSLOs() []ClassSLO {
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
	// Scaled says how many of them run, where they start and stop with the load; nil where all run
	// always. Then the price of an hour is that of the ones that run, on average.
	Scaled *ScaledFleet `json:"scaled,omitempty"`
	// PerMillion, EnergyPerMillion and GPUHours are for a million output tokens: in US dollars, Wh
	// (an upper bound) and hours of an accelerator.
	PerMillion       float64 `json:"dollars_per_million_output_tokens"`
	EnergyPerMillion float64 `json:"wh_per_million_output_tokens"`
	GPUHours         float64 `json:"gpu_hours_per_million_output_tokens"`
	// Carbon is what is emitted for that energy, in grams of CO2 equivalent; 0 where unknown.
	Carbon float64 `json:"g_co2_per_million_output_tokens,omitempty"`
	// Sold is what the tokens of an hour are worth; nil where the plan has no prices of tokens.
	Sold *scenarios.Sold `json:"tokens_sold,omitempty"`
	// Interrupted is the fleet with spot replicas that are taken away; nil where there are none.
	Interrupted *Interrupted `json:"interrupted,omitempty"`
	// JobHours is how long a job takes that was simulated whole, or the share of it that was, with
	// steps as predicted; 0 for other loads.
	JobHours float64 `json:"job_hours,omitempty"`
	JobShare float64 `json:"job_share_simulated,omitempty"`
	// Kept is the share of requests that meet the SLO when the whole fleet is simulated,
	// KeptWithoutSpares when the spares are down.
	Kept              float64 `json:"kept"`
	KeptWithoutSpares float64 `json:"kept_without_spares"`
	// Binds names the limit of the SLO that binds the whole fleet.
	Binds string `json:"slo_binds"`
	// Classes are the shares by class, where there are several.
	Classes []ClassKept `json:"classes,omitempty"`
	// Grade says what the predictions for the fleet rest on.
	Grade evidence.Grade `json:"grade"`
	// Chances say how likely this number of replicas, spares left out, keeps the SLO, and one fewer
	// and one more: over how wrong the predicted step times may be.
	Chances []Chance `json:"chances"`
	// Insights say what the figures of the whole fleet mean, as those of a scenario do.
	Insights []string `json:"insights"`
	// OneFewer says what keeps one replica fewer from the SLO, and what would help; nil where there
	// is one.
	OneFewer *Advice `json:"one_fewer,omitempty"`
	// Scenario is the fleet as a scenario file, Launch the commands that start a replica, one for
	// each pool.
	Scenario string   `json:"scenario"`
	Launch   []string `json:"launch"`
	// Bundle is what starts the fleet; nil where no known engine runs on its hardware, which
	// Unstartable explains.
	Bundle      *launch.Bundle `json:"-"`
	Unstartable string         `json:"unstartable,omitempty"`
}

// Nearest is the option that comes closest to the SLO.
type Nearest struct {
	option int
	Label  string  `json:"label"`
	Kept   float64 `json:"kept"`
	Limit  string  `json:"limit"`
	// Advice says what would help it; nil where nothing of it can be simulated.
	Advice *Advice `json:"advice,omitempty"`
}

// Advice says why a fleet misses the SLO, and what was tried that is not on the menu.
type Advice struct {
	// Replicas is the number that run, Slowdown is the factor on predicted step times under which
	// they must keep the SLO, Kept the share of requests that do.
	Replicas int     `json:"replicas"`
	Slowdown float64 `json:"slowdown"`
	Kept     float64 `json:"kept"`
	// Insights say what the figures of the run mean, as those of a scenario do, and what helps.
	Insights []string           `json:"insights"`
	Remedies []scenarios.Remedy `json:"remedies,omitempty"`
}

// Shape is a kind of replica by accelerator and parallelism.
type Shape struct {
	option int
	Shape  string `json:"shape"`
	// Accelerator is the name of its accelerators, empty where it has two kinds; GPUs is how many a
	// replica, or a group, has.
	Accelerator string `json:"accelerator"`
	GPUs        int    `json:"gpus"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
	// Label is the option of this shape that is shown: the one that costs least as far as is known.
	Label string `json:"label"`
	// Rate is the highest that a replica sustains, in requests/s, to about 3 %; 0 where none, or
	// where replicas are not judged one by one.
	Rate float64 `json:"rate"`
	// KVTokens is what the KV memory of a replica holds; 0 where the model does not fit.
	KVTokens int `json:"kv_tokens"`
	// Replicas and Accelerators are those of the fleet, spares included; 0 where none meets the
	// SLO.
	Replicas     int `json:"replicas"`
	Accelerators int `json:"accelerators"`
	// Fewest is the least number of replicas that run, spares included, where they start and stop
	// with the load; 0 where all run always.
	Fewest     int     `json:"fewest_replicas,omitempty"`
	Hourly     float64 `json:"dollars_per_hour"`
	PerMillion float64 `json:"dollars_per_million_output_tokens"`
	// HourlyLeast is what the fleet would cost if steps were as fast as they are in one case of
	// ten. It is reckoned, not simulated.
	HourlyLeast float64 `json:"least_dollars_per_hour"`
	// Limit is what keeps the shape from more: what does not fit, or is missed at a higher rate.
	Limit string `json:"limit"`
}

// Mixed is a fleet of two kinds of replicas, among which requests go to the replica with the fewest
// unless the menu has routing policies.
type Mixed struct {
	options  [2]*option
	Labels   [2]string `json:"labels"`
	Replicas [2]int    `json:"replicas"`
	Hourly   float64   `json:"dollars_per_hour"`
	// Share is the part of the requests that the first kind serves, by the highest rates.
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

// Fate is what became of an option.
type Fate struct {
	Label    string  `json:"label"`
	Kind     string  `json:"kind"`
	Words    string  `json:"words,omitempty"`
	Replicas int     `json:"replicas,omitempty"`
	Ceiling  float64 `json:"bound_requests_per_second,omitempty"`
}
