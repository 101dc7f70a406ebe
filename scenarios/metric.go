package scenarios

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/metrics"
)

// Metric describes a figure of a result, for tables, plots, comparisons, sweeps, the page, the
// reference and the JSON Schema of results. The field of Result says how the figure is computed.
type Metric struct {
	// Name is the key in the JSON of a result. If the value is within an object, Path has the keys
	// to it, joined by dots.
	Name, Path string
	// Title is the name for people, and Short the one for the head of a column.
	Title, Short string
	// Means defines the figure, for the schema, if the title does not say enough.
	Means  string
	Unit   Unit
	Better Direction
	// Population is the set of requests that the figure counts.
	Population Population
	// Swept is set if sweeps have a column and a plot of the figure.
	Swept bool
	// Signed is set if the figure may be negative.
	Signed bool
	// Absent is the value for a result that does not have the figure. It is NaN if no number would
	// be right.
	Absent float64
}

// Population is a set over which a figure is taken, named in words. A share has the same population
// above and below the line.
type Population string

// Populations. A figure without one is of the run: of its time, its steps or its accelerators.
const (
	// Arrived are all that were sent, however they ended, and Admitted those that a scheduler put
	// into a step at least once. Users had the first token of Begun ones, which were completed or
	// cut, and all of Completed ones. Ended sessions have an answer to every call.
	Arrived   Population = "arrived requests"
	Admitted  Population = "admitted requests"
	Begun     Population = "begun requests"
	Completed Population = "completed requests"
	Ended     Population = "completed sessions"
)

// Unit is the unit of a figure.
type Unit string

// Units.
const (
	Count        Unit = ""
	Share        Unit = "share" // in [0, 1]
	Percent      Unit = "%"     // in [0, 100]
	Milliseconds Unit = "ms"
	Seconds      Unit = "s"
	PerSeconds   Unit = "1/s"
	Dollars      Unit = "$"
	WattHours    Unit = "Wh"
	Hours        Unit = "h"
	Times        Unit = "×"
)

// Direction says which values of a metric are better.
type Direction int

// Directions. Neither is for figures that only describe, such as the size of a batch.
const (
	Neither Direction = iota
	Lower
	Higher
)

// latency is a kind of latency: Metrics has the statistics of each.
type latency struct {
	key, title, short string
	// swept names the statistics that sweeps show.
	swept string
	of    Population
}

func latencies() []latency {
	return []latency{
		{"ttft", "time to first token", "TTFT", "mean median p99", Begun},
		{"tpot", "time per output token", "TPOT", "mean median p99", Begun},
		{"itl", "gap between tokens", "ITL", "", Admitted},
		{"e2el", "whole request", "request", "mean median p99", Completed},
	}
}

// statistics are the metrics of a latency.
func (l latency) statistics() []Metric {
	var list []Metric
	for _, s := range []struct{ key, title, short string }{
		{"mean", "mean ", "mean"}, {"median", "median ", "p50"},
		{"std", "standard deviation of the ", "std"},
		{"p90", "90th percentile of the ", "p90"}, {"p95", "95th percentile of the ", "p95"},
		{"p99", "99th percentile of the ", "p99"},
	} {
		list = append(list, Metric{
			Name: s.key + "_" + l.key + "_ms", Title: s.title + l.title, Short: l.short + " " +
				s.short,
			Unit: Milliseconds, Better: Lower, Swept: strings.Contains(l.swept, s.key),
			Population: l.of,
		})
	}
	return list
}

