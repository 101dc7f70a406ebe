package report

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
)

// Roofline places the operators of prefill and decode under the roof of one accelerator: what it
// can compute at a given number of FLOP for each byte moved is the lesser of its peak and intensity
// × bandwidth (Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009).
type Roofline struct {
	Model       string `json:"model"`
	Accelerator string `json:"accelerator"`
	// Accelerators is the number of a replica, in Stages pipeline stages.
	Accelerators int `json:"accelerators"`
	Tensor       int `json:"tensor_parallel"`
	Stages       int `json:"pipeline_parallel"`
	// Peak is in FLOP/s, Bandwidth in B/s, of one accelerator; Ridge is the intensity in FLOP/B at
	// which they meet.
	Peak      float64 `json:"peak_flops"`
	Bandwidth float64 `json:"bandwidth"`
	Ridge     float64 `json:"ridge"`
	// Steps are the steps looked at, Context the tokens before the one that each sequence decodes.
	Context int            `json:"context"`
	Steps   []RooflineStep `json:"steps"`
}

// RooflineStep is a step on its way through all pipeline stages, as a whole and by operator: what
// one accelerator of each stage does.
type RooflineStep struct {
	// Phase is "prefill" or "decode", Tokens the length of the one prompt or the number of
	// sequences that decode.
	Phase  string `json:"phase"`
	Tokens int    `json:"tokens"`
	// Fits reports whether the KV memory has room for the step.
	Fits bool `json:"fits"`
	// Given is the mean number of tokens that a sequence gets from the step.
	Given float64 `json:"tokens_given"`
	RooflinePoint
	Operators []RooflinePoint `json:"operators"`
}

// RooflinePoint is one operator, or a whole step, under the roof.
type RooflinePoint struct {
	Name  string  `json:"name"`
	FLOPs float64 `json:"flops"`
	// Bytes is what moves to and from memory: weights, KV cache, scores and activations. Sent is
	// what goes to other accelerators.
	Bytes       float64 `json:"bytes"`
	Weights     float64 `json:"weights_bytes"`
	KV          float64 `json:"kv_bytes"`
	Scores      float64 `json:"scores_bytes"`
	Activations float64 `json:"activations_bytes"`
	Sent        float64 `json:"sent_bytes"`
	// Time is in seconds, and Parts is Time by what it is spent on.
	Time  float64            `json:"time"`
	Parts map[string]float64 `json:"parts"`
	// Intensity is FLOPs/Bytes, Rate is FLOPs/Time in FLOP/s, Roof the most that the intensity
	// allows; 0 where nothing is computed or moved.
	Intensity float64        `json:"intensity"`
	Rate      float64        `json:"rate"`
	Roof      float64        `json:"roof"`
	Bound     steptime.Bound `json:"bound"`
}

// Placed reports whether the point has a place under the roof.
func (p *RooflinePoint) Placed() bool { return p.FLOPs > 0 && p.Bytes > 0 && p.Time > 0 }

// NewRoofline looks at the prefill of a prompt alone, for each length of prompts, and at decode
// steps of each size of batches, all sequences of a batch with the same context.
func NewRoofline(s *scenarios.Steps, prompts, batches []int, context int) *Roofline {
	flops, bandwidth := s.Clock.Peaks()
	n := float64(s.Scenario.Parallelism.Accelerators())
	r := &Roofline{
		Model: s.Model.Name, Accelerator: s.Accelerator.Name, Accelerators: int(n),
		Tensor: s.Scenario.Parallelism.Tensor, Stages: s.Clock.Stages(), Peak: flops / n,
		Bandwidth: bandwidth / n, Ridge: flops / bandwidth, Context: context,
	}
	for _, tokens := range prompts {
		r.add("prefill", tokens, s.Room(tokens) > 0, 1, s.Prompt(tokens))
	}
	for _, batch := range batches {
		d := s.Decode(batch, context)
		r.add("decode", batch, batch <= s.Room(context+1), d.Given, d.Ledger)
	}
	return r
}

func (r *Roofline) add(phase string, tokens int, fits bool, given float64, ops steptime.Ledger) {
	step := RooflineStep{Phase: phase, Tokens: tokens, Fits: fits, Given: given}
	for _, op := range ops {
		step.Operators = append(step.Operators, r.point(op))
	}
	whole := ops.Sum()
	whole.Name = fmt.Sprintf("%s %d", phase, tokens)
	step.RooflinePoint = r.point(whole)
	r.Steps = append(r.Steps, step)
}

func (r *Roofline) point(op steptime.Operator) RooflinePoint {
	p := RooflinePoint{Name: op.Name, FLOPs: op.FLOPs, Bytes: op.Bytes(), Weights: op.Weights,
		KV: op.KV, Scores: op.Scores, Activations: op.Activations, Sent: op.Sent,
		Time: op.Time.Seconds(), Parts: op.Parts.Seconds(), Bound: op.Bound,
		Intensity: op.Intensity()}
	if p.Time > 0 {
		p.Rate = op.FLOPs / p.Time
	}
	p.Roof = min(r.Peak, p.Intensity*r.Bandwidth)
	return p
}

