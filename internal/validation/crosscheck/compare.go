// Package crosscheck runs a scenario twice: once with predicted steps, and once with GPT-2
// executing every step on this machine. Arrivals, queues and policies are the same code in both;
// only the clock differs. So the difference between the two is the error of the prediction, and of
// nothing else.
package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	policy "github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Comparison is a scenario, predicted and executed.
type Comparison struct {
	// Name is the scenario file's, Title what the scenario calls itself.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Measures compare what users and operators see, Steps single steps: each executed step with
	// what was predicted for it.
	Measures []Measure  `json:"measures"`
	Steps    StepErrors `json:"step_errors"`
	// Acceptance is what was measured of drafts before, and is predicted from; nil where nothing is
	// drafted.
	Acceptance *generate.AcceptanceTable `json:"acceptance,omitempty"`
	// Runs is how often the scenario was executed, Noise what happened to the machine in each run.
	Runs  int                 `json:"runs"`
	Noise []calibration.Noise `json:"noise"`
	// Invalid says why the comparison does not count; empty where it does.
	Invalid string `json:"invalid,omitempty"`

	// RealTime is a run with wall-clock arrivals; nil without.
	RealTime *Run `json:"-"`
	// Executed are the runs, Predicted the prediction for each: for a machine as fast as it was in
	// that run.
	Executed  []*Run `json:"-"`
	Predicted []*Run `json:"-"`
}