// Metrics lists the figures of a result.
func Metrics() []Metric {
	list := []Metric{
		{Name: "completed", Population: Completed, Title: "requests completed", Swept: true},
		{Name: "rejected", Population: Arrived,
			Title: "requests turned away", Better: Lower, Swept: true},
		{Name: "timed_out", Population: Arrived,
			Title: "requests that waited too long", Better: Lower},
		{Name: "cancelled", Population: Arrived,
			Title: "requests given up by their users before the first token", Better: Lower},
		{Name: "cut", Population: Arrived,
			Title: "requests whose users left in the middle of the answer"},
		{Name: "lost", Population: Arrived,
			Title: "requests lost with a replica that failed", Better: Lower},
		{Name: "total_input_tokens", Population: Completed, Title: "prompt tokens"},
		{Name: "total_output_tokens", Population: Completed, Title: "output tokens"},
		{Name: "duration", Title: "duration", Unit: Seconds, Swept: true},
		{Name: "offered_rate", Population: Arrived,
			Title: "requests that arrive", Unit: PerSeconds},
		{Name: "request_throughput", Population: Completed,
			Title: "requests", Unit: PerSeconds, Better: Higher,
			Swept: true},
		{Name: "output_throughput", Population: Completed,
			Title: "output tokens", Short: "tokens/s", Unit: PerSeconds,
			Better: Higher, Swept: true},
		{Name: "total_token_throughput", Population: Completed,
			Title: "tokens", Unit: PerSeconds, Better: Higher,
			Swept: true},
	}
	for _, l := range latencies() {
		list = append(list, l.statistics()...)
	}
	return slices.Concat(list, outcomeMetrics(), usageMetrics(), sessionMetrics(), soldMetrics())
}

// outcomeMetrics lists the figures of requests, batches and KV memory, after the latencies.
func outcomeMetrics() []Metric {
	return []Metric{
		{Name: "goodput", Population: Completed,
			Title: "requests that meet the SLO", Unit: PerSeconds, Better: Higher,
			Swept: true},
		{Name: "slo_attainment", Population: Arrived, Path: "slo_attainment.all",
			Title: "share of requests that meet the SLO",
			Short: "SLO met", Unit: Share, Better: Higher, Swept: true},
		{Name: "mean_queue_ms", Population: Begun,
			Title: "mean time in the queue", Unit: Milliseconds, Better: Lower,
			Swept: true},
		{Name: "mean_prefill_ms", Population: Begun,
			Title: "mean time in prefill", Unit: Milliseconds, Better: Lower},
		{Name: "mean_front_end_ms", Population: Begun,
			Title: "mean time in the front end", Unit: Milliseconds, Better: Lower},
		{Name: "mean_decode_ms", Population: Completed,
			Title: "mean time in decode", Unit: Milliseconds, Better: Lower},
		{Name: "preemptions", Population: Admitted,
			Title: "preemptions", Better: Lower, Swept: true},
		{Name: "steps", Title: "steps"},
		{Name: "mean_decode_batch", Population: Admitted, Title: "mean decode batch", Swept: true},
		{Name: "peak_batch", Population: Admitted, Title: "largest batch"},
		{Name: "tokens_per_step", Population: Admitted,
			Title: "tokens that a step gives to a sequence", Better: Higher,
			Swept: true, Absent: 1},
		{Name: "speculation_speedup", Path: "speculation_speedup.tpot", Unit: Times, Better: Higher,
			Swept: true, Absent: 1,
			Title: "tokens of a user with drafts, over those without"},
		{Name: "kv_usage", Title: "mean share of the KV memory in use", Unit: Share, Swept: true},
		{Name: "peak_kv_usage", Title: "largest share of the KV memory in use", Unit: Share},
		{Name: "kv_tokens_share", Title: "share of the KV memory that holds tokens", Unit: Share,
			Means: "in samples, evenly spaced in time; each visits all running requests"},
		{Name: "kv_reserved_share", Title: "share of the KV memory reserved for tokens to come",
			Unit: Share, Means: "in samples"},
		{Name: "kv_internal_share", Title: "share of the KV memory lost within reservations",
			Unit: Share, Better: Lower, Means: "in samples"},
		{Name: "kv_external_share", Title: "share of the KV memory that is free or in holes",
			Unit: Share, Means: "in samples"},
		{Name: "mean_running", Population: Admitted, Title: "mean number of requests in batches"},
		{Name: "mean_waiting", Population: Arrived,
			Title: "mean number of requests that wait", Better: Lower},
		{Name: "peak_running", Population: Admitted,
			Title: "largest number of requests in batches"},
		{Name: "peak_waiting", Population: Arrived,
			Title: "largest number of requests that wait", Better: Lower},
		{Name: "cached_tokens", Population: Completed,
			Title: "prompt tokens from the prefix cache", Better: Higher,
			Means: "counted when a scheduler first puts the request into a step"},
		{Name: "fetched_tokens", Population: Admitted,
			Title: "tokens that came from slower memory"},
		{Name: "swapped_tokens", Population: Admitted,
			Title: "tokens moved to host memory or back", Better: Lower},
		{Name: "pool_read_bytes", Population: Admitted,
			Title: "bytes of KV caches that came from a pool"},
		{Name: "pool_written_bytes", Population: Admitted,
			Title: "bytes of KV caches that went to a pool"},
		{Name: "busy", Title: "share of the time in which steps run", Unit: Share, Swept: true},
	}
}

