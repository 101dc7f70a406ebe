package formats

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

func fitsIterations(data []byte) bool {
	return iterationLine().Match(head(data))
}

func fitsLog(data []byte) bool {
	return logLine().Match(head(data))
}

// iterationLine is a line of vLLM's --enable-logging-iteration-details (vllm/v1/engine/core.py).
// The engine core's number is in the prefix.
func iterationLine() *regexp.Regexp {
	return regexp.MustCompile(`Iteration\((\d{1,12})\): (\d{1,9}) context requests, ` +
		`(\d{1,9}) context tokens, (\d{1,9}) generation requests, (\d{1,9}) generation tokens, ` +
		`iteration elapsed time: (\d{1,9}(?:\.\d{1,9})?) ms(.*)`)
}

// shortest is a time of a step in seconds below which it was not the step that was timed: with
// asynchronous scheduling many lines have about 0.03 ms, and a later one has the sum.
const shortest = 0.2e-3

// readIterations reads steps. The lines do not say how long contexts are.
func readIterations(in *input) error {
	run := observed.Run{Name: in.name}
	form, idle, short := iterationLine(), 0, 0
	rank := regexp.MustCompile(`EngineCore_DP(\d{1,4})`)
	ranks := map[string]bool{}
	for line := range bytes.Lines(in.data) {
		m := form.FindSubmatch(line)
		if m == nil {
			continue
		}
		var n [7]float64
		for i := 2; i <= 6; i++ {
			n[i], _ = strconv.ParseFloat(string(m[i]), 64)
		}
		if bytes.Contains(m[7], []byte("(dummy)")) || n[3]+n[4] == 0 {
			idle++
			continue
		}
		if n[6]/1000 < shortest {
			short++
			continue
		}
		if r := rank.FindSubmatch(line); r != nil {
			ranks[string(r[1])] = true
		}
		run.Steps = append(run.Steps, observed.Step{Prefills: int(n[2]), PrefillTokens: int(n[3]),
			Decodes: int(n[4]), Seconds: n[6] / 1000})
	}
	in.out.Server.Engine = "vllm"
	in.found("%d steps, %d dummy or empty ones", len(run.Steps), idle)
	if short*4 > len(run.Steps) {
		in.addNote("%d steps have times under %g ms: asynchronous scheduling times the hand-over "+
			"and not the step, so that nothing is fitted to these lines", short, 1000*shortest)
		return nil
	}
	if len(ranks) > 1 {
		in.addNote("%d data-parallel ranks log steps of their own, which wait for each other",
			len(ranks))
	}
	in.lack("the context of decoding sequences (Iteration lines do not have it): steps are taken " +
		"to have the mean context of the scenario's workload")
	in.out.Runs = append(in.out.Runs, run)
	return nil
}

// logLine is a periodic line of vLLM: V0 has Swapped and Pending, V1 Waiting.
func logLine() *regexp.Regexp {
	return regexp.MustCompile(`(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) .*Avg prompt throughput: ` +
		`([\d.]{1,20}) tokens/s, Avg generation throughput: ([\d.]{1,20}) tokens/s, ` +
		`Running: (\d{1,9}) reqs, (?:Swapped: \d{1,9} reqs, )?(?:Waiting|Pending): (\d{1,9}) reqs`)
}

