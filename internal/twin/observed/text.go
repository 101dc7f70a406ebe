package observed

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
)

// WriteText says what was found and what is missing.
func (o *Observed) WriteText(to io.Writer) error {
	w := &writer{to: to}
	for i := range o.Sources {
		s := &o.Sources[i]
		w.printf("%s: %s", s.File, s.Format)
		if s.Version != "" {
			w.printf(" (%s)", s.Version)
		}
		w.printf(": %s\n", s.Found)
		for _, note := range s.Notes {
			w.printf("  note: %s\n", note)
		}
	}
	if s := &o.Server; *s != (Server{}) {
		w.printf("\nserver: %s\n", s.words())
	}
	w.printf("\n")
	for i := range o.Runs[:min(len(o.Runs), mostRuns)] {
		w.run(&o.Runs[i])
	}
	if more := len(o.Runs) - mostRuns; more > 0 {
		w.printf("and %d more runs\n", more)
	}
	for _, words := range o.Lacks {
		w.printf("lacks: %s\n", words)
	}
	return w.err
}

func (s *Server) words() string {
	words := ""
	add := func(format string, value any, known bool) {
		if known {
			words += fmt.Sprintf(format, value)
		}
	}
	add("%s ", s.Engine, s.Engine != "")
	add("%s ", s.Version, s.Version != "")
	add("serves %s ", s.Model, s.Model != "")
	add("on %s ", s.GPU, s.GPU != "")
	add("with tensor parallelism %d ", s.Tensor, s.Tensor > 0)
	add("with a KV cache of %d tokens ", s.CacheTokens, s.CacheTokens > 0)
	return words[:max(0, len(words)-1)]
}

// mostRuns bounds the runs that are printed.
const mostRuns = 40

type writer struct {
	to  io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format, args...)
	}
}

// run prints a run in a line.
func (w *writer) run(r *Run) {
	l, s := r.Load, r.Summary
	var parts []string
	switch {
	case len(r.Requests) > 0:
		l, s = r.described()
		parts = append(parts, fmt.Sprintf("%d requests", len(r.Requests)))
	case len(r.Steps) > 0:
		parts = append(parts, fmt.Sprintf("%d steps", len(r.Steps)))
	case len(r.Intervals) > 0:
		parts = append(parts, fmt.Sprintf("%d intervals", len(r.Intervals)))
	}
	add := func(format string, values ...any) {
		parts = append(parts, fmt.Sprintf(format, values...))
	}
	if l.Rate > 0 {
		add("%.3g/s", l.Rate)
	}
	if l.Concurrency > 0 {
		add("at most %d in flight", l.Concurrency)
	}
	if l.Prompt > 0 {
		add("%.0f tokens in, %.0f out", l.Prompt, l.Output)
	}
	for _, f := range []struct {
		name         string
		mean, median float64
	}{{"TTFT", s.TTFT, s.TTFT50}, {"TPOT", s.TPOT, s.TPOT50}, {"E2E", s.E2E, s.E2E50}} {
		switch {
		case f.mean > 0:
			add("%s %s", f.name, units.FormatDuration(f.mean))
		case f.median > 0:
			add("median %s %s", f.name, units.FormatDuration(f.median))
		}
	}
	w.printf("run %s: %s\n", r.Name, strings.Join(parts, ", "))
}

// described returns load and figures of a run's requests.
func (r *Run) described() (Load, Figures) {
	l, s := r.Load, Figures{}
	var served, ttfts, e2es, tpots float64
	l.Prompt, l.Output = 0, 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Failed {
			continue
		}
		served++
		l.Prompt, l.Output = l.Prompt+float64(q.Prompt), l.Output+float64(q.Output)
		for _, f := range []struct {
			value  float64
			sum, n *float64
		}{{q.TTFT, &s.TTFT, &ttfts}, {q.TPOT(), &s.TPOT, &tpots}, {q.E2E, &s.E2E, &e2es}} {
			if f.value > 0 {
				*f.sum, *f.n = *f.sum+f.value, *f.n+1
			}
		}
	}
	l.Prompt, l.Output = l.Prompt/max(1, served), l.Output/max(1, served)
	s.TTFT, s.TPOT, s.E2E = s.TTFT/max(1, ttfts), s.TPOT/max(1, tpots), s.E2E/max(1, e2es)
	if last := r.Requests[len(r.Requests)-1].Start(); last > 0 {
		l.Rate = float64(len(r.Requests)-1) / last
	}
	return l, s
}
