package asked

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Goal says what a plan looks for.
type Goal struct {
	Find    string          `json:"find,omitempty" short:"true" kind:"true" enum:"cheapest,throughput,latency,front" jsonschema:"What to look for: the cheapest fleet that keeps the SLO, the fleet that serves the most requests of this kind, or all fleets that no other fleet beats in price, latency and energy at once. latency is read as front, and the answer then names the fastest fleet. Default: cheapest."`
	Budget  scenarios.Price `json:"budget,omitzero" above:"0" only:"throughput,latency,front" jsonschema:"The most that the fleet may cost, such as $40/h. Default for a front: twice the price of the cheapest fleet."`
	Power   Watts           `json:"power,omitempty" above:"0" only:"throughput,latency,front" jsonschema:"The most power that the accelerators of the fleet may draw, all at their peak, such as 10kW."`
	Measure string          `json:"measure,omitempty" only:"latency,front" enum:"mean_ttft_ms,p99_ttft_ms,mean_tpot_ms,p99_tpot_ms,mean_e2el_ms,p99_e2el_ms" jsonschema:"The latency to compare, for the goal front. Default: p99_e2el_ms."`

	// Fastest is set where a plan asks for latency: the answer names the fastest of the front.
	Fastest bool `json:"-"`
}

// The goals of a plan.
const (
	FindCheapest   = "cheapest"
	FindThroughput = "throughput"
	findLatency    = "latency" // is read as front
	FindFront      = "front"
	FindJob        = "job" // of a plan with a job
)

// checkGoal reports contradictions between the goal and the rest of a plan.
func (c *checker) checkGoal() {
	g := &c.Goal
	if g.Find == "" || g.Find == FindCheapest {
		return
	}
	if len(c.Models) > 0 {
		c.problem("goal", "found %s together with several models, which are planned for the least "+
			"cost only; make a plan for each model", g.Find)
	}
	c.refuse("has a meaning for the cheapest fleet only; leave out this key or the goal",
		"fleet.growth", "fleet.autoscaling")
	if g.Find == FindThroughput && !c.Steady() {
		c.problem("goal", "this goal raises a steady rate of requests; recorded traces, bursts "+
			"and users in a closed loop have no such rate")
	}
	if g.Find == FindThroughput && g.Budget.Amount == 0 && g.Power == 0 && !c.counted() {
		c.problem("goal", "nothing bounds the fleet: give a budget such as budget: $40/h, a power "+
			"such as power: 10kW, or a count to each of menu.hardware")
	}
}

// counted reports whether the menu gives the number of all accelerators.
func (p *Plan) counted() bool {
	for _, o := range p.eachOffer() {
		if o.Count == 0 {
			return false
		}
	}
	return true
}

// complete fills in defaults.
func (g *Goal) complete() {
	if g.Find == "" {
		g.Find = FindCheapest
	}
	if g.Find == findLatency {
		g.Find, g.Fastest = FindFront, true
	}
	if g.Measure == "" && g.Find == FindFront {
		g.Measure = "p99_e2el_ms"
	}
}

// Words says what the goal is.
func (g *Goal) Words() string {
	var words string
	switch g.Find {
	case FindThroughput:
		words = "the most requests a second"
	case FindFront:
		words = "fleets that no other beats in price, " + g.Measure + " and energy"
	}
	if g.Budget.Amount > 0 {
		words += fmt.Sprintf(", for at most %s an hour",
			g.Budget.Currency.Format(fmt.Sprintf("%g", g.Budget.Amount)))
	}
	if g.Power > 0 {
		words += fmt.Sprintf(", with accelerators of at most %s in all",
			units.FormatPower(float64(g.Power)))
	}
	return words
}

// Missed prints that there is no answer.
func (g *Goal) Missed() string {
	if g.Find == FindJob {
		return "No option is in time."
	}
	return "No option meets the SLO."
}

