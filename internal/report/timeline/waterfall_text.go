package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Sizes of the text: the characters of a bar, and the parts of a request that are shown.
const (
	barWidth  = 32
	mostParts = 24
)

// Waterfalls shows waterfalls below each other in 80 columns: for each what its time adds up to,
// and its parts one after another.
func Waterfalls(all []Waterfall) (p doc.Blocks) {
	seen := map[Kind]bool{}
	for i := range all {
		w := &all[i]
		p.Heading(w.Name)
		p.Text(w.words())
		p.Gap()
		for _, t := range w.Totals() {
			seen[t.Kind] = true
			p.Line(strings.TrimRight(fmt.Sprintf("%-10s %s %9s %7s  %s", t.Kind,
				doc.Bar(share(t, w.Life), barWidth), duration(t.Span),
				units.Percent(share(t, w.Life)), counted(t.Steps, "step")), " "))
		}
		p.Gap()
		rows, left := w.rows()
		for i := range rows {
			p.Line(w.line(&rows[i]))
		}
		if left > 0 {
			p.Text(fmt.Sprintf("The %d longest parts; %d shorter ones are left out.", len(rows),
				left))
		}
		p.Gap()
	}
	p.Text(legend(seen))
	return p
}

func duration(t sim.Time) string { return units.FormatDuration(t.Seconds()) }

// counted says how many there are of something, and nothing for 0.
func counted(n int64, noun string) string {
	if n == 0 {
		return ""
	}
	return units.Plural(int(n), noun)
}

// words says what request it is, and how long it took.
func (w *Waterfall) words() string {
	text := fmt.Sprintf("Request %d, %d prompt and %d output tokens, arrives at %s: %s to the "+
		"first token, %s to the last.", w.ID, w.Prompt, w.Output, duration(w.Arrival),
		duration(w.TTFT()), duration(w.E2E()))
	if w.Cached > 0 {
		text += fmt.Sprintf(" %d prompt tokens were cached.", w.Cached)
	}
	if w.Preemptions > 0 {
		text += fmt.Sprintf(" Preemptions: %d.", w.Preemptions)
	}
	if w.Retries > 0 {
		text += fmt.Sprintf(" Failures of its replica: %d.", w.Retries)
	}
	return text
}

// row is a line of the picture: a part, or several of one kind with the waiting between them.
type row struct {
	Part
	waiting sim.Time
}

// rows returns the lines in order, and how many parts they leave out. Where there are many parts,
// parts of one kind that only waiting separates become one line.
func (w *Waterfall) rows() (list []row, left int) {
	join := len(w.Parts) > mostParts
	for _, p := range w.Parts {
		n := len(list)
		if join && n >= 2 && p.Steps > 0 && list[n-2].Kind == p.Kind &&
			list[n-1].Kind == Waiting && list[n-2].Replica == p.Replica {
			list[n-2].waiting += list[n-1].Span()
			list = list[:n-1]
			list[n-2].extend(p)
			continue
		}
		if join && n >= 1 && list[n-1].Kind == p.Kind && list[n-1].Replica == p.Replica {
			list[n-1].extend(p)
			continue
		}
		list = append(list, row{Part: p})
	}
	if left = len(list) - mostParts; left <= 0 {
		return list, 0
	}
	spans := make([]sim.Time, len(list))
	for i := range list {
		spans[i] = list[i].Span()
	}
	slices.Sort(spans)
	shortest, kept := spans[left], list[:0]
	last, _ := slices.BinarySearch(spans, shortest+1)
	for alike := last - left; len(list) > 0; list = list[1:] {
		r := list[0]
		if r.Span() == shortest {
			alike--
		}
		if r.Span() > shortest || r.Span() == shortest && alike >= 0 {
			kept = append(kept, r)
		}
	}
	return kept, left
}

// extend adds another part of the same kind.
func (r *row) extend(p Part) {
	r.To, r.Steps, r.Tokens = p.To, r.Steps+p.Steps, r.Tokens+p.Tokens
}

// line draws a row: when it begins after the arrival, where it lies, how long it lasts.
func (w *Waterfall) line(r *row) string {
	at := func(t sim.Time) int {
		return min(barWidth-1, int(barWidth*float64(t-w.Arrival)/float64(max(1, w.E2E()))))
	}
	from, to := at(r.From), at(r.To-1)
	bar := strings.Repeat(" ", from) + strings.Repeat(string(lookOf(r.Kind).rune()), to-from+1) +
		strings.Repeat(" ", barWidth-1-to)
	return strings.TrimRight(fmt.Sprintf("%9s %-10s %s %9s  %s", duration(r.From-w.Arrival), r.Kind,
		bar, duration(r.Span()), r.detail()), " ")
}

// detail says what a row computes.
func (r *row) detail() string {
	switch {
	case r.waiting > 0:
		return fmt.Sprintf("%s waits", duration(r.waiting))
	case r.Kind == Prefill || r.Kind == Recompute:
		return counted(int64(r.Tokens), "token")
	}
	return counted(r.Steps, "step")
}

// legend says what the kinds that were seen mean.
func legend(seen map[Kind]bool) string {
	var list []string
	for k := Queued; k <= FrontEnd; k++ {
		if seen[k] {
			list = append(list, fmt.Sprintf("%s: %s", k, k.Meaning()))
		}
	}
	return strings.Join(list, "; ") + "."
}
