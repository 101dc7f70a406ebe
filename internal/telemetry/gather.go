package telemetry

import (
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Only returns the metrics of one replica, as an engine of its own would have them.
func (c *Collector) Only(replica int) Gatherer {
	return Gatherer{c, replica, func(i int) bool { return i == replica }}
}

// All returns the metrics of all replicas.
func (c *Collector) All() Gatherer { return Gatherer{c, -1, func(int) bool { return true }} }

// Up returns the metrics of the replicas that are up.
func (c *Collector) Up() Gatherer {
	return Gatherer{c, -1, func(i int) bool { return !c.engines[i].down }}
}

// Gatherer hands metrics to Prometheus; it implements prometheus.Gatherer.
type Gatherer struct {
	collector *Collector
	replica   int // the only one; −1 if there are several
	shows     func(replica int) bool
}

// Gather returns all families as they are now.
func (g Gatherer) Gather() ([]*dto.MetricFamily, error) {
	c := g.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*dto.MetricFamily
	for _, f := range c.dialect.families() {
		var metrics []*dto.Metric
		var kind dto.MetricType
		for i := range c.engines {
			e := &c.engines[i]
			if !g.shows(i) || f.unless != nil && f.unless(e) {
				continue
			}
			var m *dto.Metric
			m, kind = f.metric(e)
			m.Label = append(c.dialect.labels(e, g.number(i)), pairs(f.labels)...)
			metrics = append(metrics, m)
		}
		if last := len(all) - 1; last >= 0 && all[last].GetName() == f.name {
			all[last].Metric = append(all[last].Metric, metrics...)
		} else if len(metrics) > 0 {
			all = append(all, &dto.MetricFamily{Name: proto.String(f.name),
				Help: proto.String(f.help), Type: kind.Enum(), Metric: metrics})
		}
	}
	return append(all, g.about()...), nil
}

// number is an engine's in its labels: 0 where it is the only one shown.
func (g Gatherer) number(i int) int {
	if g.replica >= 0 {
		return 0
	}
	return i
}

// metric returns the value of a family, and the type of the family.
func (f *family) metric(e *engine) (*dto.Metric, dto.MetricType) {
	switch v := f.value(e).(type) {
	case *histogram:
		return &dto.Metric{Histogram: v.metric()}, dto.MetricType_HISTOGRAM
	case int64:
		return &dto.Metric{Counter: &dto.Counter{Value: proto.Float64(float64(v))}},
			dto.MetricType_COUNTER
	case int:
		return &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(float64(v))}},
			dto.MetricType_GAUGE
	default:
		return &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(v.(float64))}},
			dto.MetricType_GAUGE
	}
}

// labels are what the dialect gives every metric of an engine.
func (d *Dialect) labels(e *engine, number int) []*dto.LabelPair {
	if d.name == "sglang" {
		return pairs([]string{
			"dp_rank", strconv.Itoa(number), "engine_type", "unified", "model_name", e.Model,
			"pp_rank", "0", "tp_rank", "0",
		})
	}
	return pairs([]string{"engine", strconv.Itoa(number), "model_name", e.Model})
}

// about returns the families whose labels say something.
func (g Gatherer) about() []*dto.MetricFamily {
	c := g.collector
	if c.dialect.name != "vllm" {
		return nil
	}
	cache := &dto.MetricFamily{
		Name: proto.String("vllm:cache_config_info"),
		Help: proto.String("Information of the LLMEngine CacheConfig"),
		Type: dto.MetricType_GAUGE.Enum(),
	}
	for i := range c.engines {
		e := &c.engines[i]
		if !g.shows(i) {
			continue
		}
		cache.Metric = append(cache.Metric, &dto.Metric{
			Gauge: &dto.Gauge{Value: proto.Float64(1)},
			Label: pairs([]string{
				"block_size", strconv.Itoa(e.Block), "enable_prefix_caching",
				pythonBool(e.Prefixes),
				"engine", strconv.Itoa(g.number(i)), "num_gpu_blocks",
				strconv.FormatInt(e.capacity, 10),
			}),
		})
	}
	// No adapters are served, which the picker of endpoints is told this way.
	adapters := &dto.MetricFamily{
		Name: proto.String("vllm:lora_requests_info"),
		Help: proto.String("Running stats on lora requests."), Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{
			Gauge: &dto.Gauge{Value: proto.Float64(c.at.Seconds())},
			Label: pairs([]string{"max_lora", "0", "running_lora_adapters", "",
				"waiting_lora_adapters", ""}),
		}},
	}
	return []*dto.MetricFamily{cache, adapters}
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pairs makes labels of names and values.
func pairs(list []string) []*dto.LabelPair {
	var out []*dto.LabelPair
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, &dto.LabelPair{Name: proto.String(list[i]),
			Value: proto.String(list[i+1])})
	}
	return out
}
