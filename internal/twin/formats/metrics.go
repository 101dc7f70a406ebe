package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

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
				"interval is " +
				"left out")
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
