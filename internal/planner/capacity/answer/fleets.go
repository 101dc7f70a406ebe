package answer

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Deployment is a fleet of equal replicas.
type Deployment struct {
	Load  string `json:"-"` // in words
	Label string `json:"label"`
	// Replicas includes the spares, which are whole replicas or groups, or where SparesPaired is
	// set, one replica of either kind each, in the one group.
	SparesPaired bool    `json:"spares_paired,omitempty"`
	Replicas     int     `json:"replicas"`
	Accelerators int     `json:"accelerators"`
	Hourly       float64 `json:"dollars_per_hour"`
	// Base is the on-demand or reserved replicas of a spot fleet; nil without them.
	Base *Base `json:"base,omitempty"`
	// Scaled says how many replicas run, if they start and stop with the load. The price of an hour
	// is then the average over time of the running replicas' price. Scaled is nil if all replicas
	// run all the time.
	Scaled *ScaledFleet `json:"scaled,omitempty"`
	// PerMillion, EnergyPerMillion and GPUHours are for a million output tokens: in US dollars, Wh
	// (an upper bound) and hours of an accelerator.
	PerMillion       float64 `json:"dollars_per_million_output_tokens"`
	EnergyPerMillion float64 `json:"wh_per_million_output_tokens"`
	GPUHours         float64 `json:"gpu_hours_per_million_output_tokens"`
	// Carbon is the emissions for that energy, in grams of CO2 equivalent; 0 if unknown.
	Carbon float64 `json:"g_co2_per_million_output_tokens,omitempty"`
	// Sold is the worth of the tokens of an hour; nil if the plan has no prices of tokens.
	Sold *scenarios.TokenRevenue `json:"tokens_sold,omitempty"`
	// Law says that a part of the fleet was simulated for all of it; nil if all of it was.
	Law *Law `json:"law,omitempty"`
	// Interrupted is the simulation of the fleet with spot replicas that are preempted; nil
	// without them.
	Interrupted *Interrupted `json:"interrupted,omitempty"`
	// JobHours is the time in hours of the simulated part of a job, with steps as predicted; 0 for
	// other loads.
	JobHours float64 `json:"job_hours,omitempty"`
	JobShare float64 `json:"job_share_simulated,omitempty"`
	// Kept is the share of requests that meet the SLO in the simulation of the whole fleet, and
	// KeptWithoutSpares the share when the spares are down.
	Kept              float64 `json:"kept"`
	KeptWithoutSpares float64 `json:"kept_without_spares"`
	// Users is the number of users who wait for their answers, and Sent the requests a second that
	// they send to the whole fleet; 0 for other loads.
	Users int     `json:"users,omitempty"`
	Sent  float64 `json:"requests_per_second,omitempty"`
	// Binds names the limit of the SLO that binds the whole fleet.
	Binds string `json:"slo_binds"`
	// Curve is the fleet below and above its load; empty where that was not asked, and of jobs.
	Curve []LoadPoint `json:"load_curve,omitempty"`
	// Classes are the shares by class, if there are several.
	Classes []ClassKept `json:"classes,omitempty"`
	// Grade says what the predictions for the fleet rest on.
	Grade evidence.Grade `json:"grade"`
	// Chances are the probabilities that this number of replicas without the spares, one fewer and
	// one more keep the SLO, given how wrong the predictions of TPOT and TTFT may be; of a first
	// answer, of this number alone.
	Chances []Chance `json:"chances"`
	// Likely is the cheapest fleet of the same replicas that keeps the SLO at even odds or better;
	// nil where it is the answer, where its chance is not known to act on, or where that was not
	// looked for.
	Likely *CheaperFleet `json:"at_even_odds,omitempty"`
	// Insights explain the figures of the whole fleet, as for a scenario.
	Insights []string `json:"insights"`
	// OneFewer says why one replica fewer misses the SLO, and what would help; nil if the fleet has
	// one replica.
	OneFewer *Advice `json:"one_fewer,omitempty"`
	// Scenario is the fleet as a scenario file. Launch has the commands that start a replica, one
	// for each pool, and Lacks says what was simulated that they do not express.
	Scenario string   `json:"scenario"`
	Launch   []string `json:"launch"`
	Lacks    []string `json:"launch_lacks,omitempty"`
	// Bundle writes the files that start the fleet. It is nil if no known engine runs on its
	// hardware, for the reason in Unstartable.
	Bundle      interface{ Write(folder string) error } `json:"-"`
	Unstartable string                                  `json:"unstartable,omitempty"`
}

