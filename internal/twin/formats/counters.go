package formats

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// dialectOf finds the engine whose metrics a page has.
func dialectOf(p *page) (dialect, error) {
	for _, d := range dialects() {
		for name := range p.values {
			if strings.HasPrefix(name, d.prefix) {
				return d, nil
			}
		}
	}
	return dialect{}, errors.New("found no metrics of vLLM, SGLang or TensorRT-LLM")
}

// version returns the generation of names of a page.
func (d dialect) version(p *page) string {
	has := func(name string) bool { _, ok := p.values[d.prefix+name]; return ok }
	switch {
	case d.engine != "vllm":
		return ""
	case has("num_requests_swapped"):
		return "V0 names"
	case has("gpu_cache_usage_perc"):
		return "names of 0.8 to 0.10"
	case has("inter_token_latency_seconds_count"):
		return "names of 0.11 and later"
	}
	return ""
}

func (p *page) label(name string) float64 {
	v, err := strconv.ParseFloat(p.labels[name], 64)
	if err != nil || !observed.Finite(v) || v > 1<<40 {
		return 0
	}
	return v
}

// cacheTokens returns the size of the KV cache: with models of several kinds of layers, blocks
// times their size is not it, so that the size in tokens comes first.
func (p *page) cacheTokens(d dialect) int {
	if v := p.values[d.prefix+"max_total_num_tokens"]; observed.Finite(v) && v < 1<<40 && v > 0 {
		return int(v)
	}
	return int(cmp.Or(p.label("kv_cache_size_tokens"),
		min(1<<40, p.label("num_gpu_blocks")*p.label("block_size"))))
}

// value returns the value of the first name that the page has.
func (p *page) value(prefix string, names ...string) float64 {
	for _, name := range names {
		if v, ok := p.values[prefix+name]; ok {
			return v
		}
	}
	return 0
}

// between returns what counters grew by; false if one fell.
func (d dialect) between(a, b *page) (observed.Interval, bool) {
	fell := false
	grown := func(names ...string) float64 {
		v := b.value(d.prefix, names...) - a.value(d.prefix, names...)
		fell = fell || v < 0
		return v
	}
	mean := func(names []string) (mean, count float64) {
		for _, name := range names {
			if count = grown(name + "_count"); count > 0 {
				return grown(name+"_sum") / count, count
			}
		}
		return 0, 0
	}
	v := observed.Interval{Seconds: max(0, b.at-a.at)}
	v.TTFT, v.Requests = mean(d.ttft)
	v.TPOT, _ = mean(d.tpot)
	v.E2E, _ = mean([]string{"e2e_request_latency_seconds"})
	v.Queue, _ = mean([]string{"request_queue_time_seconds", "queue_time_seconds"})
	v.PromptTokens = grown("prompt_tokens_total", promptLengths+"_sum")
	v.OutputTokens = grown("generation_tokens_total", outputLengths+"_sum")
	v.CachedTokens = grown("prompt_tokens_cached_total", "prefix_cache_hits_total",
		"gpu_prefix_cache_hits_total", "cached_tokens_total")
	v.Running = max(0, b.value(d.prefix, "num_requests_running", "num_running_reqs"))
	v.Waiting = max(0, b.value(d.prefix, "num_requests_waiting", "num_queue_reqs"))
	return v, !fell
}

// promptLengths and outputLengths end the names of the histograms of lengths.
const promptLengths, outputLengths = "request_prompt_tokens", "request_generation_tokens"

// addSpread sets the spread of lengths of a run between two pages, where they have histograms of
// lengths.
func (d dialect) addSpread(r *observed.Run, first, last *page) {
	of := func(name string, before, after lengths) float64 {
		grown := func(what string) float64 {
			return last.value(d.prefix, name+what) - first.value(d.prefix, name+what)
		}
		count := grown("_count")
		return spread(before, after, grown("_sum")/count, count)
	}
	r.Load.PromptSpread = of(promptLengths, first.prompts, last.prompts)
	r.Load.OutputSpread = of(outputLengths, first.outputs, last.outputs)
}

// summarise sets the load and the figures of a run from its intervals.
func summarise(r *observed.Run) {
	l, s := &r.Load, &r.Summary
	var prompt, output, cached, requests, tokens float64
	for i := range r.Intervals {
		v := &r.Intervals[i]
		requests += v.Requests
		l.Seconds += v.Seconds
		prompt += v.PromptTokens
		output += v.OutputTokens
		cached += v.CachedTokens
		s.TTFT += v.TTFT * v.Requests
		s.E2E += v.E2E * v.Requests
		s.TPOT += v.TPOT * v.OutputTokens
		if v.TPOT > 0 {
			tokens += v.OutputTokens
		}
	}
	if requests > 0 {
		l.Prompt, l.Output, l.Cached = prompt/requests, output/requests, cached/requests
		s.TTFT, s.E2E = s.TTFT/requests, s.E2E/requests
		if l.Seconds > 0 {
			l.Rate = requests / l.Seconds
		}
	}
	if tokens > 0 {
		s.TPOT /= tokens
	}
	if l.Seconds > 0 {
		s.OutputRate = output / l.Seconds
	}
}

// readPrometheus reads answers of Prometheus' HTTP API to query_range: a matrix of series.
func readPrometheus(in *input, all []object) error {
	pages := map[float64]*page{}
	for _, o := range all {
		if status := o.text("status"); status != "success" {
			return in.errorf("Prometheus answered %q: %s", status, o.text("error"))
		}
		if kind := o.at("data").text("resultType"); kind != "matrix" {
			return in.errorf("resultType: found %q, allowed: matrix (query_range)", kind)
		}
		for _, series := range o.at("data").list("result") {
			if err := addSeries(pages, series); err != nil {
				return in.errorf("%w", err)
			}
		}
	}
	if len(pages) == 0 {
		return in.errorf("Prometheus knows no such series")
	}
	var list []page
	for _, p := range pages {
		list = append(list, *p)
	}
	one, err := joinPages(in.name, list)
	if err != nil {
		return err
	}
	one.Sources[0].Format = "prometheus-api"
	*in.out = *one
	return nil
}

func addSeries(pages map[float64]*page, series object) error {
	labels := series.at("metric")
	name := labels.text("__name__")
	values, _ := series["values"].([]any)
	for _, v := range values {
		pair, _ := v.([]any)
		if len(pair) != 2 {
			return errors.New("a value is no pair of time and text")
		}
		at := object{"": pair[0]}.number("")
		value, err := strconv.ParseFloat(string(asNumber(pair[1])), 64)
		if err != nil || !observed.Finite(value) {
			continue // NaN where a series has no value
		}
		p := pages[at]
		if p == nil {
			if len(pages) >= mostEntries {
				return errors.New("too many times")
			}
			p = &page{at: at, values: map[string]float64{}, labels: map[string]string{}}
			pages[at] = p
		}
		p.values[name] += value
		p.model = cmp.Or(p.model, labels.text("model_name"))
		if strings.HasSuffix(name, "cache_config_info") {
			for key := range labels {
				p.labels[key] = labels.text(key)
			}
		}
	}
	return nil
}