// readLog reads the lines: rates of tokens, and counts of requests.
func readLog(in *input) error {
	run := observed.Run{Name: in.name}
	form := logLine()
	origin := -1.0
	last := map[string]float64{}
	engine := regexp.MustCompile(`Engine (\d{1,4}):`)
	for line := range bytes.Lines(in.data) {
		m := form.FindSubmatch(line)
		if m == nil {
			continue
		}
		var n [10]float64
		for i := 1; i <= 9; i++ {
			n[i], _ = strconv.ParseFloat(string(m[i]), 64)
		}
		at := ((n[1]*31+n[2])*24+n[3])*3600 + n[4]*60 + n[5] // in order within a year
		if origin < 0 {
			origin = at
		}
		who := ""
		if e := engine.FindSubmatch(line); e != nil {
			who = string(e[1])
		}
		span := 10.0 // vLLM logs every ten seconds
		if before, seen := last[who]; seen && at > before && at-before < 60 {
			span = at - before
		}
		last[who] = at
		run.Intervals = append(run.Intervals, observed.Interval{At: max(0, at-origin),
			Seconds: span, PromptTokens: n[6] * span, OutputTokens: n[7] * span, Running: n[8],
			Waiting: n[9]})
	}
	in.out.Server.Engine = "vllm"
	in.found("%d lines with rates", len(run.Intervals))
	in.addNote("the date of a line has no year; counts are of one moment, from which no time of " +
		"a token follows: only the load is taken from them")
	in.lack("arrivals and latencies of requests: scrape /metrics, which has them")
	in.out.Runs = append(in.out.Runs, run)
	return nil
}

// readFPM reads forward-pass metrics as Dynamo records them (dynamo.fpm.trace.v1), or the records
// alone. Each data-parallel rank reports its own steps.
func readFPM(in *input, all []object) error {
	run := observed.Run{Name: in.name}
	idle, sampled, ranks := 0, false, map[int]bool{}
	for _, o := range all {
		event := o.at("event")
		record := event.at("fpm")
		if record == nil {
			record = o
		}
		if schema := event.text("schema"); schema != "" && schema != "dynamo.fpm.trace.v1" {
			return in.errorf("schema: found %q, allowed: dynamo.fpm.trace.v1", schema)
		}
		if v := record.count("version"); record.has("version") && v != 1 {
			return in.errorf("version of a forward-pass record: found %d, allowed: 1", v)
		}
		sampled = sampled || event.text("capture_mode") == "sampled"
		ranks[record.count("dp_rank")] = true
		asked := record.at("scheduled_requests")
		s := observed.Step{Seconds: record.number("wall_time"),
			Prefills:      asked.count("num_prefill_requests"),
			PrefillTokens: asked.count("sum_prefill_tokens"),
			PrefillKV:     asked.count("sum_prefill_kv_tokens"),
			Decodes:       asked.count("num_decode_requests"),
			DecodeKV:      asked.count("sum_decode_kv_tokens")}
		if s.Seconds == 0 {
			idle++
			continue
		}
		if s.PrefillKV == s.PrefillTokens && s.PrefillKV > 0 {
			in.addNote("KV that prompts read equals their tokens: SGLang counts new tokens in " +
				"it; they are taken as new")
			s.PrefillKV = 0
		}
		run.Steps = append(run.Steps, s)
	}
	in.source.Version = "1"
	in.found("%d steps, %d idle records", len(run.Steps), idle)
	if len(ranks) > 1 {
		in.addNote("%d data-parallel ranks report steps of their own, which wait for each other",
			len(ranks))
	}
	if sampled {
		in.lack("all steps (the file has samples): requests cannot be reconstructed from them")
	}
	in.lack("the host's time for a request: steps alone do not have it")
	in.out.Runs = append(in.out.Runs, run)
	return nil
}

// readTRTLLM reads iteration statistics of trtllm-serve's /metrics.
func readTRTLLM(in *input, all []object) error {
	in.out.Server.Engine = "trtllm"
	for _, o := range all {
		kv := o.at("kvCacheStats")
		in.out.Server.BlockTokens = kv.count("tokensPerBlock")
		in.out.Server.CacheTokens = kv.count("maxNumBlocks") * kv.count("tokensPerBlock")
	}
	in.found("%d iterations, the size of the KV cache", len(all))
	in.addNote("iterLatencyMS covers another span with overlapped scheduling, and says nothing " +
		"of prompts: nothing is fitted to it")
	return nil
}