// usageMetrics lists what a run uses of its accelerators, what it costs, and its energy.
func usageMetrics() []Metric {
	return []Metric{
		{Name: "mfu", Title: "share of peak arithmetic used", Unit: Share, Better: Higher,
			Swept: true, Means: "operations of the model, over what the accelerators can do at " +
				"their peak rate while steps run, or at the rate to which a factor below 1 " +
				"raises it; absent where step times are given"},
		{Name: "mbu", Title: "share of peak memory bandwidth used", Unit: Share, Better: Higher,
			Swept: true, Means: "bytes of weights and KV cache, each read once in a step, over " +
				"what the accelerators can read at their peak bandwidth while steps run, or at " +
				"the rate to which a factor below 1 raises it; absent where step times are given"},
		{Name: "accelerators", Title: "accelerators", Better: Lower, Swept: true},
		{Name: "cost", Title: "price of the run", Unit: Dollars, Better: Lower},
		{Name: "cost_per_million_output_tokens", Population: Completed,
			Title: "price of a million output tokens",
			Short: "$/1M",
			Unit:  Dollars, Better: Lower, Swept: true},
		{Name: "energy", Title: "energy of the accelerators", Unit: WattHours, Better: Lower},
		{Name: "energy_per_million_output_tokens", Population: Completed,
			Title: "energy for a million output tokens",
			Short: "Wh/1M",
			Unit:  WattHours, Better: Lower, Swept: true},
		{Name: "accelerator_hours", Title: "time for which accelerators are paid", Unit: Hours,
			Better: Lower},
	}
}

// sessionMetrics lists the figures of sessions, adapters and drafts.
func sessionMetrics() []Metric {
	return []Metric{
		{Name: "sessions", Population: Ended,
			Path: "sessions.completed", Title: "sessions completed"},
		{Name: "mean_session_s", Population: Ended,
			Path: "sessions.mean_s", Title: "mean time of a session",
			Unit: Seconds, Better: Lower},
		{Name: "p99_session_s", Population: Ended,
			Path: "sessions.p99_s", Unit: Seconds, Better: Lower,
			Title: "99th percentile of the time of a session"},
		{Name: "session_model_share", Population: Ended, Path: "sessions.model_share", Unit: Share,
			Title: "share of a session in which the model computes"},
		{Name: "session_queue_share", Population: Ended,
			Path: "sessions.queue_share", Unit: Share, Better: Lower,
			Title: "share of a session in which it only waits in the queue"},
		{Name: "cost_per_session", Population: Ended,
			Title: "price of the output tokens of a session", Unit: Dollars,
			Better: Lower},
		{Name: "adapter_loads", Population: Admitted,
			Title: "adapters brought from host memory", Better: Lower},
		{Name: "spec_decode_num_drafts", Population: Admitted, Title: "drafts"},
		{Name: "spec_decode_draft_tokens", Population: Admitted, Title: "drafted tokens"},
		{Name: "spec_decode_accepted_tokens", Population: Admitted,
			Title: "drafted tokens that were accepted"},
		{Name: "spec_decode_acceptance_rate", Population: Admitted,
			Title: "share of drafted tokens that were accepted",
			Unit:  Percent, Better: Higher},
		{Name: "spec_decode_acceptance_length", Population: Admitted,
			Title:  "tokens that a step with a draft gives",
			Better: Higher},
		{Name: "draft_time_share", Title: "share of the time of steps that drafting adds",
			Unit: Share, Better: Lower},
		{Name: "wasted_flops_share", Title: "share of the arithmetic that drafts add", Unit: Share,
			Better: Lower},
	}
}

