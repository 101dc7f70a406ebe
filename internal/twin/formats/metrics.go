package formats

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// page is what a page of metrics says, at a time. Histograms are under their names with _sum and
// _count. Buckets of times are left out, since one of 10 to 25 ms holds steps of 12 and of 17 ms.
type page struct {
	name   string
	at     float64 // Unix seconds; 0 if it is not known
	values map[string]float64
	labels map[string]string // of the cache's information
	model  string
	// prompts and outputs are the lengths of requests.
	prompts, outputs lengths
}

// dialect is the metrics of an engine, with the names of all of its versions.
type dialect struct {
	engine, prefix string
	ttft, tpot     []string
}

func dialects() []dialect {
	return []dialect{
		{"vllm", "vllm:", []string{"time_to_first_token_seconds"},
			[]string{"inter_token_latency_seconds", "time_per_output_token_seconds"}},
		{"sglang", "sglang:", []string{"time_to_first_token_seconds"},
			[]string{"inter_token_latency_seconds", "time_per_output_token_seconds"}},
		{"trtllm", "trtllm_", []string{"time_to_first_token_seconds"},
			[]string{"time_per_output_token_seconds"}},
	}
}

func fitsMetrics(data []byte) bool {
	start := head(data)
	return slices.ContainsFunc(dialects(), func(d dialect) bool {
		return bytes.HasPrefix(start, []byte(d.prefix)) ||
			bytes.Contains(start, []byte("\n"+d.prefix)) ||
			bytes.Contains(start, []byte("# TYPE "+d.prefix)) ||
			bytes.Contains(start, []byte("# HELP "+d.prefix))
	})
}

// parsePage reads a page of metrics. The time is in its name, as in scrape-1785585600.txt, which is
// how llmsim twin observe --scrape names pages.
func parsePage(name string, data []byte) (page, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil {
		return page{}, fmt.Errorf("%s: %w", name, err)
	}
	p := page{name: name, values: map[string]float64{}, labels: map[string]string{},
		prompts: lengths{}, outputs: lengths{}}
	if m := regexp.MustCompile(`(1\d{9}(?:\.\d{1,3})?)\.\w+$`).FindStringSubmatch(
		path.Base(name)); m != nil {
		p.at, _ = strconv.ParseFloat(m[1], 64)
	}
	for family, f := range families {
		if strings.HasSuffix(family, "_created") {
			continue
		}
		for _, m := range f.Metric {
			p.add(family, m)
		}
	}
	return p, nil
}

// add sums over the labels: engines, ranks and models.
func (p *page) add(family string, m *dto.Metric) {
	switch {
	case m.Histogram != nil:
		p.values[family+"_sum"] += m.Histogram.GetSampleSum()
		p.values[family+"_count"] += float64(m.Histogram.GetSampleCount())
		switch {
		case strings.HasSuffix(family, promptLengths):
			p.prompts.add(m.Histogram)
		case strings.HasSuffix(family, outputLengths):
			p.outputs.add(m.Histogram)
		}
	case m.Summary != nil:
		p.values[family+"_sum"] += m.Summary.GetSampleSum()
		p.values[family+"_count"] += float64(m.Summary.GetSampleCount())
	case m.Counter != nil:
		p.values[family] += m.Counter.GetValue()
	case m.Gauge != nil:
		p.values[family] += m.Gauge.GetValue()
	case m.Untyped != nil:
		p.values[family] += m.Untyped.GetValue()
	}
	for _, l := range m.Label {
		switch {
		case strings.HasSuffix(family, "cache_config_info"):
			p.labels[l.GetName()] = l.GetValue()
		case l.GetName() == "model_name":
			p.model = cmp.Or(p.model, l.GetValue())
		}
	}
}

// readMetrics reads a single page, which says what the server is and not how fast it was.
func readMetrics(in *input) error {
	p, err := parsePage(in.name, in.data)
	if err != nil {
		return err
	}
	one, err := joinPages(in.name, []page{p})
	if err != nil {
		return err
	}
	*in.source, in.out.Server, in.out.Runs, in.out.Lacks = one.Sources[0], one.Server, one.Runs,
		one.Lacks
	return nil
}