// PriceCurve is the fleets of a kind of server for several loads, each sized by simulations.
type PriceCurve struct {
	Label  string       `json:"label"`
	Points []PricePoint `json:"points"`
}

// PricePoint is the least fleet of a kind for a rate, or a number of users, with its spares.
type PricePoint struct {
	Rate     float64 `json:"requests_per_second,omitempty"`
	Users    int     `json:"users,omitempty"`
	Replicas int     `json:"replicas"`
	Hourly   float64 `json:"dollars_per_hour"`
}

// LoadPoint is a simulation of a fleet at a rate, at a number of users who wait for their answers,
// or at a share of a load that is neither, as a trace is.
type LoadPoint struct {
	Rate  float64 `json:"requests_per_second,omitempty"`
	Users int     `json:"users,omitempty"`
	Share float64 `json:"load_share,omitempty"`
	// Kept is the share of the requests that meet the SLO, and Met reports whether enough do, and
	// would in a longer run.
	Kept float64 `json:"kept"`
	Met  bool    `json:"slo_met"`
	// TTFT and TPOT are 99th percentiles, in milliseconds.
	TTFT float64 `json:"p99_ttft_ms"`
	TPOT float64 `json:"p99_tpot_ms"`
}

// Base is the replicas of a fleet of spot accelerators that are paid for on other terms.
type Base struct {
	Replicas int    `json:"replicas"`
	Terms    string `json:"terms"`
	// Hourly is what they cost an hour, in the currency of the answer.
	Hourly float64 `json:"dollars_per_hour"`
}

// Law is the rule by which a large fleet of alike replicas is judged: by some of them, each at the
// same requests a second.
type Law struct {
	Replicas  int `json:"replicas"`
	Simulated int `json:"simulated_replicas"`
	// Whole is the largest fleet that is simulated whole.
	Whole int `json:"largest_whole_fleet"`
}

// Nearest is the option that comes closest to the SLO.
type Nearest struct {
	Option int     `json:"-"` // its number on the menu
	Label  string  `json:"label"`
	Kept   float64 `json:"kept"`
	Limit  string  `json:"limit"`
	// Advice says what would help the option; nil if it cannot be simulated.
	Advice *Advice `json:"advice,omitempty"`
}

// Growth is the cheapest fleet for a higher rate.
type Growth struct {
	Factor float64 `json:"factor"`
	Priced
}

// Priced is a fleet, spares included, with its price; it has no replicas where no fleet suffices.
type Priced struct {
	Label    string  `json:"label,omitempty"`
	Replicas int     `json:"replicas"`
	Hourly   float64 `json:"dollars_per_hour"`
}

// words names the fleet and its price.
func (p *Priced) words(c units.Currency) string {
	return fmt.Sprintf("%s of %s, %s an hour", units.Plural(p.Replicas, "replica"), p.Label,
		c.Cents(p.Hourly))
}

// Chance is the probability that a number of replicas keeps the SLO, with the spares down.
type Chance struct {
	Replicas int `json:"replicas"`
	// Probability is over the errors of all latencies, and not above the share of such forecasts
	// that came true (evidence.Grade.Supported). It is 0 for less than 0.015, and where a
	// deployment's own measurements decide, 1 for more than 0.985.
	Probability float64 `json:"probability"`
	// Simulated is the probability before that bound, by the simulations alone.
	Simulated float64 `json:"-"`
	// CameTrue is how many of Cases measured cases of such a chance, or a higher one, came true,
	// and CasesOf says of which servers: measured, left out of the fit, or outside of it.
	CameTrue int            `json:"came_true,omitempty"`
	Cases    int            `json:"cases,omitempty"`
	CasesOf  evidence.Grade `json:"cases_of,omitempty"`
	// Low and High are the interval of the probability over seeds, at 95 % confidence.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Kept is the share of requests that keep the SLO with the predicted times.
	Kept float64 `json:"kept"`
}

