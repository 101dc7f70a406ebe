package tuning

import (
	"context"
	"strconv"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Answer holds the best settings that were found, and what each of them brings. Gains and figures
// come from new seeds, which played no part in the choice.
type Answer struct {
	Name  string `json:"name,omitempty"`
	Setup string `json:"setup"`
	Load  string `json:"load"`
	// Goal is the name of the goal. Title names its figure, Unit is the unit of the figure, and
	// Higher is set if more is better.
	Goal   string `json:"goal"`
	Title  string `json:"title"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higher_is_better,omitempty"`

	Default Outcome `json:"default"`
	Tuned   Outcome `json:"tuned"`
	// Gain is by how much the goal's figure is better than the default's.
	Gain Gain `json:"gain"`
	// Flags are the settings in which the best option differs from the default.
	Flags []Flag `json:"flags"`
	// Dropped holds the settings of the best option of the last round, if it is no better than the
	// default with new seeds. Then the default is the answer.
	Dropped []string `json:"dropped,omitempty"`
	// Launch is the command that starts a replica of the best option; empty if no engine is known
	// for the preset. Notes say what of the scenario no flag expresses.
	Launch []string `json:"launch,omitempty"`
	Notes  []string `json:"notes,omitempty"`

	// Options is the number of combinations, and Tried the number of combinations that were tried.
	// Unfit lists the ones that cannot run, by reason.
	Options int     `json:"options"`
	Tried   int     `json:"tried"`
	Unfit   []Unfit `json:"cannot_run,omitempty"`
	Rungs   []Rung  `json:"rungs"`
	// Simulations is the number of all simulations.
	Simulations int `json:"simulations"`
	// Requests is the number of requests of each simulation behind the gains, Seeds the number of
	// these simulations for each option, and Confidence the confidence of all intervals together.
	// With one seed there are no intervals.
	Requests   int64             `json:"requests"`
	Seeds      int               `json:"seeds"`
	Confidence float64           `json:"confidence"`
	Evidence   evidence.Evidence `json:"evidence"`

	scenario []byte
	bundle   interface{ Write(folder string) error } // nil if no engine is known
}

// Outcome is the result of some settings.
type Outcome struct {
	// Set lists the overrides.
	Set []string `json:"set"`
	// Value is the goal's figure.
	Value stats.Interval `json:"value"`
	// Met is the share of the runs that meet the SLO.
	Met float64 `json:"slo_met"`
	// Figures are the means of some metrics of a result, by name.
	Figures map[string]float64 `json:"figures"`
}

// Gain says by how much a figure is better. NoDifference reports whether the interval contains 0.
type Gain struct {
	stats.Interval
	NoDifference bool
}

// MarshalJSON writes a gain as one object.
func (g Gain) MarshalJSON() ([]byte, error) {
	inner, err := g.Interval.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append(inner[:len(inner)-1],
		",\"no_difference\":"+strconv.FormatBool(g.NoDifference)+"}"...), nil
}

// Flag is one setting of the best option.
type Flag struct {
	Name    string   `json:"name"`
	Default string   `json:"default"`
	Tuned   string   `json:"tuned"`
	Set     []string `json:"set"`
	// Without is the goal's figure if only this setting is the default, and Bought says by how much
	// it is worse then. Both are absent if the setting cannot be undone alone, for the reason in
	// Alone.
	Without *stats.Interval `json:"without,omitempty"`
	Bought  *Gain           `json:"bought,omitempty"`
	Alone   string          `json:"cannot_be_undone_alone,omitempty"`
}

// Changed reports whether anything is better than the default.
func (a *Answer) Changed() bool { return len(a.Flags) > 0 }

// Scenario returns the best scenario with every default filled in, as YAML.
func (a *Answer) Scenario() []byte { return a.scenario }

// Bundle returns the files that start the best option, or nil if no engine is known for it.
func (a *Answer) Bundle() interface{ Write(folder string) error } { return a.bundle }

// figureCount is the number of metrics that are shown beside the goal.
const figureCount = 7

// figureNames are the names of these metrics.
func figureNames() [figureCount]string {
	return [...]string{"mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms",
		"mean_e2el_ms", "output_throughput", "slo_attainment"}
}

// figuresOf returns these metrics of a result.
func figuresOf(r *scenarios.Result) (list [figureCount]float64) {
	for i, name := range figureNames() {
		list[i] = scenarios.MetricNamed(name).Of(r)
	}
	return list
}

// answer measures the best, the default and the best without each of its settings with new seeds.
func (t *tuner) answer(ctx context.Context, r *halving, tuned option) (*Answer, error) {
	standard := make(option, len(t.menu))
	list := []option{standard, tuned}
	var changed []int
	for d := range t.menu {
		if tuned[d] != 0 {
			changed = append(changed, d)
			list = append(list, tuned.without(d))
		}
	}
	fresh := r.seeds
	if len(fresh) > 1 {
		fresh = seeds(t.Replications, t.Replications)
	}
	trials, err := t.measure(ctx, list, r.requests, fresh)
	if err != nil {
		return nil, err
	}
	// Bonferroni: the level of all gains together is as asked
	confidence := 1 - (1-t.Confidence)/float64(1+len(changed))
	a := &Answer{
		Goal: t.goal.Name, Title: t.goal.Title, Unit: t.goal.Unit, Higher: t.goal.Higher,
		Default: t.outcome(&trials[0], confidence), Tuned: t.outcome(&trials[1], confidence),
		Gain:  gain(trials[0], trials[1], confidence),
		Flags: []Flag{}, Options: r.options, Tried: r.tried, Unfit: r.unfit, Rungs: r.rungs,
		Simulations: t.runs, Requests: r.requests, Seeds: len(fresh), Confidence: t.Confidence,
	}
	best := &trials[1]
	if a.Gain.NoDifference {
		a.Dropped, a.Tuned, a.Gain.Interval = a.Tuned.Set, a.Default, stats.Interval{}
		best, changed = &trials[0], nil
	}
	for i, d := range changed {
		a.Flags = append(a.Flags, t.flag(d, tuned, *best, trials[2+i], confidence))
	}
	one := &best.runs[0]
	a.Setup, a.Load, a.Evidence = one.setup, one.load, one.evidence
	return a, t.describe(a, best.option)
}

// outcome sums up the runs of an option.
func (t *tuner) outcome(one *trial, confidence float64) Outcome {
	o := Outcome{Set: one.settings(t.menu), Figures: map[string]float64{},
		Value: t.value(one, confidence)}
	if o.Set == nil {
		o.Set = []string{}
	}
	n := float64(len(one.runs))
	for i, name := range figureNames() {
		sum := 0.0
		for j := range one.runs {
			sum += one.runs[j].figures[i]
		}
		o.Figures[name] = rounded(sum / n)
	}
	for i := range one.runs {
		if one.runs[i].met {
			o.Met += 1 / n
		}
	}
	o.Met = rounded(o.Met)
	return o
}

// value returns the figure of the goal.
func (t *tuner) value(one *trial, confidence float64) stats.Interval {
	list := make([]float64, len(one.runs))
	for i := range one.runs {
		if list[i] = one.runs[i].loss; t.goal.Higher {
			list[i] = -list[i]
		}
	}
	return roundedInterval(stats.Mean(list, confidence))
}

// gain returns how much better b is than a.
func gain(a, b trial, confidence float64) Gain {
	d := difference(a, b, confidence)
	none := d.Mean == 0 || len(a.runs) > 1 && !d.Excludes(0)
	return Gain{roundedInterval(d), none}
}

// flag says what one setting of the best brought.
func (t *tuner) flag(d int, tuned option, best, without trial, confidence float64) Flag {
	dimension := &t.menu[d]
	choice := &dimension.Choices[tuned[d]]
	f := Flag{Name: dimension.Name, Default: dimension.Choices[0].Label, Tuned: choice.Label,
		Set: choice.Set, Alone: without.reason}
	if without.reason == "" {
		value, bought := t.value(&without, confidence), gain(without, best, confidence)
		f.Without, f.Bought = &value, &bought
	}
	return f
}

// describe adds the description of the servers, and the command that starts them.
func (t *tuner) describe(a *Answer, tuned option) error {
	f, err := t.load(tuned.settings(t.menu)...)
	if err != nil {
		return err
	}
	s, err := f.Build(policies.Default())
	if err != nil {
		return err
	}
	s.Source.Close()
	a.Name = s.Scenario.Name
	if a.scenario, err = s.Explain(); err != nil {
		return err
	}
	return a.start(s)
}

// rounded keeps six digits.
func rounded(x float64) float64 { return units.Rounded(x, 6) }

func roundedInterval(i stats.Interval) stats.Interval {
	return stats.Interval{Mean: rounded(i.Mean), Half: rounded(i.Half)}
}
