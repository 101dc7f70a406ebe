package drift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// Config is what is watched.
type Config struct {
	Server fit.Server
	Fitted *scenarios.Fitted
	Runs   []observed.Run
	// Apart is the mean number of requests between false alarms of one figure, where nothing
	// changed.
	Apart float64
}

// block is the number of requests that a figure is taken of.
const block = 50

// Tolerances: what a figure may be off without a change. A machine is as far from its twin as it
// was in the part that was held out, and a little more, under loads to which the twin was fitted;
// under others, it may be as much farther as predictions of measured servers are. Traffic always
// varies.
const (
	machineTolerance = 0.03
	trafficTolerance = 0.10
)

// Result is what was found.
type Result struct {
	Machine []Finding `json:"machine"`
	Traffic []Finding `json:"traffic,omitempty"`
	// Requests is the number of requests that were seen, Apart the mean number between false alarms
	// of one figure.
	Requests float64 `json:"requests"`
	Apart    float64 `json:"requests_between_false_alarms"`
	// Unknown says that the deployment does not say to which traffic it was fitted.
	Unknown bool `json:"traffic_unknown,omitempty"`
}

// MachineChanged and TrafficChanged report what changed.
func (r *Result) MachineChanged() bool { return anyChanged(r.Machine) }

// TrafficChanged reports whether the traffic changed.
func (r *Result) TrafficChanged() bool { return anyChanged(r.Traffic) }

func anyChanged(list []Finding) bool {
	for i := range list {
		if list[i].Changed {
			return true
		}
	}
	return false
}

// Run compares the runs with the twin under the same traffic, so that other traffic does not look
// like another machine, and the traffic with the fit's.
func Run(ctx context.Context, c Config) (*Result, error) {
	r := &Result{Apart: c.Apart}
	known, err := c.Server.Evidence()
	if err != nil {
		return nil, err
	}
	var pairs []fit.Pair
	var users []float64 // by block
	for i := range c.Runs {
		list, err := c.Server.Compare(ctx, c.Fitted.Factors, &c.Runs[i])
		if err != nil {
			return nil, err
		}
		made := blocks(list)
		pairs = append(pairs, made...)
		users = append(users, slices.Repeat([]float64{usersOf(list)}, len(made))...)
	}
	if len(pairs) == 0 {
		return nil, errors.New("nothing to watch: no run has requests or intervals with latencies")
	}
	size := 0.0
	for i := range pairs {
		r.Requests += pairs[i].Weight
	}
	size = r.Requests / float64(len(pairs))
	apart := c.Apart / size
	e := &c.Fitted.Errors
	for _, q := range []struct {
		name string
		of   func(p *fit.Pair) [2]float64
		held float64
	}{
		{"TPOT", func(p *fit.Pair) [2]float64 { return p.TPOT }, e.TPOT},
		{"TTFT", func(p *fit.Pair) [2]float64 { return p.TTFT }, e.TTFT},
		{"E2E", func(p *fit.Pair) [2]float64 { return p.E2E }, e.E2E},
	} {
		var series, tolerances []float64
		for i := range pairs {
			if both := q.of(&pairs[i]); both[0] > 0 && both[1] > 0 {
				t := &c.Fitted.Traffic
				series = append(series, math.Log(both[0]/both[1]))
				tolerances = append(tolerances, math.Hypot(max(machineTolerance, 2*q.held),
					known.Farther(q.name, t.LeastUsers, t.MostUsers, users[i])))
			}
		}
		if len(series) > 0 {
			r.Machine = append(r.Machine, watch(q.name, series, tolerances, apart))
		}
	}
	r.traffic(c.Fitted, pairs, apart)
	return r, nil
}