// joinPages turns pages of one server, in order of time, into intervals between them.
func joinPages(name string, pages []page) (*observed.Observed, error) {
	slices.SortStableFunc(pages, func(a, b page) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
	})
	out := &observed.Observed{Sources: []observed.Source{{File: name, Format: "metrics"}}}
	in := &input{name: name, out: out, source: &out.Sources[0]}
	d, err := dialectOf(&pages[len(pages)-1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	last := &pages[len(pages)-1]
	out.Server = observed.Server{Engine: d.engine, Model: last.model,
		CacheTokens: last.cacheTokens(d), BlockTokens: int(last.label("block_size"))}
	run := observed.Run{Name: name}
	for i := 1; i < len(pages); i++ {
		v, ok := d.between(&pages[i-1], &pages[i])
		if !ok {
			in.addNote("a counter fell between two pages: the server started anew, and the " +
				"interval is left out")
			continue
		}
		if v.Seconds <= 0 {
			in.lack("the times of the pages: name them scrape-UNIXSECONDS.txt, as --scrape does")
		}
		v.At = pages[i-1].at - pages[0].at
		run.Intervals = append(run.Intervals, v)
	}
	if len(pages) == 1 {
		in.lack("a second page of metrics, later: counters say how fast a server is by what they " +
			"grow (--scrape URL --for 10m)")
	}
	in.source.Version = d.version(last)
	in.found("%d pages of %s, %d intervals", len(pages), d.engine, len(run.Intervals))
	in.lack("lengths of single requests: those of an interval are taken to be equal")
	in.lack("arrivals within intervals: taken to be those of a Poisson process")
	if len(run.Intervals) > 0 {
		summarise(&run)
		if len(run.Intervals) == len(pages)-1 { // the server did not start anew
			d.addSpread(&run, &pages[0], last)
		}
		out.Runs = append(out.Runs, run)
	}
	return out, nil
}

// Page is a page of metrics that was read at a time, in Unix seconds.
type Page struct {
	At   float64
	Text []byte
}

// Join turns pages of a server into intervals between them.
func Join(name string, list []Page) (*observed.Observed, error) {
	var pages []page
	for _, one := range list {
		p, err := parsePage(name, one.Text)
		if err != nil {
			return nil, err
		}
		p.at = one.At
		pages = append(pages, p)
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s: no pages", name)
	}
	return joinPages(name, pages)
}

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

// lengths are the counts of a histogram of lengths, by the upper end of each bucket, cumulative.
type lengths map[float64]float64

// add adds the buckets of a histogram.
func (l lengths) add(h *dto.Histogram) {
	for _, b := range h.Bucket {
		if end := b.GetUpperBound(); end > 0 && !math.IsInf(end, 0) && !math.IsNaN(end) {
			l[end] += float64(b.GetCumulativeCount())
		}
	}
}

// spread returns the standard deviation divided by the mean of the lognormal distribution with the
// given mean that is nearest to what the buckets grew by: with the least squares of the differences
// between the shares below their ends. It is 0 where they do not say.
func spread(before, after lengths, mean, count float64) float64 {
	if !(mean > 0) || !(count >= leastLengths) {
		return 0
	}
	ends := slices.Sorted(maps.Keys(after))
	best, least := 0.0, math.Inf(1)
	for sigma := 0.02; sigma < 2.5; sigma *= 1.02 {
		d := distuv.LogNormal{Mu: math.Log(mean) - sigma*sigma/2, Sigma: sigma}
		squares, known := 0.0, false
		for _, end := range ends {
			share := (after[end] - before[end]) / count
			if !(share >= 0 && share <= 1) {
				return 0
			}
			known = known || share > 0 && share < 1
			squares += (share - d.CDF(end)) * (share - d.CDF(end))
		}
		if known && squares < least {
			best, least = math.Sqrt(math.Expm1(sigma*sigma)), squares
		}
	}
	return best
}

// leastLengths is the number of requests from which on the spread of lengths is looked for.
const leastLengths = 30
