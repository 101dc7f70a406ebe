package ask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
)

// bounds are times in seconds that no engine passes on the hardware.
type bounds struct {
	// token is the time in which the weights of a step for one sequence are read, over the tokens
	// that drafts give of it; prompt the time of a mean prompt's arithmetic; roof the time of a
	// step of the mean batch at the peaks of memory and arithmetic.
	token, prompt, roof float64
}

// boundsOf returns the bounds of a server for the load of a run.
func boundsOf(s *simulated, run *observed.Run) bounds {
	a := &s.steps.Accelerator
	peak := 0.0
	for _, rate := range a.Peak {
		peak = max(peak, rate)
	}
	batch, context := 1, 1
	if d := s.result.Decode; d != nil && d.Batch > 0 {
		batch, context = d.Batch, int(d.Context)/d.Batch
	}
	ideal := func(l steptime.Ledger) (memory, compute float64) {
		sum := l.Sum()
		return sum.Bytes() / a.Bandwidth, sum.FLOPs / peak
	}
	one := s.steps.Decode(1, 1)
	weights := one.Ledger.Sum()
	many := s.steps.Decode(batch, max(1, context))
	memory, compute := ideal(many.Ledger)
	b := bounds{token: weights.Weights / a.Bandwidth / one.Given,
		roof: max(memory, compute) / many.Given}
	if run.Load.Prompt >= 1 {
		_, b.prompt = ideal(s.steps.Prompt(int(min(run.Load.Prompt, 1<<20))))
	}
	return b
}

// slow is how many times the predicted a figure is from which on it is asked why.
const slow = 1.3

// doubt says which reported figures do not fit the physics, and tries what may explain them.
func (a *Answer) doubt(ctx context.Context, s *simulated, run *observed.Run) error {
	b, f := boundsOf(s, run), &run.Summary
	if f.TPOT > 0 && f.TPOT < b.token {
		a.Doubts = append(a.Doubts, fmt.Sprintf("A TPOT of %s is impossible here: reading the "+
			"weights once takes %s at the peak bandwidth. Look at the unit, the GPU and their "+
			"number, the format of the weights, drafts, and chunks of several tokens.",
			units.FormatDuration(f.TPOT), units.FormatDuration(b.token)))
		return nil
	}
	if f.TTFT > 0 && f.TTFT < b.prompt {
		a.Doubts = append(a.Doubts, fmt.Sprintf("A TTFT of %s is impossible for prompts of %.0f "+
			"tokens that are computed: their arithmetic takes %s at the highest peak. The prompts "+
			"came from the prefix cache, or are shorter.", units.FormatDuration(f.TTFT),
			run.Load.Prompt, units.FormatDuration(b.prompt)))
	}
	if rate := a.reported("output_throughput"); rate > 0 && run.Load.Concurrency > 0 &&
		rate > float64(run.Load.Concurrency)/b.token {
		a.Doubts = append(a.Doubts, fmt.Sprintf("%.5g output tokens/s are impossible for %d "+
			"requests in flight: each gets at most one token in %s.", rate, run.Load.Concurrency,
			units.FormatDuration(b.token)))
	}
	a.doubtBatch()
	for _, of := range []struct {
		name  string
		times float64
	}{{"mean_tpot_ms", 1}, {"mean_ttft_ms", 1}, {"output_throughput", -1}} {
		i := slices.IndexFunc(a.Figures, func(f Figure) bool {
			return f.Name == of.name && f.Run == a.last && f.Reported > 0 && f.Predicted > 0
		})
		if i < 0 {
			continue
		}
		g := &a.Figures[i]
		ratio := math.Pow(g.Reported/g.Predicted, of.times)
		if strings.HasPrefix(g.Verdict, "in ") || ratio > 1/slow && ratio < slow {
			continue
		}
		words := fmt.Sprintf("Reported %s: %s times the prediction", g.Title,
			units.Significant(g.Reported/g.Predicted, 2))
		if of.name == "mean_tpot_ms" {
			words = fmt.Sprintf("Measured %s times its roofline: %s for each token, where "+
				"memory and arithmetic at their peaks take %s", units.Significant(f.TPOT/b.roof, 2),
				units.FormatDuration(f.TPOT), units.FormatDuration(b.roof))
		}
		switch {
		case of.name == "mean_tpot_ms" && f.TPOT < b.roof:
			a.Doubts = append(a.Doubts, words+". No engine does that for the batch that the load "+
				"gives here: the load, the formats of weights and cache, or the GPU is another.")
			return nil
		case ratio < 1:
			a.Doubts = append(a.Doubts, words+". It is better than predicted: look for cached "+
				"prompts, shorter answers, drafts, a smaller load, or another GPU.")
			return nil
		}
		causes, err := s.causes(ctx, g)
		if err != nil {
			return err
		}
		a.Doubts = append(a.Doubts, words+"; look at: "+causes)
		return nil
	}
	return nil
}