// soldMetrics lists the figures of tokens that are sold. A result without prices of tokens has no
// such figure.
func soldMetrics() []Metric {
	return []Metric{
		{Name: "tokens_sold", Population: Completed,
			Path: "tokens_sold.dollars_per_hour", Short: "sold $/h",
			Title: "worth of the tokens of an hour", Unit: Dollars, Better: Higher, Swept: true,
			Absent: math.NaN()},
		{Name: "margin", Population: Completed,
			Path: "tokens_sold.margin_dollars_per_hour", Short: "margin $/h",
			Title: "worth of the tokens of an hour, less the price of the fleet", Unit: Dollars,
			Better: Higher, Swept: true, Signed: true, Absent: math.NaN()},
	}
}

// MetricNamed returns the metric of a name, which exists.
func MetricNamed(name string) Metric {
	for _, m := range Metrics() {
		if m.Name == name {
			return m
		}
	}
	panic("no metric " + name)
}

// InPercent returns the metric of a share, counted in percent.
func (m Metric) InPercent() Metric {
	m.Unit = Percent
	return m
}

// Of returns the metric's value in a result.
func (m Metric) Of(r *Result) float64 { return m.in(reflect.ValueOf(r).Elem()) }

// OfClass returns the metric's value for a class or tenant, Absent if it is not kept by class.
func (m Metric) OfClass(c *metrics.ClassSummary) float64 { return m.in(reflect.ValueOf(c).Elem()) }

// spread returns latencies that have all standard deviations.
func spread() metrics.Latencies {
	return metrics.Latencies{StdTTFT: new(float64), StdTPOT: new(float64),
		StdITL: new(float64), StdE2EL: new(float64)}
}

// ByClass reports whether the metric is kept for each class and tenant.
func (m Metric) ByClass() bool {
	_, found := numberAt(reflect.ValueOf(metrics.ClassSummary{Latencies: spread()}), m.keys())
	return found && !strings.HasSuffix(m.Name, "_itl_ms")
}

func (m Metric) in(v reflect.Value) float64 {
	x, found := numberAt(v, m.keys())
	if !found {
		return m.Absent
	}
	return x
}

func (m Metric) keys() []string {
	if m.Path == "" {
		return []string{m.Name}
	}
	return strings.Split(m.Path, ".")
}

// embedded is the key of a field whose own fields are keys of the struct around it.
const embedded = "embedded struct"

// knownJSONKeys are the lists that jsonKeys has made, by type: each run of a plan looks up all
// metrics.
var knownJSONKeys sync.Map

// jsonKeys returns the JSON keys of the fields of a struct.
func jsonKeys(t reflect.Type) []string {
	if known, ok := knownJSONKeys.Load(t); ok {
		return known.([]string)
	}
	keys := make([]string, t.NumField())
	for i := range keys {
		f := t.Field(i)
		if keys[i], _, _ = strings.Cut(f.Tag.Get("json"), ","); f.Anonymous && keys[i] == "" {
			keys[i] = embedded
		}
	}
	knownJSONKeys.Store(t, keys)
	return keys
}

// numberAt returns the number at the end of a path of JSON keys in a struct.
func numberAt(v reflect.Value, path []string) (x float64, found bool) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // invalid where it is nil
	}
	switch {
	case len(path) == 0 && v.CanFloat():
		return v.Float(), true
	case len(path) == 0 && v.CanInt():
		return float64(v.Int()), true
	case v.Kind() != reflect.Struct || len(path) == 0:
		return 0, false
	}
	for i, key := range jsonKeys(v.Type()) {
		rest := path[1:]
		if key == embedded {
			rest = path
		} else if key != path[0] {
			continue
		}
		if x, found := numberAt(v.Field(i), rest); found {
			return x, true
		}
	}
	return 0, false
}
