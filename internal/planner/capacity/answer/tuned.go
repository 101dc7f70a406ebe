package answer

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// Tuned is what settings of the engine brought that the menu leaves to its defaults.
type Tuned struct {
	// Settings are those of the chosen fleet that differ from the defaults.
	Settings []Setting `json:"settings,omitempty"`
	// Without is the fleet that would be the answer with the defaults.
	Without         string  `json:"without"`
	WithoutReplicas int     `json:"without_replicas"`
	WithoutHourly   float64 `json:"without_dollars_per_hour"`
	// WithoutScaled reports whether its replicas start and stop, so that it has up to as many.
	WithoutScaled bool `json:"without_scaled,omitempty"`
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

// Setting is a setting of a replica, or of one of a pool.
type Setting struct {
	// Name is the engine's flag, or the key of a scenario where no flag sets it.
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	// Pool is prefill or decode where only one of the two has it.
	Pool string `json:"pool,omitempty"`
}

// print prints the settings of the answer and what they bring; nothing where it has the defaults.
func (t *Tuned) print(p *report.Printer, a *Answer) {
	if t == nil || t.Settings == nil {
		return
	}
	words, cache := make([]string, len(t.Settings)), ""
	for i, s := range t.Settings {
		words[i] = fmt.Sprintf("%s %s in place of %s", s.Name, s.Value, s.Default)
		if s.Pool != "" {
			words[i] += " for " + s.Pool
		}
		if strings.HasPrefix(s.Value, "fp") {
			cache = " What the format of the cache does to the texts is not predicted."
		}
	}
	saved := a.Currency.Cents(t.WithoutHourly-a.Chosen.Hourly) + " an hour more"
	if len(a.Jobs) > 0 {
		saved = fmt.Sprintf("%s in place of %s for the job", a.Currency.Cents(t.WithoutJob),
			a.Currency.Cents(a.Jobs[0].Dollars))
	}
	for i := range a.Points {
		if q := &a.Points[i]; t.WithoutLatency > 0 && q.Label == a.Chosen.Label &&
			q.Replicas == a.Chosen.Replicas {
			saved = fmt.Sprintf("%s %s ms in place of %s", a.Goal.Measure,
				report.Figure(t.WithoutLatency), report.Figure(q.Latency))
		}
	}
	if t.WithoutRate > 0 {
		saved = fmt.Sprintf("which serve %s/s in place of %s/s", report.Figure(t.WithoutRate),
			report.Figure(a.Rate))
	}
	upTo := ""
	if t.WithoutScaled {
		upTo = "up to "
	}
	p.Text(fmt.Sprintf("Settings in place of the engine's defaults: %s. With the defaults, it "+
		"would be %s%s of %s, %s.%s", strings.Join(words, ", "), upTo,
		units.Plural(t.WithoutReplicas, "replica"), t.Without, saved, cache))
}

// printTried prints how many settings were tried.
func (t *Tuned) printTried(p *report.Printer, goal asked.Goal) {
	if t == nil || t.Tried == 0 {
		return
	}
	words := fmt.Sprintf("Of these simulations, %d were of %s beside the engine's defaults, for "+
		"the options nearest to the answer", t.Simulations, units.Plural(t.Tried, "setting"))
	if t.Settings == nil && goal.Find != asked.FindFront {
		words += "; none makes a fleet better"
	}
	p.Text(words + ".")
}