// Job is a number of requests that all wait at the start, and must be answered within a time.
type Job struct {
	Within   scenarios.Span `json:"within" above:"0" required:"true" jsonschema:"The time in which the job must be done, such as 8h."`
	Requests int64          `json:"requests,omitempty" min:"1" max:"1000000000" jsonschema:"The number of requests."`
	Tokens   int64          `json:"tokens,omitempty" min:"1" jsonschema:"The number of tokens of prompts and answers together, in place of requests."`
	From     int            `json:"from,omitempty" min:"0" max:"23" jsonschema:"The hour of the day from which the job may run, such as 18, on the clock of by-hour. Required where a price differs by hour."`
	Start    scenarios.Span `json:"start,omitempty" above:"0" jsonschema:"How long each start of a replica takes, which is paid for and a part of within. Default: no time."`
}

// checkJob reports contradictions between a job and the rest of a plan.
func (c *checker) checkJob() {
	j := c.Job
	if (j.Requests == 0) == (j.Tokens == 0) {
		c.problem("job", "give either requests or tokens")
	}
	if j.Start >= j.Within && j.Start > 0 {
		c.problem("job.start", "found %v, and the job must be done within %v; want less", j.Start,
			j.Within)
	}
	c.refuse("has no meaning for a job, whose requests all wait at the start; leave it out",
		"models", "goal", "slo", "fleet", "workload.rate", "workload.arrivals",
		"workload.requests", "workload.duration", "workload.sessions")
	for i := range c.Workload.Classes {
		if highest(&c.Workload.Classes[i].Rate) > 0 {
			c.problem(fmt.Sprintf("workload.classes.%d.rate", i), "has no meaning for a job; give "+
				"each class a share instead")
		}
	}
}

// mostWaiting bounds the time of a job that waits for cheap hours, whose prices are known by the
// hour of the day.
const mostWaiting = 7 * Day

// checkHours reports prices that differ by hour of a plan without a job, which cannot wait for an
// hour, or of a job that does not say when it begins.
func (p *Plan) checkHours(doc *strict.Document) error {
	j, some := p.Job, false
	for at, o := range p.eachOffer() {
		if some = some || o.DiffersByHour(); j == nil && some {
			return doc.Problem(at+".by-hour", "found a price of %s that differs by hour, %s, and "+
				"no job that could wait for the cheapest hours; leave by-hour out, and give the "+
				"mean price", o.Accelerator, o.ByHour)
		}
	}
	from := doc.Has("job.from")
	switch {
	case some && !from:
		return doc.Problem("job.from", "must be given where a price differs by hour: the hour of "+
			"the day from which the job may run, such as 18")
	case some && j.Within > mostWaiting:
		return doc.Problem("job.within", "found %v; where a price differs by hour, want at most "+
			"%v", j.Within, mostWaiting)
	case !some && from:
		return doc.Problem("job.from", "has no meaning without a price that differs by hour; "+
			"give by-hour to an accelerator of menu.hardware, or leave this out")
	}
	return nil
}

// Watts is a power, written as "10kW".
type Watts float64

// UnmarshalText reads a power with its unit.
func (w *Watts) UnmarshalText(text []byte) error {
	watts, err := units.ParsePower(string(text))
	*w = Watts(watts)
	return err
}

// MarshalText writes the power exactly, in watts.
func (w Watts) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(w), 'f', -1, 64) + "W"), nil
}

// Carbon is the emissions of electricity, in grams of CO2 equivalent a kWh, written as "380g/kWh".
type Carbon float64

// UnmarshalText reads an amount with its unit.
func (c *Carbon) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(strings.TrimSpace(string(text)), "g/kWh")
	grams, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(grams >= 0 && grams < 1e5) {
		return fmt.Errorf("found %q; want grams of CO2 a kWh, such as 380g/kWh", text)
	}
	*c = Carbon(grams)
	return nil
}

// MarshalText writes the amount exactly.
func (c Carbon) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(c), 'f', -1, 64) + "g/kWh"), nil
}

// Currency is the currency of the prices of a file, by its code.
type Currency struct{ units.Currency }

// UnmarshalText reads the code of a currency.
func (c *Currency) UnmarshalText(text []byte) (err error) {
	c.Currency, err = units.ParseCurrency(string(text))
	return err
}

// MarshalText writes the code.
func (c Currency) MarshalText() ([]byte, error) { return []byte(c.Code()), nil }

// Purchase is an amount of money, written as "$30000".
type Purchase scenarios.Money

