package telemetry

import (
	"bufio"
	"io"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// History is a Collector that remembers how its metrics changed, as a Prometheus that scrapes
// would.
type History struct {
	*Collector
	every sim.Time
	next  sim.Time
	most  int
	seen  []snapshot
}

type snapshot struct {
	at       sim.Time
	families []*dto.MetricFamily
}

// Bounds on what is remembered: every five seconds, until there are too many snapshots; then every
// other one is dropped, and snapshots come half as often. A snapshot of a replica takes 40 kB.
const (
	scrapeTime    = 5 * sim.Second
	mostSnapshots = 2000 // of one replica
	leastPoints   = 50
)

// NewHistory returns a history of the replicas of a simulation.
func NewHistory(replicas []Engine) *History {
	return &History{
		Collector: New(vllm(), replicas, nil), every: scrapeTime,
		most: max(mostSnapshots/max(len(replicas), 1), leastPoints),
	}
}

// Sampled implements sim.Observer.
func (h *History) Sampled(at sim.Time, replica int, state sim.State) {
	h.Collector.Sampled(at, replica, state)
	if at < h.next || replica < len(h.engines)-1 {
		return
	}
	h.scrape(at)
	for h.next <= at {
		h.next += h.every
	}
}

func (h *History) scrape(at sim.Time) {
	families, _ := h.All().Gather() // it cannot fail
	h.seen = append(h.seen, snapshot{at, families})
	if len(h.seen) < h.most {
		return
	}
	for i := range len(h.seen) / 2 {
		h.seen[i] = h.seen[2*i]
	}
	half := len(h.seen) / 2
	clear(h.seen[half:])
	h.seen, h.every = h.seen[:half], 2*h.every
}

// Save writes a file as WriteOpenMetrics does, from the beginning of the year 2026 on: the same
// bytes for the same run.
func (h *History) Save(path string) error {
	return files.Write(path, func(w io.Writer) error {
		return h.WriteOpenMetrics(w, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	})
}

// WriteOpenMetrics writes all that is remembered, with time 0 of the simulation at start, in the
// form that promtool tsdb create-blocks-from openmetrics reads. The metrics at the end come last.
func (h *History) WriteOpenMetrics(out io.Writer, start time.Time) error {
	if len(h.seen) == 0 || h.seen[len(h.seen)-1].at < h.at {
		h.scrape(h.at)
	}
	w := bufio.NewWriter(out)
	last := h.seen[len(h.seen)-1].families
	for i, family := range last {
		whole := &dto.MetricFamily{Name: family.Name, Help: family.Help, Type: family.Type}
		for k := range family.Metric {
			for _, s := range h.seen {
				m := s.families[i].Metric[k]
				m.TimestampMs = proto.Int64(start.UnixMilli() + int64(s.at/sim.Millisecond))
				whole.Metric = append(whole.Metric, m)
			}
		}
		if _, err := expfmt.MetricFamilyToOpenMetrics(w, whole); err != nil {
			return err
		}
	}
	if _, err := expfmt.FinalizeOpenMetrics(w); err != nil {
		return err
	}
	return w.Flush()
}
