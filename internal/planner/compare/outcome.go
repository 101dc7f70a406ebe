package compare

import (
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Comparison is the result of several variants, of which the others are compared with the first.
type Comparison struct {
	// Replications is the number of runs of each variant. It is 1 if the results do not depend on
	// the seed, as with a recorded trace; then there is no noise.
	Replications int     `json:"replications"`
	Confidence   float64 `json:"confidence"`
	// WarmUp is the number of requests at the start of each run that were left out. If a scenario
	// forbids a warm-up, Whole says why.
	WarmUp   int    `json:"warm_up_requests"`
	NoWarmUp string `json:"nothing_left_out_because,omitempty"`
	// Recorded is set if a scenario replays a recorded trace unchanged, which is only one sample of
	// the load.
	Recorded bool      `json:"recorded_trace,omitempty"`
	Variants []Outcome `json:"variants"`
	// runs are the first runs of the variants.
	runs []page.Run
	// sold reports whether the result of every run has the worth of its tokens and the margin.
	sold bool
	// gated names the metrics of limits.
	gated []string
}

// Outcome is the result of one variant.
type Outcome struct {
	Label string `json:"label"`
	Setup string `json:"setup"`
	Load  string `json:"load"`
	// Settled is false if latencies change over the whole run, so that no part of it shows a steady
	// state.
	Settled bool `json:"settled"`
	// Evidence says what the figures rest on. SLOMet is the share of the runs that meet the SLO,
	// and Binds names the limit that binds in the first run.
	Evidence evidence.Evidence `json:"evidence"`
	SLOMet   float64           `json:"slo_met"`
	Binds    string            `json:"slo_binds,omitempty"`

	Changes []Change `json:"changes,omitempty"`
	Figures []Figure `json:"figures"`
	// Effects has the effect of each change alone on the first variant, if there are several
	// changes.
	Effects []Effect `json:"effects,omitempty"`
}

// Figure is a figure of a variant, and its difference from that of the first.
type Figure struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	// Value is absent where a run has no such figure, as TPOT where answers come as a whole, or a
	// cost where an accelerator has no price.
	Value stats.Interval `json:"value,omitzero"`
	// Difference is the difference of runs with the same random numbers. BeyondNoise reports
	// whether it is not 0, at the confidence of the comparison, and Better whether it is an
	// improvement. It is absent where one of the two has no such figure. Offered is set if both
	// variants serve the whole load. Then the difference comes from the load, and is neither better
	// nor worse.
	Difference  stats.Interval `json:"difference,omitzero"`
	BeyondNoise bool           `json:"beyond_noise"`
	Better      bool           `json:"better"`
	Offered     bool           `json:"as_offered,omitempty"`
	// Range contains the real difference in 80 of 100 cases. It covers seeds and wrong predictions,
	// except for errors that both variants share. It is nil if it was not asked for. Unsure reports
	// whether the difference is more than noise, but Range contains 0.
	Range  *scenarios.Range `json:"range_80,omitempty"`
	Unsure bool             `json:"unsure,omitempty"`
	// noise is half of the range of the difference over seeds alone.
	noise float64
}

// Effect is the effect of one change alone. With lists the changes that only have a meaning
// together with it.
type Effect struct {
	Change  Change   `json:"change"`
	With    []Change `json:"with,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
	// Impossible says why the change cannot be made alone.
	Impossible string `json:"impossible,omitempty"`
	// trial is the runs with the change; nil if it is impossible.
	trial *trial
}
