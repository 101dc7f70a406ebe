package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// Options describes the fleet to serve.
type Options struct {
	// Simulation is the fleet; its source is not used. Models are the names of the served models.
	Simulation sim.Config
	Models     []string
	// Tenants are the names of the scenario's tenants, by sim.Request.Tenant.
	Tenants []string
	// Lengths are the lengths in tokens for answers whose request gives no length.
	Lengths []int
	// Speed is the number of simulated seconds in one second of wall-clock time.
	Speed float64
	// Seed is the seed of made-up texts.
	Seed uint64
	// Dialect is one of telemetry.Dialects, and Version the answer of /version.
	Dialect, Version string
	APIKey           string
	// Log gets a line for every request; nil means no log. Recorder, if set, records each
	// request.
	Log      *slog.Logger
	Recorder *Recorder
	// Warn, if set, is told when the times that clients see can no longer be trusted.
	Warn func(message string)
	// Spans, if set, gets a span for every request.
	Spans *Spans

	// Executor, if set, is the replica in Simulation that computes answers.
	Executor *Executor

	observer sim.Observer // of tests; nil without one
}

// Service is a fleet and the server in front of it.
type Service struct {
	*Server
	fleet     *Fleet
	collector *telemetry.Collector
	gates     []*gate // by replica
}

// sampleTime is the interval at which gauges are updated, in wall time.
const sampleTime = 50 * time.Millisecond

// Open prepares a service. Run lets it answer.
func Open(o Options) (*Service, error) {
	engines := telemetry.Engines(&o.Simulation, o.Models)
	s := &Service{}
	s.collector = telemetry.New(telemetry.DialectOf(o.Dialect), engines,
		func(r *sim.Request) telemetry.Parameters {
			return s.fleet.parameters(r)
		})
	c := FleetConfig{Simulation: o.Simulation, Models: models(o.Models, engines), Speed: o.Speed,
		Tenants: o.Tenants, Executor: o.Executor, Complete: s.collector.Finished}
	c.Simulation.Source, c.Simulation.Observer = nil, s.collector
	if o.observer != nil {
		c.Simulation.Observer = sim.Observers{s.collector, o.observer}
	}
	c.Simulation.SampleEvery = max(sim.Seconds(sampleTime.Seconds()*o.Speed), sim.Millisecond)
	if o.Recorder != nil {
		c.Record = o.Recorder.Record
	}
	var err error
	if s.fleet, err = NewFleet(c); err != nil {
		return nil, err
	}
	longest := 0
	for _, m := range c.Models {
		longest = max(longest, m.Context)
	}
	config := Config{
		Backend: s.fleet, Lengths: o.Lengths, Seed: o.Seed, APIKey: o.APIKey,
		Limits: DefaultLimits(longest),
		Log:    o.Log, Warn: o.Warn, Spans: o.Spans, Version: o.Version, Metrics: s.metrics(),
		Control: s.fleet.FaultHandler(),
	}
	if o.Executor != nil {
		config.Vocabulary = o.Executor
	} else if config.Words, err = text.NewVocabulary(); err != nil {
		return nil, err
	} else {
		config.Vocabulary = config.Words
	}
	s.Server, err = New(config)
	return s, err
}

// models describes what is served: a model's context is the least of its replicas' contexts.
func models(names []string, engines []telemetry.Engine) []Model {
	list := make([]Model, len(names))
	for i, name := range names {
		list[i].Name = name
		for _, e := range engines {
			if e.Model == name && (list[i].Context == 0 || e.Context < list[i].Context) {
				list[i].Context = e.Context
			}
		}
	}
	return list
}

// Run answers on listeners until ctx is done. The first listener is for all replicas, and each of
// the others for one replica.
func (s *Service) Run(ctx context.Context, listeners []net.Listener) error {
	for _, l := range listeners[1:] {
		s.gates = append(s.gates, newGate(l))
	}
	s.fleet.watch = func(replica int, up bool) {
		if replica < len(s.gates) {
			s.gates[replica].set(up)
		}
	}
	var group errgroup.Group
	driven := make(chan error, 1)
	go func() { driven <- s.fleet.Run() }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-s.fleet.done
		cancel(errors.New("serve: the fleet stopped"))
	}()
	for i, l := range listeners {
		if i > 0 {
			l = s.gates[i-1]
		}
		group.Go(func() error { return s.Serve(ctx, l, i-1) })
	}
	err := group.Wait()
	s.fleet.stop()
	return errors.Join(err, <-driven)
}

// metrics answers scrapes: of all replicas, or of the one behind the listener.
func (s *Service) metrics() http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "llmsim_lag_seconds",
			Help: "How late the latest of the recent deliveries was written to its client.",
		}, func() float64 { return s.late.worst(time.Now()).Seconds() }))
	options := promhttp.HandlerOpts{EnableOpenMetrics: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := s.collector.Up()
		if n := replicaOf(r.Context()); n >= 0 {
			shown = s.collector.Only(n)
		}
		promhttp.HandlerFor(prometheus.Gatherers{shown, own}, options).ServeHTTP(w, r)
	})
}

// Listen opens a listener at an address. With several replicas, it also opens one for each replica
// at the following ports. Port 0 takes any free ports.
func Listen(address string, replicas int) (list []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range list {
				l.Close()
			}
		}
	}()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address to listen at: %w", err)
	}
	first, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	list = append(list, first)
	number := first.Addr().(*net.TCPAddr).Port
	for i := range replicas {
		next := number + 1 + i
		if port == "0" {
			next = 0
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(next)))
		if err != nil {
			return list, err
		}
		list = append(list, l)
	}
	return list, nil
}

// Loopback reports whether only this machine can reach an address.
func Loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