// Decides reports whether a probability is known well enough to act on it.
func (c *Chance) Decides() bool { return c.High-c.Low <= wide }

// Measurement says what measuring one replica of an option may save.
type Measurement struct {
	Label string `json:"label"`
	// Accelerators is how many one replica has, and Daily what they cost a day.
	Accelerators int     `json:"accelerators"`
	Daily        float64 `json:"dollars_per_day"`
	// Saving is the expected saving of a year: of the price of the answer less the price of the
	// cheapest of Fleets that holds, where one does.
	Saving float64        `json:"expected_saving_dollars_per_year"`
	Fleets []CheaperFleet `json:"fleets"`
	// Commands start a replica, load it and settle the plan. Scenario is the replica as a scenario
	// file, which --out writes as MeasureFile. Both are empty where no known engine runs on it.
	Commands []string `json:"commands,omitempty"`
	Scenario string   `json:"scenario"`
}

// MeasureFile is the name of the scenario of the first measurement.
const MeasureFile = "measure.yaml"

// add says what a measurement may save, and where commands are shown, how to make it.
func (m *Measurement) add(g *page, a *Answer, commands bool) {
	f := &m.Fleets[0]
	are, miss := "are enough", "they miss"
	if f.Replicas == 1 {
		are, miss = "is enough", "it misses"
	}
	alike, why := "", ""
	if a.asLikely(f) {
		alike = fmt.Sprintf(" (the answer in %s)", percentChance(a.Chosen.chance().Probability))
		why = fmt.Sprintf("; but %s the SLO where each latency is as late as in %.4g%% of cases",
			miss, 100*a.Confidence)
	}
	for _, fewer := range m.Fleets[1:] {
		are += fmt.Sprintf(", in %s %d for %s", units.Percent(fewer.Probability),
			fewer.Replicas, a.Currency.Cents(fewer.Hourly))
	}
	g.text(measurement, fmt.Sprintf("Worth measuring: a day of 1 replica of %s (%s) is expected "+
		"to save %s a year, since in %s of cases%s %s for %s an hour %s%s.", m.Label,
		a.Currency.Cents(m.Daily), a.whole(m.Saving), units.Percent(f.Probability), alike,
		units.Plural(f.Replicas, "replica"), a.Currency.Cents(f.Hourly), are, why))
	if !commands || m.Commands == nil {
		return
	}
	list := texts("To measure it, and to settle the plan (" + MeasureFile + " is in --out DIR):")
	for _, command := range m.Commands {
		list = append(list, doc.Block{Kind: doc.Command, Words: command})
	}
	g.add(commandsOfMeasurement, list)
}

// CheaperFleet is a fleet that costs less than the answer, and the probability that it keeps the
// SLO.
type CheaperFleet struct {
	Replicas int     `json:"replicas"` // with the spares
	Hourly   float64 `json:"dollars_per_hour"`
	// Less is by how much it is cheaper an hour.
	Less        float64 `json:"dollars_per_hour_less"`
	Probability float64 `json:"probability"`
}

// ScaledFleet says how many replicas of a fleet run that start and stop with the load, spares
// included.
type ScaledFleet struct {
	// Policy is the way of scaling in words.
	Policy string `json:"policy"`
	// Fewest run always; Mean is how many replicas, or groups, run on average, parts of a group
	// weighted by their price, and Accelerators how many accelerators do.
	Fewest       int     `json:"fewest_replicas"`
	Mean         float64 `json:"mean_replicas"`
	Accelerators float64 `json:"mean_accelerators"`
	// Fixed is the least fixed number of the same replicas or groups that keeps the SLO, spares
	// included, and FixedHourly what they cost; 0 where no number was found.
	Fixed       int     `json:"fixed_replicas"`
	FixedHourly float64 `json:"fixed_dollars_per_hour"`
}

// Interrupted is the result of a simulation in which replicas of the fleet are preempted at random.
type Interrupted struct {
	Interruptions int     `json:"interruptions"`
	Hours         float64 `json:"hours"`
	// Kept is the share of requests that kept the SLO, with steps as predicted.
	Kept float64 `json:"kept"`
}
