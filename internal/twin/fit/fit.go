package fit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Config is what is fitted, and to what.
type Config struct {
	Server Server
	Runs   []observed.Run
	// Hold is the share of the time that is held out, in [0, 0.9].
	Hold float64
}

// Result is what a fit found.
type Result struct {
	Factors []FittedFactor `json:"factors"`
	// Errors compare predictions before and after.
	Errors []Error `json:"errors"`
	// Unknown names the factors about which the data say no more than the prior.
	Unknown []string `json:"unknown,omitempty"`
	// Next are loads that could be measured next, the most informative first.
	Next []Next `json:"next,omitempty"`

	problem  *problem
	solution *solution
	doubts   []string
}

// FittedFactor is a factor with its standard deviation, relative to it, or the round trip with its
// own, both in seconds.
type FittedFactor struct {
	Name      string  `json:"name"`
	Of        string  `json:"of"`
	Value     float64 `json:"value"`
	Deviation float64 `json:"deviation"`
	// Learnt says that the deviation is clearly less than before the measurements.
	Learnt bool `json:"learnt"`
	// Bound says that the value is at a bound, or learnt and within its deviation of one, which is
	// Near: the server differs from its kind by as much as is believed to be possible, or more.
	Bound bool `json:"at_bound,omitempty"`
	Near  bool `json:"near_bound,omitempty"`
}

// Error is the error of a quantity of a run: predicted over measured, less 1.
type Error struct {
	Run      string  `json:"run"`
	Quantity string  `json:"quantity"`
	Held     bool    `json:"held_out"`
	Measured float64 `json:"measured"`
	Before   float64 `json:"before"`
	After    float64 `json:"after"`
}

// calibration widens the intervals of factors: slopes of a simulation have noise, which looks like
// knowledge. With it, two deviations hold some 95 of 100 hidden factors (TestRecovery).
const calibration = 1.5

