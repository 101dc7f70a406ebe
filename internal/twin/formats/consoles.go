package formats

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
)

// namedValues returns the values of lines "name [unit]: value" of a text, the first of each name,
// in small letters. Of a unit in parentheses, times are turned into seconds; the name has neither.
func namedValues(text string) map[string]float64 {
	form := regexp.MustCompile(`^\W*([A-Za-z][^:=(\[]{0,60}?)\s*((?:[(\[][^)\]]{0,40}[)\]]\s*)*)` +
		`[:=]\s*([0-9][0-9.,eE+-]{0,30})`)
	unit := regexp.MustCompile(`\((ms|s|us)\)`)
	of := map[string]float64{}
	for line := range strings.Lines(text) {
		m := form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value := numberIn(m[3])
		if u := unit.FindStringSubmatch(m[2]); u != nil {
			value *= timeUnit(u[1])
		}
		name := strings.ToLower(strings.Join(strings.Fields(m[1]), " "))
		if _, twice := of[name]; !twice {
			of[name] = value
		}
	}
	return of
}

// readOverview reads what trtllm-bench prints (tensorrt_llm/bench/dataclasses/reporting.py). The
// number and the lengths of requests follow from its rates where REQUEST DETAILS was not pasted.
func readOverview(in *input) error {
	text := string(in.data)
	of := namedValues(text)
	rate, seconds := of["request throughput"], of["total latency"]
	output := of["total output throughput"]
	if rate == 0 || output == 0 {
		return in.errorf("PERFORMANCE OVERVIEW has no Request Throughput or no Total Output " +
			"Throughput: paste it whole, or the file of --report_json")
	}
	run := observed.Run{Name: "overview", Load: observed.Load{Seconds: seconds,
		Requests: int(min(rate*seconds+0.5, 1<<31)), Output: output / rate}}
	l := &run.Load
	if total := of["total token throughput"]; total > output {
		l.Prompt = (total - output) / rate
	}
	l.Prompt = cmp.Or(of["average input length"], l.Prompt)
	l.Output = cmp.Or(of["average output length"], l.Output)
	run.Summary = observed.Figures{TTFT: of["average time-to-first-token"],
		TPOT: of["average time-per-output-token"], E2E: of["average request latency"],
		OutputRate: output}
	// By Little's law. From half of all requests on, they were queued at once.
	flying := rate * run.Summary.E2E
	given := cmp.Or(of["number of concurrent requests"], of["average concurrent requests"])
	if given > 0 {
		flying = given
	} else {
		in.lack("the number in flight: it is the rate times the latency; with half of the " +
			"requests or more in flight, all were queued at once")
	}
	if n := int(flying + 0.5); n > 0 && 2*n < l.Requests {
		l.Concurrency = n
	}
	s := &in.out.Server
	s.Engine = "trtllm"
	if m := regexp.MustCompile(`(?m)^Model:\s+(\S+)`).FindStringSubmatch(text); m != nil {
		s.Model = m[1]
	}
	s.Tensor = int(min(of["tp size"], 1<<20))
	in.out.Runs = append(in.out.Runs, run)
	in.found("1 overview of trtllm-bench, %d requests of %.0f and %.0f tokens", l.Requests,
		l.Prompt, l.Output)
	in.lack("single requests: the overview has means only")
	return nil
}

// readLLMPerfConsole reads what LLMPerf's token_benchmark_ray.py prints: for each metric, lines
// "p50 = value". Times are in seconds.
func readLLMPerfConsole(in *input) error {
	value := regexp.MustCompile(`^\s*(p\d\d|mean|stddev) = ([\d.eE+-]{1,30})`)
	name := regexp.MustCompile(`^\s*([a-z][a-z_]{3,60}):?\s*$`)
	of := map[string]float64{}
	metric := ""
	for line := range strings.Lines(string(in.data)) {
		if m := name.FindStringSubmatch(line); m != nil {
			metric = m[1]
		} else if m := value.FindStringSubmatch(line); m != nil {
			of[metric+" "+m[1]] = numberIn(m[2])
		}
	}
	total := namedValues(string(in.data))
	run := observed.Run{Name: "LLMPerf", Load: observed.Load{
		Requests: int(min(total["number of completed requests"], 1<<31)),
		Prompt:   of["number_input_tokens mean"], Output: of["number_output_tokens mean"]}}
	run.Summary = figures([3]string{"ttft_s", "inter_token_latency_s", "end_to_end_latency_s"},
		[3]string{"mean", "p50", "p99"},
		func(name, statistic string) float64 { return of[name+" "+statistic] })
	run.Summary.OutputRate = total["overall output throughput"]
	if run.Summary == (observed.Figures{}) {
		return in.errorf("LLMPerf's output has no ttft_s, no inter_token_latency_s and no " +
			"Overall Output Throughput: paste it whole, or the summary's JSON")
	}
	each := total["completed requests per minute"] / 60
	run.Load.Concurrency = int(min(each*run.Summary.E2E+0.5, 1<<31))
	if each > 0 {
		run.Load.Seconds = float64(run.Load.Requests) / each
	}
	in.out.Runs = append(in.out.Runs, run)
	in.found("1 output of LLMPerf")
	in.lack("the load: LLMPerf's output does not say it; the number in flight is its rate of " +
		"requests times its latency")
	return nil
}

