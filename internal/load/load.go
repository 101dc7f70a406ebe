// Package load sends a workload to an OpenAI endpoint over HTTP and measures what its users see:
// TTFT, the gaps between tokens and E2E latency, under the names that the simulator gives them.
//
// A request's times count from the moment at which the workload sends it, and not from the moment
// at which the generator sent it. So delays by a slow server, or by a limit on requests in flight,
// are part of the measured times ("coordinated omission": Tene, How NOT to Measure Latency, 2013).
// For requests that are sent in time, the definitions are vLLM's serving benchmark's.
package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/llmsim/llmsim/internal/alarm"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// Config describes the server, the workload, and how requests are sent.
type Config struct {
	// URL is the server's address, such as http://127.0.0.1:8000.
	URL string
	// Source is the workload.
	Source sim.Source
	// Model is the name sent with each request; empty means the first that the server lists.
	Model string
	// Chat sends chat messages, which are text; else prompts are sent as token numbers.
	Chat bool
	// APIKey is sent as a bearer token; empty means no key.
	APIKey string
	// Speed is the number of seconds of the workload in one second of wall-clock time, above 0.
	// Measured times are multiplied by it. It is 1 for a real server.
	Speed float64
	// Concurrency is the largest number of requests in flight; 0 means no limit.
	Concurrency int
	// Timeout is the longest wall-clock time of a request; 0 means no limit.
	Timeout time.Duration
	// Metrics names classes and SLOs.
	Metrics metrics.Config
	// Requests is told of each request that ended; nil for nobody.
	Requests sim.Observer
}

// Run sends the workload until its end, or until ctx is cancelled. Then requests in flight are
// given up, and the error is ctx's.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	g, err := newGenerator(c)
	if err != nil {
		return nil, err
	}
	defer g.close()
	if err := g.client.findModel(ctx); err != nil {
		return nil, err
	}
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	return g.result(), nil
}

func (c *Config) check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return fmt.Errorf("address of the server: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("address of the server: found %q, allowed: http://host:port or "+
			"https://host:port", c.URL)
	case c.Source == nil:
		return errors.New("load: no source of requests")
	case !(c.Speed > 0 && c.Speed <= 1e6):
		return fmt.Errorf("speed: found %v, allowed: above 0, at most 1e6", c.Speed)
	case c.Concurrency < 0:
		return fmt.Errorf("concurrency: found %d, allowed: 1 or more, or 0 for no limit",
			c.Concurrency)
	}
	return nil
}

// generator sends requests when their time has come. One goroutine owns all of it but the inbox.
type generator struct {
	Config
	client   *client
	alarm    *alarm.Alarm
	inbox    inbox
	slots    chan struct{} // one for each request that may be under way; nil without a limit
	start    time.Time
	inFlight int
	ended    sim.Time
	sent     int64
	cached   int64
	tally    *tally
	collect  *metrics.Collector
}

func newGenerator(c Config) (*generator, error) {
	words, err := text.NewVocabulary()
	if err != nil {
		return nil, err
	}
	collector, err := metrics.New(c.Metrics)
	if err != nil {
		return nil, err
	}
	waker, err := alarm.New()
	if err != nil {
		return nil, err
	}
	if c.Requests == nil {
		c.Requests = sim.Observers{}
	}
	g := &generator{Config: c, client: newClient(&c, words), alarm: waker, collect: collector,
		tally: newTally()}
	if c.Concurrency > 0 {
		g.slots = make(chan struct{}, c.Concurrency)
	}
	return g, nil
}

func (g *generator) close() {
	g.client.close()
	g.alarm.Close()
}

// now returns the time of the workload.
func (g *generator) now() sim.Time { return g.timeOf(time.Now()) }

// timeOf returns the time of the workload at a moment.
func (g *generator) timeOf(moment time.Time) sim.Time {
	return sim.Time(float64(moment.Sub(g.start)) * g.Speed * float64(sim.Nanosecond))
}

// momentOf returns when the time of the workload is t.
func (g *generator) momentOf(t sim.Time) time.Time {
	return g.start.Add(time.Duration(float64(t) / float64(sim.Nanosecond) / g.Speed))
}