// Measure is one number, predicted and executed.
type Measure struct {
	Name string `json:"name"`
	// Unit is "ms", "1/s", or empty.
	Unit string `json:"unit,omitempty"`
	// Executed is the median of the runs, Low and High their range; Predicted is the median of the
	// predictions for them.
	Predicted float64 `json:"predicted"`
	Executed  float64 `json:"executed"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	// Error is the median over the runs of predicted/executed − 1, where that exists.
	Error float64 `json:"error"`
	// RealTime is the number with wall-clock arrivals; 0 without.
	RealTime float64 `json:"real_time,omitempty"`
}

// StepErrors sum up the errors of the times of single steps, predicted over executed less 1.
type StepErrors struct {
	Count int `json:"count"`
	// Median and P90 are of absolute values; Bias is the error of the sum of all.
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Bias   float64 `json:"bias"`
	// Outliers is the number of steps that took longer than OutlierLimit times what is typical for
	// their prediction: something else ran.
	Outliers int `json:"outliers"`
}

// OutlierLimit is the ratio from which a step counts as disturbed.
const OutlierLimit = 1.25

// Options says how scenarios are executed.
type Options struct {
	// Runs is how often, 1 at least.
	Runs int
	// RealTime adds a run with wall-clock arrivals.
	RealTime bool
}

// Compare predicts the scenario, and executes it on the number of threads that its host was
// measured with.
func Compare(ctx context.Context, name string, f *scenarios.File, hosts *calibration.Machines,
	o Options) (c *Comparison, err error) {
	d, err := open(ctx, name, f, hosts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	for range o.Runs {
		if err := d.run(ctx); err != nil {
			return nil, err
		}
	}
	if o.RealTime {
		if err := d.runInRealTime(ctx); err != nil {
			return nil, err
		}
	}
	return d.compare(), nil
}

// judge reports whether the machine was quiet enough in more than half of the runs.
func (c *Comparison) judge(threads int) {
	var reasons []string
	for _, n := range c.Noise {
		switch {
		case n.Drift() > calibration.MostDrift:
			reasons = append(reasons,
				fmt.Sprintf("the machine's speed changed by %.0f %% in a run; %.0f %% is the limit",
					100*n.Drift(), 100*calibration.MostDrift))
		case n.Stolen > calibration.MostStolen:
			reasons = append(reasons,
				fmt.Sprintf("a hypervisor took %.0f %% of the processors' time; %.0f %% is "+
					"the limit", 100*n.Stolen, 100*calibration.MostStolen))
		case threads > 1 && n.Others > calibration.MostOthers:
			reasons = append(reasons, fmt.Sprintf("other programs took %.0f %% of the processors",
				100*n.Others))
		}
	}
	if 2*len(reasons) >= len(c.Noise) && len(reasons) > 0 {
		c.Invalid = reasons[0]
	}
}

// measured is a number of a result, with its name.
type measured struct {
	name, unit string
	of         func(r *scenarios.Result) float64
}

// allMeasures lists what is compared.
func allMeasures() []measured {
	var list []measured
	metrics := scenarios.Metrics()
	for _, latency := range []string{"TTFT", "TPOT", "ITL", "request"} {
		for _, which := range []string{" mean", " p50", " p90", " p99"} {
			i := slices.IndexFunc(metrics, func(m scenarios.Metric) bool {
				return m.Short == latency+which
			})
			name := strings.Replace(latency, "request", "E2E", 1) + which
			list = append(list, measured{name, "ms", metrics[i].Of})
		}
	}
	return append(list,
		measured{"output throughput", "1/s", func(r *scenarios.Result) float64 {
			return r.OutputThroughput
		}},
		measured{"decode batch", "", func(r *scenarios.Result) float64 {
			return r.MeanDecodeBatch
		}},
		measured{"step time", "ms", func(r *scenarios.Result) float64 {
			return 1000 * r.Busy * r.Duration / float64(r.Steps)
		}},
		measured{"steps", "", func(r *scenarios.Result) float64 { return float64(r.Steps) }},
		measured{"tokens a step", "", tokensPerStep},
		measured{"preemptions", "", func(r *scenarios.Result) float64 {
			return float64(r.Preemptions)
		}},
		measured{"cached tokens", "", func(r *scenarios.Result) float64 {
			return float64(r.CachedTokens)
		}},
	)
}

// tokensPerStep is what a step gives to a sequence that decodes: 1 without drafts.
func tokensPerStep(r *scenarios.Result) float64 {
	if r.SpeculationResult == nil {
		return 1
	}
	return r.TokensPerStep
}

func (c *Comparison) measure() {
	for _, m := range allMeasures() {
		var predicted, executed, errors []float64
		for i, run := range c.Executed {
			p, e := m.of(c.Predicted[i].Result), m.of(run.Result)
			predicted, executed = append(predicted, p), append(executed, e)
			if e != 0 {
				errors = append(errors, p/e-1)
			}
		}
		row := Measure{
			Name: m.name, Unit: m.unit, Predicted: calibration.Median(predicted),
			Executed: calibration.Median(executed), Low: slices.Min(executed),
			High: slices.Max(executed),
		}
		if len(errors) > 0 {
			row.Error = calibration.Median(errors)
		}
		if c.RealTime != nil {
			row.RealTime = m.of(c.RealTime.Result)
		}
		c.Measures = append(c.Measures, row)
	}
}

func (c *Comparison) compareSteps() {
	var errors, ratios []float64
	var predicted, took float64
	for _, run := range c.Executed {
		for _, s := range run.Steps {
			errors, ratios = append(errors, math.Abs(s.Error())),
				append(ratios, float64(s.Took)/float64(s.Predicted))
			predicted, took = predicted+s.Predicted.Seconds(), took+s.Took.Seconds()
		}
	}
	slices.Sort(errors)
	c.Steps = StepErrors{Count: len(errors), Median: calibration.Median(errors),
		P90: errors[len(errors)*9/10], Bias: predicted/took - 1}
	typical := calibration.Median(ratios)
	for _, r := range ratios {
		if r > OutlierLimit*typical {
			c.Steps.Outliers++
		}
	}
}

// Error returns what was predicted for the step over what it took, less 1.
func (s *Step) Error() float64 { return float64(s.Predicted)/float64(s.Took) - 1 }

// Measure returns the measure of that name; the zero value without one.
func (c *Comparison) Measure(name string) Measure {
	for _, m := range c.Measures {
		if m.Name == name {
			return m
		}
	}
	return Measure{}
}

// Step is a step of a run, with what it took.
type Step struct {
	// Decodes, DecodeTokens and Context are as in sim.Step.
	Decodes      int   `json:"decodes" csv:"decodes"`
	DecodeTokens int   `json:"decode_tokens" csv:"decode_tokens"`
	Context      int64 `json:"context" csv:"context"`
	// Chunks is the number of prompt chunks, New their tokens with padding, Cached the tokens
	// before them, and Last the number of chunks that complete a prompt.
	Chunks int `json:"chunks" csv:"chunks"`
	New    int `json:"new" csv:"new"`
	Cached int `json:"cached" csv:"cached"`
	Last   int `json:"last" csv:"last"`
	// Took is what the step took, Predicted what was predicted for this very step.
	Took      sim.Time `json:"took_ps"`
	Predicted sim.Time `json:"predicted_ps"`
}

// describe returns the step without its times.
func describe(s *sim.Step) Step {
	d := Step{Decodes: s.Decodes, DecodeTokens: s.DecodeTokens, Context: s.Context,
		Chunks: len(s.Prefill)}
	for i := range s.Prefill {
		p := &s.Prefill[i]
		d.New += p.Rows()
		d.Cached += p.Cached
		if p.Last {
			d.Last++
		}
	}
	return d
}

// stepLog is a sim.StepClock that takes the times of another clock and notes them. It has no
// Decode, so that the simulator asks for every step.
type stepLog struct {
	clock sim.StepClock
	// every, if set, is called between steps, once in this number of them.
	every func()
	steps []Step
	// shapes are the steps without their sequences, from which they can be predicted.
	shapes []sim.Step
	// loads are what was drafted before each step, where anything was.
	loads map[int]*policy.Load
}

// stepsBetween is the number of steps between two calls of every.
const stepsBetween = 8

// Duration implements sim.StepClock.
func (l *stepLog) Duration(s *sim.Step) sim.Time {
	if l.every != nil && len(l.steps)%stepsBetween == 0 {
		l.every()
	}
	d := describe(s)
	d.Took = l.clock.Duration(s)
	l.steps = append(l.steps, d)
	l.shapes = append(l.shapes, sim.Step{Decodes: s.Decodes, DecodeTokens: s.DecodeTokens,
		Context: s.Context, Prefill: anonymous(s.Prefill)})
	return d.Took
}

// anonymous returns the chunks without their sequences.
func anonymous(prefill []sim.Chunk) []sim.Chunk {
	chunks := slices.Clone(prefill)
	for i := range chunks {
		chunks[i].Sequence = nil
	}
	return chunks
}

// noteDrafts adds to the latest step what was drafted before it, and how long that took.
func (l *stepLog) noteDrafts(load *policy.Load, took sim.Time) {
	last := len(l.steps) - 1
	l.steps[last].Took += took
	if l.loads == nil {
		l.loads = map[int]*policy.Load{}
	}
	l.loads[last] = &policy.Load{
		Sequences: slices.Clone(load.Sequences), Expanded: slices.Clone(load.Expanded),
		Behind: load.Behind, Context: load.Context,
		Prefill: anonymous(load.Prefill),
	}
}

// predict notes what a simulation predicts for each step.
func (l *stepLog) predict(s *scenarios.Simulation) {
	clock := s.Steps().Clock
	for i := range l.steps {
		l.steps[i].Predicted = clock.Duration(&l.shapes[i])
		if load := l.loads[i]; load != nil {
			l.steps[i].Predicted += s.Speculators()[0].Cost(load)
		}
	}
}

// Save writes crosscheck.json into dir, and into a folder for each scenario steps.csv and
// requests.csv of all runs and pictures of them.
func Save(dir string, g *Grid) error {
	err := files.Write(filepath.Join(dir, "crosscheck.json"), func(w io.Writer) error {
		return report.JSON(w, g)
	})
	for _, c := range g.Comparisons {
		folder := filepath.Join(dir, filepath.Base(c.Name))
		err = errors.Join(err,
			files.Write(filepath.Join(folder, "steps.csv"), c.writeSteps),
			files.Write(filepath.Join(folder, "requests.csv"), c.writeRequests),
			c.draw(folder),
		)
	}
	return err
}

// SaveWhatIfs writes what-ifs.json into dir.
func SaveWhatIfs(dir string, list []*WhatIf) error {
	return files.Write(filepath.Join(dir, "what-ifs.json"), func(w io.Writer) error {
		return report.JSON(w, list)
	})
}

// writeSteps writes a row for each executed step.
func (c *Comparison) writeSteps(w io.Writer) error {
	type row struct {
		Run    int `csv:"run"`
		Number int `csv:"step"`
		Step
		Executed  float64 `csv:"executed_ms" format:"%.4f"`
		Predicted float64 `csv:"predicted_ms" format:"%.4f"`
	}
	var rows []row
	for i, run := range c.Executed {
		for j, s := range run.Steps {
			rows = append(rows, row{i + 1, j, s, s.Took.Milliseconds(), s.Predicted.Milliseconds()})
		}
	}
	return files.WriteTable(w, rows)
}

// writeRequests writes a row for each request of each run, executed and predicted.
func (c *Comparison) writeRequests(w io.Writer) error {
	type row struct {
		Run     int     `csv:"run"`
		Kind    string  `csv:"kind"`
		Arrival float64 `csv:"arrival_s" format:"%.4f"`
		TTFT    float64 `csv:"ttft_ms" format:"%.4f"`
		TPOT    float64 `csv:"tpot_ms" format:"%.4f"`
		E2E     float64 `csv:"e2el_ms" format:"%.4f"`
	}
	var rows []row
	for i := range c.Executed {
		for k, run := range []*Run{c.Executed[i], c.Predicted[i]} {
			for _, r := range run.Requests {
				rows = append(rows, row{i + 1, []string{"executed", "predicted"}[k], r.Arrival,
					1000 * r.TTFT, 1000 * r.TPOT, 1000 * r.E2E})
			}
		}
	}
	return files.WriteTable(w, rows)
}