// UnmarshalText reads an amount.
func (p *Purchase) UnmarshalText(text []byte) error {
	m, ok, err := scenarios.ParseMoney(string(text), "")
	if err == nil && !ok {
		err = fmt.Errorf("found %q; want an amount of money, such as $30000", text)
	}
	*p = Purchase(m)
	return err
}

// MarshalText writes the amount exactly.
func (p Purchase) MarshalText() ([]byte, error) { return []byte(scenarios.Money(p).Text()), nil }

// Number returns the amount.
func (p Purchase) Number() float64 { return p.Amount }

// Electricity is the price of electricity, written as "$0.12/kWh".
type Electricity scenarios.Money

// UnmarshalText reads a price with its unit.
func (e *Electricity) UnmarshalText(text []byte) error {
	m, ok, err := scenarios.ParseMoney(string(text), "/kWh")
	if err == nil && !ok {
		err = fmt.Errorf("found %q; want a price of a kWh, such as $0.12/kWh", text)
	}
	*e = Electricity(m)
	return err
}

// MarshalText writes the price exactly.
func (e Electricity) MarshalText() ([]byte, error) {
	return []byte(scenarios.Money(e).Text() + "/kWh"), nil
}

// Number returns the amount.
func (e Electricity) Number() float64 { return e.Amount }

// Horizon is the months that a fleet is planned for, while its load grows.
type Horizon struct {
	Months      int            `json:"months" required:"true" min:"2" max:"60" jsonschema:"The number of months."`
	Growth      float64        `json:"growth,omitempty" min:"0" max:"1" jsonschema:"By how much the rate grows from one month to the next, as a share: 0.08 is 8 % a month. Default: 0."`
	Change      Purchase       `json:"change,omitzero" above:"0" jsonschema:"What it costs once to go from one kind of server to another, or to add another, such as $5000. Default: nothing."`
	Start       scenarios.Span `json:"start,omitempty" above:"0" jsonschema:"How long before it is needed a replica on demand is paid for, and the least time for which it is, from 1m to 1d. Default: 1h."`
	Commitments []Commitment   `json:"commitments,omitempty" jsonschema:"What is saved by renting for a long time. Accelerators on demand can be rented so. Those on other terms have the price of the menu: owned ones are paid for their years, or to the end of the horizon, and reserved ones to the end."`
}

// Commitment is a time for which accelerators are paid, whether they are needed or not.
type Commitment struct {
	Months int     `json:"months" required:"true" min:"2" max:"120" jsonschema:"For how many months is paid, also where they end after the horizon."`
	Saves  float64 `json:"saves" required:"true" above:"0" below:"1" jsonschema:"The share of the price on demand that is saved, such as 0.3."`
}

// Factor is the rate of a month, counted from 0, as a multiple of the first month's, with a growth
// that is by times the expected one.
func (h *Horizon) Factor(month int, by float64) float64 {
	return math.Pow(1+h.Growth*by, float64(month))
}

// MostGrowth is the largest multiple of the first month's load that a fleet is planned for: a load
// that grows more is another question by then.
const MostGrowth = 100

// HoursOfMonth is the average length of a month in hours.
const HoursOfMonth = HoursOfYear / 12.0

// longestPeriod returns the longest period of the rates of a workload; 0 without one.
func longestPeriod(w *scenarios.Workload) scenarios.Span {
	longest := scenarios.Span(0)
	for _, r := range rates(w) {
		longest = max(longest, periodOf(r))
	}
	return longest
}

// mostParts bounds the parts of a period: the minutes of a week.
const mostParts = 7 * 24 * 60

// Hours returns the highest load in each hour of a period, as a share of the highest of all, or in
// each part as long as the start of a replica, if the horizon gives that. Where classes have rates
// of their own, it is the largest share of any class. It returns nil unless the whole load follows
// waves or phases that repeat after half a day or more, or after a part of the longest such period.
func (p *Plan) Hours() []float64 {
	period := longestPeriod(&p.Workload)
	if !p.Steady() || period < Day/2 {
		return nil
	}
	part := hour
	if p.Horizon != nil {
		part = cmp.Or(p.Horizon.Start, part)
	}
	parts := int(min(mostParts, max(1, math.Round(float64(period)/float64(part)))))
	width := period / scenarios.Span(parts)
	hours := make([]float64, parts)
	for _, r := range rates(&p.Workload) {
		if highest(r) == 0 {
			continue
		}
		own := periodOf(r)
		if own == 0 || period%own != 0 {
			return nil
		}
		for i := range hours {
			from := scenarios.Span(i) * width % own
			hours[i] = max(hours[i], highestFrom(r, own, from, width)/highest(r))
		}
	}
	return hours
}

