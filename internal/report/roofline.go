package report

import (
	"fmt"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/llmsim/llmsim/internal/report/terminal"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Roofline places the operators of prefill and decode under the roof of one accelerator: what it
// can compute at a given number of FLOP for each byte moved is the lesser of its peak and intensity
// × bandwidth (Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009).
type Roofline struct {
	Model       string `json:"model"`
	Accelerator string `json:"accelerator"`
	Tensor      int    `json:"tensor_parallel"`
	// Peak is in FLOP/s, Bandwidth in B/s, of one accelerator; Ridge is the intensity in FLOP/B at
	// which they meet.
	Peak      float64 `json:"peak_flops"`
	Bandwidth float64 `json:"bandwidth"`
	Ridge     float64 `json:"ridge"`
	// Steps are the steps looked at, Context the tokens before the one that each sequence decodes.
	Context int            `json:"context"`
	Steps   []RooflineStep `json:"steps"`
}

// RooflineStep is a step, as a whole and by operator.
type RooflineStep struct {
	// Phase is "prefill" or "decode", Tokens the length of the one prompt or the number of
	// sequences that decode.
	Phase  string `json:"phase"`
	Tokens int    `json:"tokens"`
	// Fits reports whether the KV memory has room for the step.
	Fits bool `json:"fits"`
	RooflinePoint
	Operators []RooflinePoint `json:"operators"`
}

// RooflinePoint is one operator, or a whole step, under the roof.
type RooflinePoint struct {
	Name  string  `json:"name"`
	FLOPs float64 `json:"flops"`
	Bytes float64 `json:"bytes"`
	// Time is in seconds.
	Time float64 `json:"time"`
	// Intensity is FLOPs/Bytes, Rate is FLOPs/Time in FLOP/s, Roof the most that the intensity
	// allows.
	Intensity float64        `json:"intensity"`
	Rate      float64        `json:"rate"`
	Roof      float64        `json:"roof"`
	Bound     steptime.Bound `json:"bound"`
}

// NewRoofline looks at the prefill of a prompt alone, for each length of prompts, and at decode
// steps of each size of batches, all sequences of a batch with the same context.
func NewRoofline(s *scenarios.Steps, prompts, batches []int, context int) *Roofline {
	flops, bandwidth := s.Clock.Peaks()
	n := float64(s.Scenario.Parallelism.Accelerators())
	r := &Roofline{
		Model: s.Model.Name, Accelerator: s.Accelerator.Name, Tensor: s.Scenario.Parallelism.Tensor,
		Peak: flops / n, Bandwidth: bandwidth / n, Ridge: flops / bandwidth, Context: context,
	}
	for _, tokens := range prompts {
		r.add("prefill", tokens, s.Room(tokens) > 0,
			s.Clock.Breakdown(&sim.Step{Prefill: []sim.Chunk{{New: tokens, Last: true}}}))
	}
	for _, batch := range batches {
		step := sim.Step{Decodes: batch, DecodeTokens: batch,
			Context: int64(batch) * int64(context+1)}
		r.add("decode", batch, batch <= s.Room(context+1), s.Clock.Breakdown(&step))
	}
	return r
}

func (r *Roofline) add(phase string, tokens int, fits bool, ops []steptime.Operator) {
	step := RooflineStep{Phase: phase, Tokens: tokens, Fits: fits}
	var whole steptime.Operator
	whole.Bound = steptime.Binding(ops)
	for _, op := range ops {
		whole.FLOPs += op.FLOPs
		whole.Bytes += op.Bytes
		whole.Time += op.Time
		if op.FLOPs > 0 && op.Bytes > 0 {
			step.Operators = append(step.Operators, r.point(op))
		}
	}
	whole.Name = fmt.Sprintf("%s %d", phase, tokens)
	step.RooflinePoint = r.point(whole)
	r.Steps = append(r.Steps, step)
}

func (r *Roofline) point(op steptime.Operator) RooflinePoint {
	p := RooflinePoint{Name: op.Name, FLOPs: op.FLOPs, Bytes: op.Bytes, Time: op.Time.Seconds(),
		Bound: op.Bound}
	p.Intensity = op.FLOPs / op.Bytes
	p.Rate = op.FLOPs / p.Time
	p.Roof = min(r.Peak, p.Intensity*r.Bandwidth)
	return p
}

// Roofline prints where the steps are under the roof, and the operators of the first and the last
// of each phase.
func (p *Printer) Roofline(r *Roofline) {
	p.printf("%s on %s", r.Model, r.Accelerator)
	if r.Tensor > 1 {
		p.printf(", one of %d", r.Tensor)
	}
	p.printf("\n")
	p.paragraph(fmt.Sprintf("%s at most, %s; they balance at %s FLOP for each byte (the ridge).",
		units.FormatFLOPRate(r.Peak), units.FormatByteRate(r.Bandwidth), figure(r.Ridge)), 0)
	p.printf("\n")
	var rows []table.Row
	for i := range r.Steps {
		s := &r.Steps[i]
		name := p.paint(bold, s.Name)
		if !s.Fits {
			name = p.paint(dim, s.Name+" *")
		}
		rows = append(rows, rooflineRow(name, &s.RooflinePoint))
		if i == 0 || i == len(r.Steps)-1 || r.Steps[i-1].Phase != s.Phase ||
			r.Steps[i+1].Phase != s.Phase {
			for j := range s.Operators {
				rows = append(rows, rooflineRow(" "+s.Operators[j].Name, &s.Operators[j]))
			}
		}
	}
	p.grid(table.Row{"step, operator", "FLOP/byte", "TFLOP/s", "of roof", "", "time", "bound by"},
		rows, 0, 4, 6)
	for i := range r.Steps {
		if !r.Steps[i].Fits {
			p.paragraph(fmt.Sprintf(
				"* The KV memory has no room for that many contexts of %s tokens: such a step "+
					"cannot run here.", count(r.Context+1)), 0)
			break
		}
	}
	p.printf("\n")
	p.intensities(r)
	p.paragraph(r.lesson(), 0)
}

func rooflineRow(name string, o *RooflinePoint) table.Row {
	ofRoof := math.Round(1e6*o.Rate/o.Roof) / 1e6 // step times are whole ticks
	return table.Row{
		name, figure(o.Intensity), figure(o.Rate / 1e12), percent(ofRoof), terminal.Bar(ofRoof, 8),
		units.FormatDuration(o.Time), string(o.Bound),
	}
}

// intensities draws on which side of the ridge each step lies.
func (p *Printer) intensities(r *Roofline) {
	const width = 42
	low, high := r.Span()
	other := false // a step is bound by what is not on its side of the ridge
	p.printf(" %-*s%s\n", entryIndent-1, "FLOP/byte",
		"on a logarithmic scale; the line is the ridge")
	for i := range r.Steps {
		s := &r.Steps[i]
		bound := "bound by " + string(s.Bound)
		other = other || s.Intensity < r.Ridge && s.Bound == steptime.Compute ||
			s.Intensity >= r.Ridge && s.Bound == steptime.Memory
		p.printf(" %-*s%s%s\n", entryIndent-1, s.Name,
			p.paint(blue, terminal.Scale(s.Intensity, low, high, r.Ridge, width)), bound)
	}
	p.printf("\n")
	if other {
		p.paragraph("A step is bound by what takes most of its time. Kernels reach other shares "+
			"of peak arithmetic than of peak bandwidth, so the effective ridge lies to one side "+
			"of the drawn ridge.", 0)
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
	words := fmt.Sprintf("A decode step of batch %d does %s FLOP for each byte that it reads, %s "+
		"times fewer than the ridge: "+
		"the step is bound by %s.", first.Tokens, figure(first.Intensity),
		times(r.Ridge/first.Intensity), first.Bound)
	if last.Tokens > first.Tokens {
		words += fmt.Sprintf(" Batch %d shares one reading of the weights among all: %s FLOP for "+
			"each byte, in %s times the time.",
			last.Tokens, figure(last.Intensity), times(last.Time/first.Time))
	}
	return words
}

// Span returns the intensities between which all operators and the ridge lie, with a margin.
func (r *Roofline) Span() (low, high float64) {
	low, high = r.Ridge, r.Ridge
	for i := range r.Steps {
		for _, o := range r.Steps[i].Operators {
			low, high = min(low, o.Intensity), max(high, o.Intensity)
		}
	}
	return low / 2, high * 2
}
