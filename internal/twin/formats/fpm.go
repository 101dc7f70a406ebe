package formats

import (
	"github.com/llmsim/llmsim/internal/twin/observed"
)

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