// allHours says that replicas are paid for at all hours although the load changes; empty where it
// does not, or that is counted, or there is no horizon.
func (h *Horizon) allHours(p *Plan) string {
	changing := func(r *scenarios.Rate) bool {
		return !slices.Contains([]string{"", "steady"}, r.Pattern)
	}
	changes := p.RecordedTimes() || slices.ContainsFunc(rates(&p.Workload), changing)
	if h == nil || !changes || p.Hours() != nil {
		return ""
	}
	return "All hours of a month are paid as the busiest: of the loads that change within it, " +
		"only those are paid by the hour that are waves, or phases that repeat, as a whole, " +
		"after half a day or more."
}

// onePeriod lets a load of fleets that scale end that repeats, and does not end by itself.
func (p *Plan) onePeriod(w *scenarios.Workload) {
	if period := longestPeriod(w); p.Scaled() && period > 0 && w.Requests == 0 && w.Duration == 0 {
		w.Duration = period
	}
}

// checkHorizon reports contradictions between a horizon and the rest of a plan.
func (c *checker) checkHorizon() {
	p, h := c.Plan, c.Horizon
	switch {
	case len(p.Models) > 0:
		c.problem("horizon", "found together with several models; make a plan for each model")
	case p.Job != nil:
		c.problem("horizon", "found together with a job, which is done once; leave out one of "+
			"the two")
	case p.Goal.Find != "" && p.Goal.Find != FindCheapest:
		c.problem("horizon", "found together with the goal %s; a horizon is planned for the least "+
			"cost, so leave out one of the two", p.Goal.Find)
	case p.Scaled():
		c.problem("horizon", "found together with menu.scaling; a horizon is planned with fixed "+
			"numbers of replicas in each month, so leave out one of the two")
	}
	if most := h.Factor(h.Months-1, 1); most > MostGrowth {
		c.problem("horizon.growth", "found %g for %d months, whose last has %.3g times the load "+
			"of the first; want at most %d times, so at most %.2g, or fewer months", h.Growth,
			h.Months, most, MostGrowth, math.Floor(100*(math.Pow(MostGrowth,
				1/float64(h.Months-1))-1))/100)
	}
	if s := h.Start; s > 0 && (s < hour/60 || s > Day) {
		c.problem("horizon.start", "found %v; want 1m to 1d", s)
	}
	for i, one := range h.Commitments {
		field := fmt.Sprintf("horizon.commitments.%d", i)
		for k, d := range h.Commitments {
			switch {
			case k < i && one.Months == d.Months:
				c.problem(field+".months", "found a second commitment of %d months; leave out the "+
					"one that saves less", one.Months)
			case one.Months > d.Months && one.Saves <= d.Saves:
				c.problem(field+".saves", "found %g for %d months, and %d months save %g; leave "+
					"out the longer commitment, or correct one of them", one.Saves, one.Months,
					d.Months, d.Saves)
			}
		}
	}
	rented := func(o Offer) bool { return o.IsOnDemand() }
	if list := p.Menu.Hardware; len(h.Commitments) > 0 && len(list) > 0 &&
		!slices.ContainsFunc(list, rented) {
		c.problem("horizon.commitments", "found no accelerator on demand in menu.hardware; a "+
			"commitment lowers the price on demand, so leave out the commitments, or the terms")
	}
}

// horizonInCurrency reports a change that is paid in another currency than the accelerators.
func (p *Plan) horizonInCurrency(doc *strict.Document) error {
	h := p.Horizon
	if h == nil || h.Change.Amount == 0 || h.Change.Currency == p.Currency {
		return nil
	}
	return doc.Problem("horizon.change", "found %s, and the answer is in %s; convert one of them",
		h.Change.Currency.Code(), p.Currency.Code())
}