// Blocks says where the steps are under the roof, and the operators of the first and the last
// of each phase.
func (r *Roofline) Blocks() (p doc.Blocks) {
	title := r.Model + " on " + r.Accelerator
	if r.Accelerators > 1 {
		title += fmt.Sprintf(", one of %d", r.Accelerators)
	}
	p.Line(title)
	p.Text(fmt.Sprintf("%s at most, %s; they balance at %s FLOP for each byte (the ridge).",
		units.FormatFLOPRate(r.Peak), units.FormatByteRate(r.Bandwidth), units.Figure(r.Ridge)))
	if r.Stages > 1 {
		p.Text(fmt.Sprintf("A step passes through %d stages one after another: times are of "+
			"the whole way, work of one accelerator of each stage.", r.Stages))
	}
	p.Gap()
	var rows [][]string
	for i := range r.Steps {
		s := &r.Steps[i]
		name := doc.Bold(s.Name)
		if !s.Fits {
			name = doc.Dim(s.Name + " *")
		}
		rows = append(rows, rooflineRow(name, &s.RooflinePoint))
		if i == 0 || i == len(r.Steps)-1 || r.Steps[i-1].Phase != s.Phase ||
			r.Steps[i+1].Phase != s.Phase {
			for j := range s.Operators {
				rows = append(rows, rooflineRow(" "+s.Operators[j].Name, &s.Operators[j]))
			}
		}
	}
	p.Table([]string{"step, operator", "FLOP/byte", "TFLOP/s", "of roof", "", "time", "bound by"},
		rows, 0, 4, 6)
	for i := range r.Steps {
		if !r.Steps[i].Fits {
			p.Text(fmt.Sprintf(
				"* The KV memory has no room for that many contexts of %s tokens: such a step "+
					"cannot run here.", units.Count(r.Context+1)))
			break
		}
	}
	p.Gap()
	if len(r.Steps) > 0 && !r.Steps[0].Placed() {
		p.Text("The scenario gives the times of steps: " + givenTimes)
		return p
	}
	r.intensities(&p)
	p.Text(r.lesson())
	return p
}

// givenTimes says what is not known of steps whose times a scenario gives.
const givenTimes = "what they compute and move is not known, so they have no place under the roof."

func rooflineRow(name string, o *RooflinePoint) []string {
	if !o.Placed() {
		return []string{name, "–", "–", "–", "", units.FormatDuration(o.Time), string(o.Bound)}
	}
	ofRoof := math.Round(1e6*o.Rate/o.Roof) / 1e6 // step times are whole ticks
	return []string{
		name, units.Figure(o.Intensity), units.Figure(o.Rate / 1e12), units.Percent(ofRoof),
		doc.Bar(ofRoof, 8),
		units.FormatDuration(o.Time), string(o.Bound),
	}
}

// intensities draws on which side of the ridge each step lies.
func (r *Roofline) intensities(p *doc.Blocks) {
	const width = 42
	low, high := r.Span()
	other := false // a step is bound by what is not on its side of the ridge
	p.Entry("FLOP/byte", "on a logarithmic scale; the line is the ridge")
	for i := range r.Steps {
		s := &r.Steps[i]
		bound := "bound by " + string(s.Bound)
		other = other || s.Intensity < r.Ridge && s.Bound == steptime.Compute ||
			s.Intensity >= r.Ridge && s.Bound == steptime.Memory
		p.Line(fmt.Sprintf(" %-15s%s%s", s.Name,
			doc.Blue(doc.Scale(s.Intensity, low, high, r.Ridge, width)), bound))
	}
	p.Gap()
	if other {
		p.Text("A step is bound by what takes most of its time. Kernels reach other shares " +
			"of peak arithmetic than of peak bandwidth, so the effective ridge lies to one side " +
			"of the drawn ridge.")
	}
}

// lesson says what the picture shows.
func (r *Roofline) lesson() string {
	var first, last *RooflineStep
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Phase == "decode" && s.Fits {
			if first == nil {
				first = s
			}
			last = s
		}
	}
	if first == nil {
		return ""
	}
	apart, than := r.Ridge/first.Intensity, "fewer"
	if apart < 1 {
		apart, than = 1/apart, "more"
	}
	words := fmt.Sprintf("A decode step of batch %d does %s FLOP for each byte that it moves, %s "+
		"times %s than the ridge: the step is bound by %s.", first.Tokens,
		units.Figure(first.Intensity), units.Times(apart), than, first.Bound)
	if last.Tokens > first.Tokens {
		words += fmt.Sprintf(" Batch %d shares one reading of the weights among all: %s FLOP for "+
			"each byte, in %s times the time.",
			last.Tokens, units.Figure(last.Intensity), units.Times(last.Time/first.Time))
	}
	return words
}

// Span returns the intensities between which all operators and the ridge lie, with a margin.
func (r *Roofline) Span() (low, high float64) {
	low, high = r.Ridge, r.Ridge
	for i := range r.Steps {
		for _, o := range r.Steps[i].Operators {
			if o.Intensity == 0 {
				continue
			}
			low, high = min(low, o.Intensity), max(high, o.Intensity)
		}
	}
	return low / 2, high * 2
}
