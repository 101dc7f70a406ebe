package crosscheck

import (
	"errors"

	"github.com/llmsim/llmsim/internal/report/plots"
)

// draw writes pictures of the comparison into dir: the distributions of latencies over each other,
// the errors of steps against their tokens and contexts, and the steps of the first run over time.
func (c *Comparison) draw(dir string) error {
	var all error
	for _, l := range []struct {
		file, title string
		of          func(r *Request) float64
	}{
		{"ttft", "Time to first token", func(r *Request) float64 { return 1000 * r.TTFT }},
		{"tpot", "Time per output token", func(r *Request) float64 { return 1000 * r.TPOT }},
		{"e2e", "Whole request", func(r *Request) float64 { return 1000 * r.E2E }},
	} {
		p, err := plots.Overlay(l.title+": "+c.Title, "milliseconds", []plots.Sample{
			{Name: "predicted", Values: pooled(c.Predicted, l.of)},
			{Name: "executed", Values: pooled(c.Executed, l.of)},
		})
		if err == nil {
			err = plots.Save(dir, l.file, p)
		}
		all = errors.Join(all, err)
	}
	for _, x := range []struct {
		file, label string
		of          func(s *Step) float64
	}{
		{"errors-by-tokens", "tokens in the step",
			func(s *Step) float64 { return float64(s.DecodeTokens + s.New) }},
		{"errors-by-context", "tokens attended to: contexts, prompts and what is cached of them",
			func(s *Step) float64 { return float64(int(s.Context) + s.Cached + s.New) }},
	} {
		p, err := plots.Errors("Errors of single steps: "+c.Title, x.label, c.stepErrors(x.of))
		if err == nil {
			err = plots.Save(dir, x.file, p)
		}
		all = errors.Join(all, err)
	}
	p, err := plots.Timeline("Steps over time: "+c.Title, "time of a step (ms)", []plots.Series{
		stepOutline("predicted", c.Predicted[0].Spans),
		stepOutline("executed", c.Executed[0].Spans),
	})
	if err == nil {
		err = plots.Save(dir, "timeline", p)
	}
	return errors.Join(all, err)
}

// timelineSeconds is how much of a run is drawn: more would be too dense to read.
const timelineSeconds = 4

// stepOutline returns the outline of steps: as high as each took, and at zero between them.
func stepOutline(name string, spans []Span) plots.Series {
	outline := plots.Series{Name: name}
	add := func(x, y float64) {
		outline.X, outline.Y = append(outline.X, x), append(outline.Y, y)
	}
	for i, s := range spans {
		if s.End > spans[0].Start+timelineSeconds {
			break
		}
		took := 1000 * (s.End - s.Start)
		if i > 0 && s.Start > spans[i-1].End {
			add(spans[i-1].End, 0)
			add(s.Start, 0)
		}
		add(s.Start, took)
		add(s.End, took)
	}
	return outline
}

// pooled returns a number of every request of some runs.
func pooled(runs []*Run, of func(r *Request) float64) []float64 {
	var values []float64
	for _, run := range runs {
		for i := range run.Requests {
			values = append(values, of(&run.Requests[i]))
		}
	}
	return values
}

// stepErrors returns the errors of all executed steps, in percent, by what was in them.
func (c *Comparison) stepErrors(x func(s *Step) float64) []plots.Series {
	kinds := []plots.Series{{Name: "decode alone"}, {Name: "prompts alone"}, {Name: "both"}}
	for _, run := range c.Executed {
		for i := range run.Steps {
			s := &run.Steps[i]
			kind := &kinds[0]
			switch {
			case s.Chunks > 0 && s.Decodes > 0:
				kind = &kinds[2]
			case s.Chunks > 0:
				kind = &kinds[1]
			}
			kind.X, kind.Y = append(kind.X, x(s)), append(kind.Y, 100*s.Error())
		}
	}
	return kinds
}
