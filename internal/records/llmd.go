package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteLLMD writes a record of a scenario as a benchmark report 0.2.1 of llm-d (llm-d-benchmark,
// llmdbenchmark/analysis/benchmark_report). It is JSON, which readers of YAML read. What a
// simulation does not have is absent.
func (e *Entry) WriteLLMD(w io.Writer) error {
	if e.Command != "scenario" {
		return fmt.Errorf("%.12s is a record of %s; llm-d's report is of a scenario", e.ID,
			e.Command)
	}
	figures, err := e.Figures()
	if err != nil {
		return err
	}
	settings, err := e.Settings()
	if err != nil {
		return err
	}
	total, ok := figures["completed"]
	if !ok {
		return errors.New("the record has no completed requests")
	}
	failed := figures["rejected"] + figures["timed_out"] + figures["cancelled"] + figures["lost"]
	report := map[string]any{
		"version": "0.2.1",
		"run": map[string]any{"uid": e.ID[:32], "eid": e.ID[:32], "cid": e.ID[:32],
			"description": "simulated by llmsim " + e.Version + ": " + e.Name,
			"keywords":    append([]string{"llmsim", "simulated"}, e.Tags...),
			"time": map[string]any{"duration": "PT" + strconv.FormatFloat(figures["duration"],
				'f', -1, 64) + "S"}},
		"scenario": map[string]any{"load": llmdLoad(e, settings),
			"stack": []any{llmdStack(e, settings)}},
		"results": map[string]any{"request_performance": map[string]any{
			"aggregate": map[string]any{
				"requests": map[string]any{"total": int64(total + failed),
					"failures": int64(failed)},
				"latency":    llmdLatencies(figures),
				"throughput": llmdRates(figures),
			}}},
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// llmdLatencies returns the statistics of latencies in seconds.
func llmdLatencies(figures map[string]float64) map[string]any {
	latencies := map[string]any{}
	for ours, theirs := range map[string][2]string{
		"ttft": {"time_to_first_token", "s"}, "tpot": {"time_per_output_token", "s/token"},
		"itl": {"inter_token_latency", "s/token"}, "e2el": {"request_latency", "s"}} {
		s := map[string]any{"units": theirs[1]}
		for prefix, key := range map[string]string{"mean": "mean", "median": "p50",
			"std": "stddev", "p90": "p90", "p95": "p95", "p99": "p99"} {
			if f, ok := figures[prefix+"_"+ours+"_ms"]; ok {
				s[key] = f / 1000
			}
		}
		if _, ok := s["mean"]; ok {
			latencies[theirs[0]] = s
		}
	}
	return latencies
}

// llmdRates returns mean rates.
func llmdRates(figures map[string]float64) map[string]any {
	rates := map[string]any{}
	for ours, theirs := range map[string][2]string{
		"output_throughput":      {"output_token_rate", "tokens/s"},
		"total_token_throughput": {"total_token_rate", "tokens/s"},
		"request_throughput":     {"request_rate", "queries/s"}} {
		if f, ok := figures[ours]; ok {
			rates[theirs[0]] = map[string]any{"mean": f, "units": theirs[1]}
		}
	}
	all, ok := figures["total_token_throughput"]
	if out, also := figures["output_throughput"]; ok && also {
		rates["input_token_rate"] = map[string]any{"mean": all - out, "units": "tokens/s"}
	}
	return rates
}

// llmdLoad returns the load: what all tools have in common, and our workload as it is.
func llmdLoad(e *Entry, settings map[string]string) map[string]any {
	standard := map[string]any{"tool": "llmsim", "tool_version": e.Version, "source": "sampled"}
	if rate, err := strconv.ParseFloat(strings.TrimSuffix(settings["workload.rate"], "/s"),
		64); err == nil {
		standard["rate_qps"] = rate
	}
	native := map[string]string{}
	for key, value := range settings {
		if strings.HasPrefix(key, "workload.") {
			native[key] = value
		}
	}
	return map[string]any{"metadata": map[string]any{"cfg_id": e.ID[:32],
		"schema_version": "0.0.1"}, "standardized": standard,
		"native": map[string]any{"config": native}}
}

// llmdStack returns the servers.
func llmdStack(e *Entry, settings map[string]string) map[string]any {
	number := func(key string) int {
		n, err := strconv.Atoi(settings[key])
		if err != nil || n < 1 {
			return 1
		}
		return n
	}
	tp, pp := number("parallelism.tensor"), number("parallelism.pipeline")
	native := map[string]string{}
	for key, value := range settings {
		head, _, _ := strings.Cut(key, ".")
		switch head {
		case "engine", "batching", "memory", "hardware", "parallelism", "fleet":
			native[key] = value
		}
	}
	return map[string]any{
		"metadata": map[string]any{"cfg_id": e.ID[:32], "label": "simulated-0",
			"schema_version": "0.0.1"},
		"native": map[string]any{"args": native},
		"standardized": map[string]any{"kind": "inference_engine", "tool": "llmsim",
			"tool_version": e.Version, "role": "replica", "replicas": number("replicas"),
			"model": map[string]any{"name": settings["model"]},
			"accelerator": map[string]any{"model": settings["hardware.accelerator"],
				"count": tp * pp, "parallelism": map[string]any{"tp": tp, "pp": pp,
					"dp": number("parallelism.data"), "ep": number("parallelism.expert"),
					"dp_local": 1, "workers": 1}}}}
}
