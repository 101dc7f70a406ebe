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
		p.Text("Near pages of docs: " + strings.Join(a.Questions, "; "))
	}
	return p
}

// mostItems and mostRows bound what is printed.
const (
	mostItems = 4
	mostRows  = 10
)

// topic is a heading of a page of docs, with words of threads that ask for it.
type topic struct{ page, heading, words string }

func topics() []topic {
	const questions, situations = "questions.md", "situations.md"
	return []topic{
		{situations, "FP8 brings hardly anything at TP 8", "fp8 quantized quantization"},
		{situations, "TTFT falls when answers get longer", "shorter longer answers"},
		{situations, "SGLang's KV cache is larger than vLLM's", "kv cache max_total_num_tokens"},
		{situations, "Experts by TP or by EP", "experts expert moe ep"},
		{situations, "Tensor parallelism over PCIe", "pcie nvlink p2p tp tensor"},
		{situations, "Prefix hits are few behind a load balancer", "prefix hit balancer router"},
		{situations, "Preemptions", "preempted preemption preemptions recompute"},
		{situations, "The server refuses a long context", "oom max_model_len context memory long"},
		{situations, "Drafts under load", "speculative drafts eagle mtp spec"},
		{situations, "Prefill and decode apart are slower", "prefill decode disaggregated pd"},
		{situations, "--max-num-seqs", "seqs queue waiting batch"},
		{situations, "CPU offload", "offload cpu lmcache"},
		{questions, "What if traffic doubles?", "traffic doubles growth"},
		{questions, "How many GPUs do 200 users need?", "many users"},
		{questions, "What if prompts get four times longer, with RAG?", "rag documents"},
		{questions, "Is FP8 worth it?", "fp8 worth"},
		{questions, "Which vendor for a 70B chat?", "mi300x mi325x amd rocm vendor"},
		{questions, "How many GPUs does gpt-oss-120b need?", "oss 120b"},
		{questions, "A trace whose prompts share beginnings?", "prefix hit shared caching"},
		{questions, "DeepSeek-V3: prefill and decode together or apart?",
			"deepseek disaggregated pd apart"},
	}
}

// nearest returns up to two headings, of which the thread has two words, or one for a question.
func nearest(text string) (list []string) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
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
		if n > 1 || n == 1 && t.page == "questions.md" {
			all = append(all, scored{t.heading + " (" + t.page + ")", n})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return b.n - a.n })
	for _, one := range all[:min(2, len(all))] {
		list = append(list, one.heading)
	}
	return list
}