// traffic compares lengths and rate with those to which the twin was fitted.
func (r *Result) traffic(d *scenarios.Fitted, pairs []fit.Pair, apart float64) {
	t := &d.Traffic
	if *t == (scenarios.Traffic{}) {
		r.Unknown = true
		return
	}
	var prompts, outputs, rates []float64
	for i := range pairs {
		p := &pairs[i]
		if t.Prompt > 0 && p.Prompt > 0 {
			prompts = append(prompts, math.Log(p.Prompt/t.Prompt))
		}
		if t.Output > 0 && p.Output > 0 {
			outputs = append(outputs, math.Log(p.Output/t.Output))
		}
		if i > 0 && t.Rate > 0 && p.At > pairs[i-1].At {
			rates = append(rates, math.Log(pairs[i-1].Weight/(p.At-pairs[i-1].At)/t.Rate))
		}
	}
	for _, f := range []struct {
		name   string
		series []float64
	}{{"prompt length", prompts}, {"answer length", outputs}, {"rate", rates}} {
		if len(f.series) > 0 {
			r.Traffic = append(r.Traffic, watch(f.name, f.series,
				slices.Repeat([]float64{trafficTolerance}, len(f.series)), apart))
		}
	}
}

// usersOf returns the mean number of requests in flight that the twin predicts for a run: what is
// measured would hide a change of the machine in a change of the load.
func usersOf(list []fit.Pair) float64 {
	if len(list) < 2 {
		return 0
	}
	time := 0.0
	for i := range list {
		time += list[i].Weight * list[i].E2E[1]
	}
	return time / (list[len(list)-1].At - list[0].At)
}

// blocks joins requests to blocks of their means. Intervals are blocks already.
func blocks(list []fit.Pair) []fit.Pair {
	var made []fit.Pair
	for len(list) > 0 {
		n, weight := 0, 0.0
		for n < len(list) && weight < block {
			weight += list[n].Weight
			n++
		}
		if weight < block/2 && len(made) > 0 {
			break // too few for a mean
		}
		made = append(made, joined(list[:n], weight))
		list = list[n:]
	}
	return made
}

func joined(list []fit.Pair, weight float64) fit.Pair {
	b := fit.Pair{At: list[0].At, Weight: weight}
	for i := range list {
		p := &list[i]
		share := p.Weight / weight
		b.Prompt, b.Output = b.Prompt+share*p.Prompt, b.Output+share*p.Output
		for k := range 2 {
			b.TTFT[k] += share * p.TTFT[k]
			b.TPOT[k] += share * p.TPOT[k]
			b.E2E[k] += share * p.E2E[k]
		}
	}
	return b
}

// WriteText says what was found.
func (r *Result) WriteText(to io.Writer) error {
	var b strings.Builder
	switch {
	case r.MachineChanged() && r.TrafficChanged():
		b.WriteString("the machine and the traffic changed\n")
	case r.MachineChanged():
		b.WriteString("the machine changed: under the same traffic it is not as fast as its twin " +
			"says, or faster\n")
	case r.TrafficChanged():
		b.WriteString("the traffic changed; the machine does what its twin says\n")
	default:
		b.WriteString("no change\n")
	}
	for _, f := range append(append([]Finding{}, r.Machine...), r.Traffic...) {
		fmt.Fprintf(&b, "  %-15s %+6.1f %%  (tolerance %.1f %%, noise of %d requests %.1f %%)",
			f.Figure, 100*f.Shift, 100*f.Tolerance, block, 100*f.Deviation)
		switch {
		case f.Changed:
			fmt.Fprintf(&b, "  changed: certain after %d requests, probably since number %d",
				f.After*block, (f.Since-1)*block+1)
		case f.Passed:
			fmt.Fprintf(&b, "  off for a while from about request %d on: the mean since then is "+
				"within its tolerance", (f.Since-1)*block+1)
		}
		b.WriteString("\n")
	}
	if r.Unknown {
		b.WriteString("the deployment does not say to which traffic it was fitted: changes of " +
			"the " +
			"traffic are not looked for\n")
	}
	fmt.Fprintf(&b, "%.0f requests seen; where nothing changes, a figure gives a false alarm "+
		"once in "+
		"%.3g requests or more rarely, if its noise is normal\n", r.Requests, r.Apart)
	_, err := io.WriteString(to, b.String())
	return err
}