// readTimings reads the times that llama.cpp's server and programs log for a request, and those of
// ollama run --verbose. Other slots may have had requests at the same time.
func readTimings(in *input) error {
	form := regexp.MustCompile(`(prompt eval|eval) time *= *([\d.]{1,16}) ms */ *(\d{1,9}) ` +
		`(?:tokens|runs)`)
	slot := regexp.MustCompile(`print_timings?: +id +(\d{1,6})|id_slot=(\d{1,6})`)
	slots := map[string]bool{}
	var tokens, seconds [2]float64 // of prompts and of answers
	n, answers := 0, 0.0
	add := func(prompt bool, count, time float64) {
		i := 1
		if prompt {
			i, n = 0, n+1
		} else {
			answers++
		}
		tokens[i], seconds[i] = tokens[i]+count, seconds[i]+time
	}
	for line := range strings.Lines(string(in.data)) {
		if m := slot.FindStringSubmatch(line); m != nil {
			slots[m[1]+m[2]] = true
		}
		if m := form.FindStringSubmatch(line); m != nil {
			add(m[1] == "prompt eval", numberIn(m[3]), numberIn(m[2])/1000)
		}
	}
	of := namedValues(string(in.data))
	if n == 0 && of["prompt eval count"] > 0 && of["prompt eval rate"] > 0 {
		add(true, of["prompt eval count"], of["prompt eval count"]/of["prompt eval rate"])
	}
	if answers == 0 && of["eval count"] > 0 && of["eval rate"] > 0 {
		add(false, of["eval count"], of["eval count"]/of["eval rate"])
	}
	if tokens[1] == 0 || seconds[1] == 0 {
		return in.errorf("found no eval time (or eval count and eval rate) of answers: paste the " +
			"lines of a whole request")
	}
	run := observed.Run{Name: "timings", Load: observed.Load{Concurrency: 1,
		Requests: max(n, int(answers)), Output: max(1, tokens[1]/answers)}}
	run.Summary.TPOT = seconds[1] / tokens[1]
	if tokens[0] > 0 {
		run.Load.Prompt = tokens[0] / float64(n)
		run.Summary.TTFT = seconds[0] / float64(n)
	}
	in.out.Runs = append(in.out.Runs, run)
	in.found("times of %s", units.Plural(run.Load.Requests, "request"))
	if len(slots) > 1 {
		in.addNote("the requests of %s slots are taken as one after another; give the number in "+
			"flight with --load if they ran together", strconv.Itoa(len(slots)))
	}
	in.addNote("prompt eval counts the tokens of a prompt that the cache did not have")
	return nil
}

// readThroughputLine reads the lines that `vllm bench throughput` prints.
func readThroughputLine(in *input) error {
	const number = `([\d.]{1,16})`
	m := regexp.MustCompile(`Throughput: ` + number + ` requests/s, ` + number +
		` (?:total )?tokens/s(?:, ` + number + ` output tokens/s)?`).
		FindStringSubmatch(string(in.data))
	if m == nil {
		return in.errorf("found no line \"Throughput: … requests/s, … total tokens/s, " +
			"… output tokens/s\"")
	}
	rate, total, output := numberIn(m[1]), numberIn(m[2]), numberIn(m[3])
	of := namedValues(string(in.data))
	run := observed.Run{Name: "throughput", Summary: observed.Figures{OutputRate: output}}
	if rate > 0 && output > 0 && total > output {
		run.Load.Output, run.Load.Prompt = output/rate, (total-output)/rate
	}
	if answers := of["total num output tokens"]; rate > 0 && output > 0 && answers > 0 {
		run.Load.Requests = int(min(answers/output*rate+0.5, 1<<31))
	}
	if output == 0 {
		return in.errorf("the line of vllm bench throughput has no output tokens/s, as releases " +
			"before 0.6.4 print it: prompts and answers together are not compared; run " +
			"vllm bench serve, or a newer release")
	}
	in.out.Runs = append(in.out.Runs, run)
	in.found("1 line of vllm bench throughput")
	in.lack("latencies: vllm bench throughput queues all requests at once, and times the whole run")
	return nil
}