// Run fits.
func Run(ctx context.Context, c Config) (*Result, error) {
	p, err := newProblem(&c.Server, c.Runs, c.Hold)
	if err != nil {
		return nil, err
	}
	before, err := p.predict(ctx, scenarios.Factors{}, all)
	if err == nil {
		err = p.checkScale(before)
	}
	if err != nil {
		return nil, err
	}
	p, s, err := p.solveWithAsked(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{problem: p, solution: s}
	for j, f := range Factors() {
		deviation := min(f.Prior, calibration*math.Sqrt(s.covariance.At(j, j)))
		found := FittedFactor{Name: f.Name, Of: f.Of, Value: f.value(s.at[j]),
			Deviation: f.spread(s.at[j], deviation),
			Learnt:    p.free[j] && deviation < f.Prior/math.Sqrt2}
		off, bound := math.Abs(s.at[j]), mostLog*f.Prior
		found.Near = off < bound-1e-9 && found.Learnt && off+deviation >= bound
		found.Bound = off >= bound-1e-9 || found.Near
		r.Factors = append(r.Factors, found)
		if !found.Learnt && (p.free[j] || !f.Asked) {
			r.Unknown = append(r.Unknown, f.Name)
		}
	}
	if r.Errors, err = p.errors(ctx, before, r.Values()); err != nil {
		return nil, err
	}
	r.doubts, err = p.doubts(ctx, r.Values())
	return r, err
}

// Values returns the factors as a scenario has them: factors about which the data say nothing are
// 1.
func (r *Result) Values() scenarios.Factors {
	return r.pick(func(f *FittedFactor) float64 { return f.Value })
}

// Deviations returns the relative standard deviations of the factors, and that of the round trip.
func (r *Result) Deviations() scenarios.Factors {
	return r.pick(func(f *FittedFactor) float64 { return f.Deviation })
}

func (r *Result) pick(value func(f *FittedFactor) float64) scenarios.Factors {
	var s scenarios.Factors
	for j, f := range Factors() {
		if r.problem.free[j] {
			f.set(&s, math.Round(value(&r.Factors[j])*1e4)/1e4)
		}
	}
	return s
}

// all reports whether a datum is one of all of a part of a run.
func all(d *datum) bool { return d.whole || d.quantity == Steps }

// errors compares the predictions with factors of 1, and predictions with the fitted ones, with
// what was measured.
func (p *problem) errors(ctx context.Context, before []float64,
	fitted scenarios.Factors) ([]Error, error) {
	after, err := p.predict(ctx, fitted, all)
	if err != nil {
		return nil, err
	}
	var list []Error
	sums := map[[2]int]int{} // where the steps of a run and part are
	for i := range before {
		d := p.datum(i)
		if !all(d) || !observed.Finite(before[i], after[i]) {
			continue
		}
		e := Error{p.runs[d.run].Name, d.quantity, d.held, d.measured, before[i], after[i]}
		if d.quantity == Steps {
			key := [2]int{d.run, 0}
			if d.held {
				key[1] = 1
			}
			if at, known := sums[key]; known {
				list[at].Measured += e.Measured
				list[at].Before += e.Before
				list[at].After += e.After
				continue
			}
			sums[key] = len(list)
		}
		list = append(list, e)
	}
	for i := range list {
		e := &list[i]
		e.Before, e.After = e.Before/e.Measured-1, e.After/e.Measured-1
	}
	slices.SortStableFunc(list, func(a, b Error) int {
		return cmp.Compare(bit(a.Held), bit(b.Held))
	})
	return list, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// HeldOut returns the root mean squares of the errors that were held out, by quantity, rounded to
// 0.01 % and at least that; 0 where no run was.
func (r *Result) HeldOut() scenarios.Errors {
	square := func(quantity string) float64 {
		sum, n := 0.0, 0
		for _, e := range r.Errors {
			if e.Held && e.Quantity == quantity {
				sum += e.After * e.After
				n++
			}
		}
		if n == 0 {
			return 0
		}
		return max(1, math.Round(math.Sqrt(sum/float64(n))*1e4)) / 1e4
	}
	return scenarios.Errors{TTFT: square(TTFT), TPOT: square(TPOT), E2E: square(E2E),
		Steps: square(Steps)}
}

// validity is how long a fit holds, if nothing says that the machine changed: engines are released
// every two or three weeks, and drivers every quarter.
const validity = 90 * 24 * time.Hour

// Deployment returns what a deployment.yaml says of the fit. Measured is the day of the
// measurements, as 2026-11-23; empty if it is not known, so that nothing expires.
func (r *Result) Deployment(server *Server, o *observed.Observed,
	measured string) (*scenarios.Fitted, error) {
	file, err := server.Load()
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return nil, err
	}
	s := &steps.Scenario
	d := &scenarios.Fitted{Model: steps.Model.Name, Accelerator: steps.Accelerator.Name,
		Tensor: s.Parallelism.Tensor, Engine: s.Engine.Preset, EngineVersion: s.Engine.Version,
		Flags: o.Server.Flags, Measured: measured, Factors: r.Values(),
		Deviations: scenarios.Deviations(r.Deviations()), Errors: r.HeldOut()}
	load := o.Traffic()
	d.Traffic = scenarios.Traffic{Rate: load.Rate, Prompt: load.Prompt, Output: load.Output}
	d.Traffic.LeastUsers, d.Traffic.MostUsers = r.problem.users()
	if at, err := time.Parse(time.DateOnly, measured); err == nil {
		d.Expires = at.Add(validity).Format(time.DateOnly)
	}
	return d, nil
}

// WriteText prints the factors, and the errors before and after.
func (r *Result) WriteText(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s%-10s%-12s%s\n", "factor", "value", "deviation", "of")
	factors := Factors()
	for i, f := range r.Factors {
		if !r.problem.free[i] {
			continue
		}
		known := ""
		if !f.Learnt {
			known = " (the data say no more than was believed before)"
		}
		if f.Bound {
			known = " (" + f.atBound() + ")"
		}
		deviation := fmt.Sprintf("%.1f %%", 100*f.Deviation)
		if factors[i].trip() {
			deviation = fmt.Sprintf("%.3f", f.Deviation)
		}
		fmt.Fprintf(&b, "%-12s%-10.3f±%-11s%s%s\n", f.Name, f.Value, deviation, f.Of, known)
	}
	for _, held := range []bool{false, true} {
		title := "in the fit"
		if held {
			title = "held out"
		}
		fmt.Fprintf(&b, "\nerrors %s\n", title)
		n := 0
		for _, e := range r.Errors {
			if e.Held == held {
				fmt.Fprintf(&b, "  %-44s %-12s before %+7.1f %%   after %+7.1f %%\n",
					ending(e.Run, 44), e.Quantity, 100*e.Before, 100*e.After)
				n++
			}
		}
		if n == 0 {
			fmt.Fprintf(&b, "  none: there is too little data, so that no error is claimed\n")
		}
	}
	for _, why := range r.Refusals() {
		fmt.Fprintf(&b, "\nrefused: %s\n", why)
	}
	if len(r.Next) > 0 {
		n := &r.Next[0]
		fmt.Fprintf(&b, "\nmeasure next: %s. The %s of the scenario's workload is known to "+
			"±%.1f %%, and would be to ±%.1f %%\n", n.Load, n.Figure, 100*n.Now, 100*n.Then)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// ending returns the last n letters of a name: names of files of a sweep begin alike.
func ending(name string, n int) string {
	letters := []rune(name)
	if len(letters) <= n {
		return name
	}
	return "…" + string(letters[len(letters)-n+1:])
}
