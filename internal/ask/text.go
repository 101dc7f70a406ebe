package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
)

// Blocks says the answer in at most some 40 lines.
func (a *Answer) Blocks() (p doc.Blocks) {
	p.Text(a.Setup)
	p.Text(a.Load)
	for _, words := range a.Understood {
		p.Item("read " + words)
	}
	for i, words := range a.Assumed {
		if i == mostItems {
			p.Item(fmt.Sprintf("and %d more notes (--format json)", len(a.Assumed)-mostItems))
			break
		}
		p.Item("assumed or left out: " + words)
	}
	p.Gap()
	header := []string{"", "reported", "predicted", "80% of cases", ""}
	var rows [][]string
	figures, left := a.Figures, 0
	if len(figures) > mostRows {
		left = len(figures) - mostRows
		figures = figures[left:]
	}
	for _, f := range figures {
		span := ""
		if f.High > 0 {
			span = f.words(f.Low) + " to " + f.words(f.High)
		}
		title := f.Title
		if f.Run != "" {
			title = f.Run + ": " + title
		}
		rows = append(rows, []string{title, f.words(f.Reported), f.words(f.Predicted), span,
			f.Verdict})
	}
	p.Table(header, rows, 0, 4)
	if left > 0 {
		p.Line(fmt.Sprintf(" %d figures of earlier runs are in --format json", left))
	}
	p.Gap()
	for _, words := range a.Binds {
		p.Text(words)
	}
	for _, words := range a.Doubts {
		p.Item("does not fit: " + words)
	}
	for _, words := range a.Helps {
		p.Item(words)
	}
	if len(a.Questions) > 0 {
		p.Text("Near questions of docs/questions.md: " + strings.Join(a.Questions, " "))
	}
	return p
}

// mostItems and mostRows bound what is printed.
const (
	mostItems = 4
	mostRows  = 10
)

// topics are headings of docs/questions.md, each with words that ask for it.
func topics() []struct{ heading, words string } {
	return []struct{ heading, words string }{
		{"What if traffic doubles?", "traffic doubles growth scale rate"},
		{"How many GPUs do 200 users need?", "many gpus users need concurrent"},
		{"What if prompts get four times longer, with RAG?", "long prompts context rag longer"},
		{"Is FP8 worth it?", "fp8 quantization quantized int8 awq int4"},
		{"Which vendor for a 70B chat?", "mi300x mi325x amd vendor rocm 70b"},
		{"How many GPUs does gpt-oss-120b need?", "gpt oss 120b"},
		{"A trace whose prompts share beginnings?", "prefix cache hit shared caching"},
		{"DeepSeek-V3: prefill and decode together or apart?",
			"deepseek disaggregated prefill decode pd apart"},
	}
}

// nearest returns up to two headings whose words the thread has.
func nearest(text string) (list []string) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	type scored struct {
		heading string
		n       int
	}
	var all []scored
	for _, t := range topics() {
		n := 0
		for _, word := range strings.Fields(t.words) {
			if slices.Contains(words, word) {
				n++
			}
		}
		if n > 0 {
			all = append(all, scored{t.heading, n})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return b.n - a.n })
	for _, one := range all[:min(2, len(all))] {
		list = append(list, one.heading)
	}
	return list
}