// doubtBatch compares how many requests decoded at once: by Little's law, the output rate times the
// time for each token.
func (a *Answer) doubtBatch() {
	reported := a.reported("output_throughput") * a.reported("mean_tpot_ms") / 1000
	predicted := 1.0
	for _, f := range a.Figures {
		switch {
		case f.Run != a.last:
		case f.Name == "output_throughput":
			predicted *= f.Predicted
		case f.Name == "mean_tpot_ms":
			predicted *= f.Predicted / 1000
		}
	}
	if ratio := reported / predicted; reported > 0 && (ratio > 1.5 || ratio < 1/1.5) {
		a.Doubts = append(a.Doubts, fmt.Sprintf("The reported rate times the reported TPOT say "+
			"that %.4g requests decoded at once, where %.4g are predicted: a limit on the batch "+
			"(--max-num-seqs, the client's concurrency, the KV cache) or the load is another.",
			reported, predicted))
	}
}

// reported returns a reported figure of the last run; 0 without one.
func (a *Answer) reported(name string) float64 {
	for _, f := range slices.Backward(a.Figures) {
		if f.Name == name && (f.unit == "" || f.Run == a.last) {
			return f.Reported
		}
	}
	return 0
}

// cause is what may make a server slower, as overrides.
type cause struct {
	words string
	set   []string
}

// causes simulates what may make a figure worse, and names first what comes nearest.
func (s *simulated) causes(ctx context.Context, f *Figure) (string, error) {
	scenario := &s.steps.Scenario
	var list []cause
	if !scenario.Engine.Eager {
		list = append(list, cause{"eager mode", []string{"engine.eager=true"}})
	}
	list = append(list, cause{"a host 3 times as slow", []string{"hardware.host=3"}})
	if scenario.Parallelism.Tensor > 1 {
		list = append(list, cause{"PCIe between the GPUs", []string{"hardware.link=pcie4-x16"}})
	}
	if s.result.OfferedRate > 0 {
		list = append(list, cause{"saturation: all requests at once",
			[]string{"workload.arrivals=at-once", "workload.rate=null"}})
	} else {
		list = append(list, cause{"half the requests in a batch", []string{fmt.Sprintf(
			"batching.max-sequences=%d", max(1, s.result.PeakBatch/2))}})
	}
	type tried struct {
		words string
		far   float64
	}
	var all []tried
	before := math.Abs(math.Log(f.Reported / f.Predicted))
	for _, c := range list {
		result, err := s.run(ctx, c.set...)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			continue // the engine does not have it
		}
		value := scenarios.MetricNamed(f.Name).Of(result)
		if far := math.Abs(math.Log(f.Reported / value)); far < before-0.05 {
			all = append(all, tried{fmt.Sprintf("%s (gives %s)", c.words, f.words(value)), far})
		}
	}
	slices.SortStableFunc(all, func(x, y tried) int { return cmp.Compare(x.far, y.far) })
	var words []string
	for _, t := range all {
		words = append(words, t.words)
	}
	if len(words) == 0 {
		return "another load than the one above, other work on the GPU or its host, a slower " +
			"clock; neither eager mode nor a slow host or link explains it.", nil
	}
	return strings.Join(words, "; ") + "; or another load than the one above.", nil
}