func (g *generator) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, g.alarm.Wake)
	defer stop()
	g.start = time.Now()
	for {
		for _, a := range g.inbox.take() {
			g.finish(a)
		}
		if err := ctx.Err(); err != nil {
			return g.abandon(ctx)
		}
		next := g.Source.NextArrival()
		switch {
		case next == sim.Never && g.inFlight == 0:
			return g.Source.Err()
		case next == sim.Never:
			g.alarm.Wait(time.Time{})
		case next <= g.now():
			g.send(ctx)
		default:
			g.alarm.Wait(g.momentOf(next))
		}
	}
}

// abandon waits until every request under way has noticed that ctx is cancelled.
func (g *generator) abandon(ctx context.Context) error {
	for g.inFlight > 0 {
		g.alarm.Wait(time.Time{})
		g.inFlight -= len(g.inbox.take())
	}
	return context.Cause(ctx)
}

// send lets a goroutine of its own ask for the next request of the source.
func (g *generator) send(ctx context.Context) {
	a := &answer{}
	g.Source.Next(&a.request)
	a.request.ID = g.sent
	g.sent++
	g.inFlight++
	body := g.client.body(&a.request)
	due := g.momentOf(a.request.Arrival)
	go func() {
		g.ask(ctx, a, due, body)
		g.inbox.put(a)
		g.alarm.Wake()
	}()
}

// ask sends a request as soon as there is a slot for it, and notes what comes back.
func (g *generator) ask(ctx context.Context, a *answer, due time.Time, body []byte) {
	if g.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, due.Add(g.Timeout), errTimeout)
		defer cancel()
	}
	if p := a.request.Patience; p > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		leaveAfter := func(from sim.Time) {
			leave := time.AfterFunc(time.Until(g.momentOf(from+p)), func() { cancel(errImpatient) })
			context.AfterFunc(ctx, func() { leave.Stop() })
		}
		if a.request.AfterFirst {
			a.begun = func() { leaveAfter(g.now()) }
		} else {
			leaveAfter(a.request.Arrival)
		}
	}
	if g.slots != nil {
		select {
		case g.slots <- struct{}{}:
			defer func() { <-g.slots }()
		case <-ctx.Done():
			a.fail(context.Cause(ctx), sim.TimedOut)
			return
		}
	}
	a.sent = time.Now()
	a.late = a.sent.Sub(due)
	g.client.ask(ctx, a, body)
	if cause := context.Cause(ctx); a.err != nil && cause != nil {
		a.fail(cause, sim.TimedOut)
	}
	if errors.Is(a.err, errImpatient) {
		a.why = sim.Cancelled
	}
	a.end = time.Now()
}

// finish books an answer and reports it to the source.
func (g *generator) finish(a *answer) {
	g.inFlight--
	end := max(g.timeOf(a.end), a.request.Arrival)
	g.ended = max(g.ended, end)
	g.tally.add(a)
	g.observe(a, end)
	if a.request.Answer != 0 && a.request.Answered > 0 {
		g.client.answers.add(a.request.Answer, string(a.text))
	}
	g.Source.Done(&a.request, end)
}

// observe shows the collector an answer, which ended at the given time, as the simulator would
// have.
func (g *generator) observe(a *answer, end sim.Time) {
	s := sim.Sequence{Request: a.request, Cached: a.cached}
	s.Scheduled, s.FirstToken = s.Arrival, max(g.timeOf(a.first), s.Arrival)
	s.LastToken = max(g.timeOf(a.last), s.FirstToken)
	if a.err != nil {
		sim.ReportEnd(sim.Observers{g.collect, g.Requests}, &s, a.why, end)
	} else {
		s.Prompt, s.Output = max(a.prompt, 1), max(a.output, 1)
		g.cached += int64(a.cached)
		g.collect.Finished(&s)
		g.Requests.Finished(&s)
	}
	leap := sim.Leap{Steps: 1}
	for _, gap := range a.gaps {
		span := sim.Time(float64(gap) * g.Speed * float64(sim.Nanosecond))
		leap.Gaps = append(leap.Gaps, sim.Gap{Span: span, Count: 1})
	}
	g.collect.Steps(&leap)
}
