// Package probe measures the host of a GPU server over the network: it sends a few requests to a
// small model there, whose steps are the host's, and finds the hardware.host with which they are
// predicted as they were measured.
package probe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/load"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Config is what is measured.
type Config struct {
	// Load reads the scenario of the server, with further overrides. Its workload is replaced.
	Load func(sets ...string) (*scenarios.File, error)
	// URL is the server's address, and APIKey its key, as in load.Config.
	URL, APIKey string
	// Speed is as in load.Config; 1 for a real server.
	Speed float64
	// Tell is told what is being done.
	Tell func(what string)
}

// Result is what was found.
type Result struct {
	// Accelerator is the scenario's name for it, Engine the preset and Version its version.
	Accelerator, Engine, Version string
	fit.Host
	// Single and Together are what was sent one at a time, to find the host, and at once, to
	// check it.
	Single, Together Round
	// Warnings are facts about the predictions that a reader should know.
	Warnings []string
}

// Round is a closed loop of requests, and the median TPOT in seconds.
type Round struct {
	Users, Answers, Tokens int
	Measured, Predicted    float64
}

// Lengths in tokens of what is sent. Prompts are so short that they do not matter, and answers as
// long as a minute allows.
const promptTokens, answerTokens = 64, 128

const (
	// longest is how long requests of a round are sent, and how long each may take.
	longest = 20 * time.Second
	// leastBunch and mostBunch bound the median gap between events over the mean time a token:
	// half the tokens or more at once move it out of them.
	leastBunch, mostBunch = 0.5, 1.5
)

// round is a closed loop.
type round struct {
	name            string
	users, requests int
}

// rounds returns one in which the server gets warm, the one that is measured, and a check.
func rounds() (warm, alone, together round) {
	return round{"warming up", 1, 2}, round{"one request at a time", 1, 12},
		round{"16 requests at once", 16, 48}
}

// workload returns the override of a scenario that makes a round its workload.
func (r *round) workload() string {
	return fmt.Sprintf("workload={arrivals: {process: closed-loop, users: %d, start: together}, "+
		"requests: %d, duration: %gs, prompt: %d, output: %d}", r.users, r.requests,
		longest.Seconds(), promptTokens, answerTokens)
}

// Run measures. The error is fit.ErrNoHost if what was measured tells no host.
func Run(ctx context.Context, c Config) (*Result, error) {
	warm, alone, together := rounds()
	server := fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return c.Load(append([]string{alone.workload()}, sets...)...)
	}}
	if err := server.ShowsHost(ctx, expected()); err != nil {
		return nil, err
	}
	file, err := server.Load()
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return nil, err
	}
	r := &Result{Accelerator: steps.Accelerator.Name, Engine: steps.Scenario.Engine.Preset,
		Version: steps.Scenario.Engine.Version, Warnings: steps.Warnings}
	_, sent, err := c.send(ctx, &warm)
	if err != nil {
		return nil, err
	}
	if err := server.Matches(&observed.Observed{Sources: []observed.Source{{File: c.URL,
		Server: observed.Server{Model: sent.Model}}}}); err != nil {
		return nil, err
	}
	run, sent, err := c.send(ctx, &alone)
	if err != nil {
		return nil, err
	}
	if err := bunched(sent); err != nil {
		return nil, err
	}
	host, err := server.FindHost(ctx, run)
	if err != nil {
		return nil, err
	}
	r.Host = *host
	if r.Single, err = summed(ctx, &server, host.Value, run); err != nil {
		return nil, err
	}
	if run, _, err = c.send(ctx, &together); err != nil {
		return nil, err
	}
	if r.Together, err = summed(ctx, &server, host.Value, run); err != nil {
		return nil, err
	}
	return r, r.Together.check(host.Value)
}

// expected returns a run of one request such as are sent, with made-up times.
func expected() *observed.Run {
	return &observed.Run{Requests: []observed.Request{{Prompt: promptTokens, Output: answerTokens,
		TTFT: 1, E2E: 2}}}
}

// send sends the requests of a round.
func (c *Config) send(ctx context.Context, r *round) (*observed.Run, *load.Result, error) {
	c.Tell(r.name)
	file, err := c.Load(r.workload())
	if err != nil {
		return nil, nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	defer simulation.Source.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*longest+time.Second)
	defer cancel() // also the list of models may take no longer
	seen := &recorder{run: observed.Run{Name: r.name, Load: observed.Load{Concurrency: r.users}}}
	sent, err := load.Run(ctx, load.Config{URL: c.URL, APIKey: c.APIKey, Speed: c.Speed,
		Timeout: longest, Source: simulation.Source, Metrics: simulation.Metrics(), Requests: seen})
	if err != nil {
		return nil, nil, err
	}
	return &seen.run, sent, seen.check(r, sent)
}

