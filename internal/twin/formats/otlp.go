package formats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// readOTLP reads spans of OTLP/JSON with vLLM's gen_ai attributes (vllm/tracing.py). 64-bit
// integers are strings there.
func readOTLP(in *input, all []object) error {
	run := observed.Run{Name: in.name}
	var origin *big.Int
	others := 0
	seen := map[string]bool{}
	for _, o := range all {
		for _, resource := range o.list("resourceSpans") {
			for _, scope := range resource.list("scopeSpans") {
				for n, span := range scope.list("spans") {
					if err := checkSpan(span, seen); err != nil {
						return in.errorf("span %d: %w", n, err)
					}
					q, ok := spanRequest(span, &origin)
					if !ok {
						others++
						continue
					}
					run.Requests = append(run.Requests, q)
				}
			}
		}
	}
	run.FromFirst()
	in.found("%d requests", len(run.Requests))
	if others > 0 {
		in.addNote("%d spans have no latencies or token counts, and are left out", others)
	}
	if len(run.Requests) > 0 {
		in.out.Runs = append(in.out.Runs, run)
	}
	return nil
}

// checkSpan refuses a span that ends before it starts, or whose id another span of the trace has.
func checkSpan(span object, seen map[string]bool) error {
	from, to := asNumber(span["startTimeUnixNano"]), asNumber(span["endTimeUnixNano"])
	var start *big.Int
	object{"": from}.nanoseconds("", &start)
	if start != nil && (object{"": to}).nanoseconds("", &start) < 0 {
		return fmt.Errorf("endTimeUnixNano: found %.30s, allowed: from startTimeUnixNano, %.30s, "+
			"on", to, from)
	}
	id := span.text("traceId") + "/" + span.text("spanId")
	if span.text("spanId") != "" && seen[id] {
		return fmt.Errorf("spanId: found %.60q twice in a trace", span.text("spanId"))
	}
	seen[id] = true
	return nil
}

// spanRequest reads the request of a span.
func spanRequest(span object, origin **big.Int) (observed.Request, bool) {
	values := object{}
	for _, a := range span.list("attributes") {
		v := a.at("value")
		switch {
		case v.has("intValue"):
			values[a.text("key")] = asNumber(v["intValue"])
		case v.has("doubleValue"):
			values[a.text("key")] = asNumber(v["doubleValue"])
		}
	}
	start := object{"": asNumber(span["startTimeUnixNano"])}
	q := observed.Request{Arrival: start.nanoseconds("", origin),
		Prompt: cmp.Or(values.count("gen_ai.usage.prompt_tokens"),
			values.count("gen_ai.usage.input_tokens")),
		Output: cmp.Or(values.count("gen_ai.usage.completion_tokens"),
			values.count("gen_ai.usage.output_tokens")),
		TTFT: values.number("gen_ai.latency.time_to_first_token"),
		E2E:  values.number("gen_ai.latency.e2e")}
	return q, q.Output > 0 && q.TTFT > 0
}

// asNumber returns a number that may be written as a string.
func asNumber(v any) json.Number {
	switch v := v.(type) {
	case json.Number:
		return v
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			return json.Number(v)
		}
	}
	return ""
}
