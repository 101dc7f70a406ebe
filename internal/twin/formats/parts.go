package formats

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Part is what a text among words has of one format.
type Part struct {
	Format string
	// Lines are the numbers of its lines, from 0.
	Lines []int
}

// shape is how lines of a format look among words.
type shape struct {
	format string
	// begin matches a line from which on lines are of the format, as long as they match more or
	// are blank; without more, each line is by itself.
	begin, more *regexp.Regexp
	// end matches the last line of a stretch; nil without such a line.
	end *regexp.Regexp
	// apart says that each stretch is read by itself.
	apart bool
}

// shapes lists them; a line belongs to the first that it fits.
var shapes = sync.OnceValue(func() []shape {
	of := func(format, begin, more string) shape {
		s := shape{format: format, begin: regexp.MustCompile(begin)}
		if more != "" {
			s.more = regexp.MustCompile(more)
		}
		return s
	}
	const value = `[:=]\s*[0-9]`
	list := []shape{
		of("vllm-log", `Avg prompt throughput: |Prefix cache hit rate: GPU: `, ""),
		of("fpm", `^payload [0-9a-f]{8}|^topic ?$`, `^(?:topic|payload|seq)\b`),
		of("vllm-iterations", `Iteration\(\d+\): \d+ context requests`, ""),
		of("sglang-decode-log", `Decode batch[.,].*gen throughput`, ""),
		of("metrics", `^(?:# (?:HELP|TYPE) )?(?:vllm:|sglang:|trtllm_)\w+`,
			`^(?:# (?:HELP|TYPE) )?[a-z]\w*(?::\w+)?(?:\{.*\})? \S`),
		of("llama-timings", `eval time *= *[\d.]+ ms|^\s*(?:prompt )?eval (?:count|rate): +\d`,
			`time *= *[\d.]+ ms|^\W*(?:graphs reused|draft acceptance)|slot print_timing|`+
				`^\s*(?:prompt )?eval (?:count|duration|rate): |^\s*(?:total|load) duration: `),
		of("llmperf-console", `^\s*(?:inter_token_latency_s|ttft_s|end_to_end_latency_s|`+
			`request_output_throughput_token_per_s|number_(?:in|out)put_tokens):?\s*$|`+
			`^\s*(?:Overall Output Throughput|Number Of (?:Errored|Completed) Requests|`+
			`(?:Completed|Launched) Requests Per Minute): `, `^\s*(?:p\d\d|mean|min|max|stddev) = `),
		of("trtllm-overview", `^=* ?(?:PERFORMANCE OVERVIEW|REQUEST DETAILS|PYTORCH BACKEND|`+
			`ENGINE DETAILS|WORLD \+ RUNTIME INFORMATION)\b`,
			`^=+ ?$|^= [A-Z]|^-- |^\[|`+value+`|:\s+\S+$`),
		of("guidellm-console", `Benchmarks (?:Info|Stats):|Run Summary Info|`+
			`(?:Metrics|Request Token|Request Latency|Request Count|Server Throughput)s? `+
			`Statistics|^\W*\| *Benchmark *\| |^ *Metadata +\|`, `\|.*\||^\s*={8}`),
		of("aiperf-console", `(?i)(?:AIPerf|GenAI-Perf) \| LLM Metrics|[┃│|] *(?:Metric|Statistic) `+
			`*[┃│|] *avg`, `[┃│┏┡└├━─]|^\s*\|.*\|`),
		of("llama-bench", `^\W*\| *model .*\| *t/s|^\|.*\| *(?:pp|tg) ?\d+(?: *@ *d\d+)? *\|`,
			`^\s*\|.*\|`),
		of("table", `(?i)^\s*\|.*(?:\bttft|\btpot|\bitl\b|\btok(?:en)?s?/s).*\|`, `^\s*\|.*\|`),
		of("throughput-line", `^Throughput: [\d.]+ requests/s|^Total num (?:prompt|output) tokens:`,
			""),
		of("llm-d-report", `^(?:version: ["']?0\.|load_summary:$|successes:$)`,
			`^\s+\S|^[a-z_]+:|^- `),
		of("langfuse", `^[^{]*timestamp.*promptTokens.*completionTokens`, `,.*,`),
		of("csv", `(?i)^[\w ]+[,;](?:.*[,;])?(?:prompt_tokens|output_tokens|(?:\w+_)?ttft\w*|`+
			`(?:\w+_)?tpot\w*|step_ms|step_s)\b`, `[,;].*[,;]`),
		of("printed-table", tableHead+`|^\W*(?:Traffic request rate|(?:Max|Maximum) request `+
			`concurrency|Successful requests|(?:Mean|Avg|Average|Median|P\d\d) (?:TTFT|TPOT|ITL|`+
			`E2EL?|E2E Latency)\b.*|(?:TTFT|TPOT|ITL|E2EL?)(?: \(m?s\))?|Output token throughput)`+
			`\s*(?:\([^)]*\))?\s*`+value, `^\W*[A-Za-z][^|:=]{0,60}`+value+`|:\s*(?:inf|None)|`+
			`^\W*[-=]{5}`),
	}
	list[len(list)-1].end = regexp.MustCompile(`^\W*={20,}\W*$`)
	for i := range list {
		list[i].apart = slices.Contains([]string{"csv", "langfuse", "llm-d-report", "table"},
			list[i].format)
	}
	return list
})

// Parts finds results that stand among words, apart from JSON: the lines of each format together,
// and each file that was pasted whole by itself.
func Parts(lines []string) (list []Part) {
	all := shapes()
	at := map[string]int{}
	for i := 0; i < len(lines); i++ {
		k := slices.IndexFunc(all, func(s shape) bool { return s.begin.MatchString(lines[i]) })
		if k < 0 {
			continue
		}
		s := &all[k]
		where, known := at[s.format]
		if !known || s.apart {
			list = append(list, Part{Format: s.format})
			where = len(list) - 1
			at[s.format] = where
		}
		list[where].Lines = append(list[where].Lines, i)
		for blank := 0; s.more != nil && i+blank+1 < len(lines); {
			next := lines[i+blank+1]
			if strings.TrimSpace(next) == "" && blank < 2 && !s.apart {
				blank++
				continue
			}
			if !s.more.MatchString(next) && !s.begin.MatchString(next) {
				break
			}
			for ; blank >= 0; blank-- {
				i++
				list[where].Lines = append(list[where].Lines, i)
			}
			blank = 0
			if s.end != nil && s.end.MatchString(next) {
				break
			}
		}
	}
	return list
}

// begins reports whether data have a line that begins a format of the list.
func begins(list []shape, format string, data []byte) bool {
	at := slices.IndexFunc(list, func(s shape) bool { return s.format == format })
	for line := range strings.Lines(string(head(data))) {
		if list[at].begin.MatchString(line) {
			return true
		}
	}
	return false
}