// recorder is a sim.Observer that keeps the answered requests of a closed loop, which have no time
// of their own.
type recorder struct {
	sim.NopObserver
	run observed.Run
}

// Finished implements sim.Observer.
func (o *recorder) Finished(s *sim.Sequence) {
	o.run.Requests = append(o.run.Requests, observed.Request{Prompt: s.Prompt, Output: s.Output,
		TTFT: s.TTFT().Seconds(), E2E: s.E2E().Seconds()})
}

// check returns an error if the answers are too few, or not such as were asked for.
func (o *recorder) check(r *round, sent *load.Result) error {
	long := 0
	for i := range o.run.Requests {
		q := &o.run.Requests[i]
		if q.Output > answerTokens || q.Prompt > 4*promptTokens {
			return fmt.Errorf("found a prompt of %d and an answer of %d tokens, as the server "+
				"counts them, want about %d and at most %d", q.Prompt, q.Output, promptTokens,
				answerTokens)
		}
		if q.Output >= answerTokens/2 {
			long++
		}
	}
	if 2*long >= r.requests {
		return nil
	}
	why := "does the server end answers early, or is it at work for others?"
	if len(sent.Errors) > 0 {
		why = fmt.Sprintf("%.300q", slices.MaxFunc(slices.Sorted(maps.Keys(sent.Errors)),
			func(a, b string) int { return cmp.Compare(sent.Errors[a], sent.Errors[b]) }))
	}
	return fmt.Errorf("%s: found %d answers of at least %d tokens within %s, want %d: %s", r.name,
		long, answerTokens/2, longest, (r.requests+1)/2, why)
}

// bunched returns an error if tokens come in bunches: then first tokens are late, and the time a
// token is not the step's.
func bunched(sent *load.Result) error {
	if ratio := sent.MedianITL / sent.MeanTPOT; ratio >= leastBunch && ratio <= mostBunch {
		return nil
	}
	return fmt.Errorf("found tokens in bunches: half of the gaps between events are at most "+
		"%.3g ms, and a token takes %.3g ms on average; want each token as it is made: no proxy "+
		"that gathers them, no --stream-interval and no drafting", sent.MedianITL, sent.MeanTPOT)
}

// summed returns the figures of a round.
func summed(ctx context.Context, server *fit.Server, host float64, run *observed.Run) (Round,
	error) {
	s := Round{Users: run.Load.Concurrency, Answers: len(run.Requests)}
	for i := range run.Requests {
		s.Tokens += run.Requests[i].Output
	}
	var err error
	s.Measured, s.Predicted, _, err = server.TPOT(ctx, host, run)
	return s, err
}

// off returns predicted over measured, less 1.
func (r *Round) off() float64 { return r.Predicted/r.Measured - 1 }

// check returns an error if the host does not explain the round.
func (r *Round) check(host float64) error {
	if math.Abs(r.off()) <= scenarios.MostOwnError {
		return nil
	}
	return fmt.Errorf("%w: host %.3g follows from one request at a time, but with %d "+
		"at once %.3g ms a token are predicted and %.3g ms measured; want at most %g %% between "+
		"them: is the engine or its version another?", fit.ErrNoHost, host, r.Users,
		1e3*r.Predicted, 1e3*r.Measured, 100*scenarios.MostOwnError)
}

// WriteText prints the result to be read in a terminal: the last line is for scenarios.
func (r *Result) WriteText(out io.Writer) error {
	w := &strings.Builder{}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-22s"+format+"\n", append([]any{name}, args...)...)
	}
	row("host", "%.3g ± %.1f %%: times of an H100's host", r.Value, 100*r.Deviation)
	row("one at a time", "%s a token, of %d answers with %d tokens",
		units.FormatDuration(r.Measured), r.Single.Answers, r.Single.Tokens)
	row("typical host", "%s a token is predicted", units.FormatDuration(r.Typical))
	row("accelerator alone", "%s a token is predicted", units.FormatDuration(r.Alone))
	row(fmt.Sprint(r.Together.Users, " at once"), "%s a token, of %d answers; %s is predicted "+
		"with this host, %+.1f %%", units.FormatDuration(r.Together.Measured), r.Together.Answers,
		units.FormatDuration(r.Together.Predicted), 100*r.Together.off())
	row("rests on", "the step times of %s %s", r.Engine, r.Version)
	fmt.Fprintf(w, "\nhardware: {accelerator: %s, host: %.3g}\n", r.Accelerator, r.Value)
	_, err := io.WriteString(out, w.String())
	return err
}
