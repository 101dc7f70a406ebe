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
	for i, words := range a.Unread {
		if i == mostItems {
			p.Item(fmt.Sprintf("and %d more places (--format json)", len(a.Unread)-mostItems))
			break
		}
		p.Item("looks like results and was not read: " + words)
	}
	if len(a.Unread) > 0 && !slices.ContainsFunc(a.Figures, func(f Figure) bool {
		return f.Reported > 0
	}) {
		p.Item("what was not read can be given as lines such as Mean TTFT (ms): 150, Mean TPOT " +
			"(ms): 20, Output token throughput (tok/s): 900")
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
	if len(figures) > mostRows { // of the runs before the last, means suffice
		figures = slices.DeleteFunc(slices.Clone(figures), func(f Figure) bool {
			return f.Run != a.last && f.Run != "" && !slices.Contains([]string{"mean_ttft_ms",
				"mean_tpot_ms", "output_throughput"}, f.Name)
		})
		left = len(a.Figures) - len(figures)
	}
	run := ""
	for _, f := range figures {
		if f.Run != run {
			run = f.Run
			if run != "" {
				rows = append(rows, []string{run + ":", "", "", "", ""})
			}
		}
		span := ""
		switch {
		case f.High > 0:
			span = f.words(f.Low) + " to " + f.words(f.High)
		case unranged(f.Name):
			span = "no range known"
		}
		title := f.Title
		if f.Run != "" {
			title = " " + title
		}
		rows = append(rows, []string{title, f.words(f.Reported), f.words(f.Predicted), span,
			f.Verdict})
	}
	p.Table(header, rows, 0, 4)
	if left > 0 {
		p.Line(fmt.Sprintf(" %d more figures of earlier runs are in --format json", left))
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

// topic is a heading of a page of docs, with words of threads that ask for it: one of the sure ones
// suffices, or two of the others.
type topic struct{ page, heading, sure, words string }

func topics() []topic {
	const questions, situations = "questions.md", "situations.md"
	return []topic{
		{situations, "FP8 brings hardly anything at TP 8", "", "fp8 quantized quantization tp"},
		{situations, "TTFT falls when answers get longer", "", "shorter longer answers"},
		{situations, "SGLang's KV cache is larger than vLLM's", "max_total_num_tokens",
			"kv cache size"},
		{situations, "Experts by TP or by EP", "", "experts expert moe ep"},
		{situations, "Tensor parallelism over PCIe", "pcie p2p", "nvlink tp tensor"},
		{situations, "Prefix hits are few behind a load balancer", "",
			"prefix hit hits balancer router"},
		{situations, "Preemptions", "preempted preemption preemptions", "recompute"},
		{situations, "The server refuses a long context", "oom outofmemoryerror",
			"max_model_len context memory long"},
		{situations, "Drafts under load", "speculative eagle eagle3 mtp", "drafts draft spec"},
		{situations, "Prefill and decode apart are slower",
			"disaggregated disaggregation nixl nixlconnector", "prefill decode pd"},
		{situations, "--max-num-seqs", "", "seqs queue waiting batch users"},
		{situations, "CPU offload", "offload lmcache", "cpu"},
		{questions, "What if traffic doubles?", "", "traffic doubles growth double"},
		{questions, "How many GPUs do 200 users need?", "", "many users gpus enough replicas"},
		{questions, "What if prompts get four times longer, with RAG?", "rag",
			"documents longer prompts"},
		{questions, "Is FP8 worth it?", "", "fp8 worth"},
		{questions, "Which vendor for a 70B chat?", "mi300x mi325x mi355x rocm", "amd vendor"},
		{questions, "How many GPUs does gpt-oss-120b need?", "", "gpt oss 120b"},
		{questions, "A trace whose prompts share beginnings?", "", "prefix shared trace caching"},
		{questions, "Spot or reserved?", "spot preemptible", "reserved"},
		{questions, "What does a job with a deadline cost?", "deadline", "batch job offline"},
		{questions, "Two models, one stock?", "", "two models stock"},
		{questions, "And 20,000 requests a second?", "classification classifier", "label"},
		{questions, "A small model first?", "cascade", "small escalate"},
		{questions, "Does it pay to start and stop replicas?", "autoscaling autoscaler hpa keda",
			"scale replicas stop"},
		{questions, "What do I buy for these traces?", "", "buy trace traces"},
		{questions, "DeepSeek-V3: prefill and decode together or apart?", "",
			"deepseek v3 disaggregated pd apart prefill"},
	}
}

// nearest returns up to two headings, those of which the thread has most words.
func nearest(text string) (list []string) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
	count := func(of string) (n int) {
		for _, word := range strings.Fields(of) {
			if slices.Contains(words, word) {
				n++
			}
		}
		return n
	}
	type scored struct {
		heading string
		n       int
	}
	var all []scored
	for _, t := range topics() {
		if n := 2*count(t.sure) + count(t.words); n > 1 {
			all = append(all, scored{t.heading + " (" + t.page + ")", n})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return b.n - a.n })
	for _, one := range all[:min(2, len(all))] {
		list = append(list, one.heading)
	}
	return list
}
