package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// mostYAML bounds a YAML file.
const mostYAML = 8 << 20

func fitsReport(data []byte) bool {
	start := head(data)
	lines := append([]byte("\n"), data[:min(len(data), mostYAML)]...)
	has := func(key string) bool { return bytes.Contains(lines, []byte("\n"+key+":")) }
	return !bytes.HasPrefix(start, []byte("{")) &&
		(has("version") && has("scenario") || has("load_summary") && has("successes"))
}

// readReport reads llm-d's benchmark report (0.1, 0.2, 0.2.1) and the YAML form of inference-perf.
// Each statistic has a unit of its own.
func readReport(in *input) error {
	if len(in.data) > mostYAML {
		return in.errorf("found more than %d MiB of YAML", mostYAML>>20)
	}
	var content any
	if err := files.DecodeYAML(in.data, &content); err != nil {
		return in.errorf("%w", err)
	}
	o, _ := plain(content, 0).(map[string]any)
	top := object(o)
	if top.has("load_summary") {
		in.source.Format = "inference-perf"
		return readPerf(in, []object{top})
	}
	in.source.Version = top.text("version")
	var results object
	switch in.source.Version {
	case "0.1":
		results = top.at("metrics")
	case "0.2", "0.2.1":
		results = top.at("results", "request_performance", "aggregate")
	default:
		return in.errorf("version of the benchmark report: found %q, allowed: 0.1, 0.2, 0.2.1",
			in.source.Version)
	}
	run := observed.Run{Name: in.name}
	requests := results.at("requests")
	run.Load = observed.Load{Requests: requests.count("total") - requests.count("failures"),
		Seconds: results.at("time").number("duration"),
		Rate: cmp.Or(results.at("throughput", "request_rate").number("mean"),
			results.at("throughput").number("requests_per_sec")),
		Prompt: requests.at("input_length").number("mean"),
		Output: requests.at("output_length").number("mean")}
	latency := results.at("latency")
	of := func(name, statistic string) float64 {
		one := latency.at(name)
		unit := timeUnit(one.text("units"))
		if unit == 0 && one != nil {
			in.addNote("the unit %q of %s is not known: it is left out", one.text("units"), name)
		}
		return one.number(statistic) * unit
	}
	run.Summary = figures([3]string{"time_to_first_token", "time_per_output_token",
		"request_latency"}, [3]string{"mean", "p50", "p99"}, of)
	run.Load.Requests = max(0, run.Load.Requests)
	in.out.Server.Model = modelOf(top)
	in.found("1 run of %d requests", run.Load.Requests)
	in.lack("single requests: the report has figures of the whole run only")
	in.out.Runs = append(in.out.Runs, run)
	return nil
}

// modelOf returns the model of a report's scenario.
func modelOf(top object) string {
	for _, part := range top.at("scenario").list("stack") {
		if name := part.at("standardized", "model").text("name"); name != "" {
			return name
		}
	}
	return top.at("scenario", "model").text("name")
}

// plain turns what YAML decodes into what JSON decodes.
func plain(v any, depth int) any {
	if depth > 100 {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = plain(value, depth+1)
		}
		return v
	case []any:
		for i := range v {
			v[i] = plain(v[i], depth+1)
		}
		return v
	case int:
		return json.Number(strconv.Itoa(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	case string, bool, nil:
		return v
	}
	return fmt.Sprint(v)
}

// refused says why a known format is not read; empty if the data do not have it.
func refused(data []byte) string {
	start := string(head(data))
	switch {
	case strings.Contains(start, "payload ") && strings.Contains(start, "topic"):
		return "frames of forward-pass metrics over ZMQ: record them with Dynamo's trace " +
			"(DYN_FPM_TRACE), and read its jsonl files"
	case strings.Contains(start, "\"experiments\"") && strings.Contains(start, "service_kind"):
		return "genai-perf's raw profile has no token counts; use AIPerf, which replaces it"
	}
	return ""
}
