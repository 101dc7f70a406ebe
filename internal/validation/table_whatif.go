package validation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// One machine, one change at a time (kubernetes-sigs/inference-perf, demos/kubecon-na-2025): rising
// constant rates, under each set of flags. The file's name states engine, version and GPU:
// whatif_vllm_0.11_h100.csv.
var whatifColumns = []string{
	"variant", "vllm", "stage", "requested_rate", "requests_per_s", "prompt_mean", "output_mean",
	"ttft_p50_ms", "e2e_p50_ms",
}

// The demo's load: Llama-3.1-8B-Instruct, ten groups of ten prompts that share 128 tokens, stages
// of 60 s, at most 440 requests in flight at the client, 512 tokens of context.
const (
	whatifModel     = "llama-3.1-8b"
	whatifShared    = 128
	whatifStage     = 60.0 // s
	whatifInFlight  = 440
	whatifContext   = 512
	whatifSequences = 128
	// whatifClient is what the demo's client adds to the times that it reports, in ms: the
	// difference that is left up to 31 requests a second to the server without a change, where
	// nothing waits.
	whatifClient = 8.0
	// kept is the share of the requested rate that a stage reaches at least that is not saturated.
	kept = 0.97
)

// variant is the stages of a server under one set of flags.
type variant struct {
	deployment
	name   string
	stages []whatifLoad
}

// whatifLoad is one row.
type whatifLoad struct {
	place
	rate, reached  float64 // requests/s
	prompt, output int
	measured       []measurement
}

// whatIf is a variant beside the one that it changes.
type whatIf struct {
	*variant
	base *variant // nil for the base itself
}

func readWhatIf(c *catalogs, t *table) []experiment {
	parts := strings.Split(strings.TrimSuffix(path.Base(t.file), path.Ext(t.file)), "_")
	gpu := parts[len(parts)-1]
	var variants []*variant
	t.each(func(r *row) {
		d := c.deploy(r, orElse(r.text("model"), whatifModel), orElse(r.text("gpu"), gpu),
			orElse(r.text("dtype"), "bf16"), 1)
		name := r.required("variant")
		l := whatifLoad{rate: r.number("requested_rate"), reached: r.number("requests_per_s"),
			prompt: r.count("prompt_mean"), output: r.count("output_mean")}
		l.measured = r.measured([]figure{{"ttft_p50_ms", "TTFT p50", "ms", 1},
			{"e2e_p50_ms", "E2E p50", "ms", 1}})
		if r.err == nil && !(l.rate*whatifStage >= 1 && l.rate*whatifStage <= maxRequests) {
			r.fail(fmt.Errorf("requested_rate: found %g, want 1 to %d requests a stage", l.rate,
				maxRequests))
		}
		if r.err != nil {
			return
		}
		i := slices.IndexFunc(variants, func(v *variant) bool { return v.name == name })
		if i < 0 {
			v := &variant{deployment: d, name: name}
			if why := v.configure(r.text("vllm"), r.text("what")); why != "" {
				t.skip("%s", why)
				return
			}
			i = len(variants)
			variants = append(variants, v)
		}
		v := variants[i]
		l.place = place{Group: v.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%s, %g/s", name, l.rate)}
		v.stages = append(v.stages, l)
	})
	var list []experiment
	for _, v := range variants {
		w := &whatIf{variant: v}
		if v.name != variants[0].name {
			w.base = variants[0]
		}
		list = append(list, w)
	}
	return list
}

var numberedFlag = regexp.MustCompile(
	`(max-num-seqs|max-num-batched-tokens|tensor-parallel-size)[ =](\d+)`)

// configure sets the flags that the name of the variant and its description tell, or says why that
// cannot be done.
func (v *variant) configure(version, what string) (why string) {
	v.engine = "vllm-v1"
	if beforeAsynchronous(version) {
		v.engine = "vllm-v1-sync"
	}
	v.setDefaults()
	v.maxSequences, v.maxContext = whatifSequences, whatifContext
	v.tokenBudget = max(v.tokenBudget, v.maxSequences)
	_, change, _ := strings.Cut(strings.ToLower(v.name), "+")
	for _, word := range strings.FieldsFunc(change,
		func(r rune) bool { return r == '+' || r == '_' || r == '-' }) {
		switch word {
		case "and", "engine", "chunking", "chunked", "prefill", "caching", "on":
			// Whole prompts of 200 tokens are computed in one step anyway.
		case "prefix":
			v.prefixCaching = true
		case "quantization", "quantisation":
			// The flag had no effect: a replicate with the other flags of its description.
			v.prefixCaching = strings.Contains(what, "prefix caching")
		case "v0":
			v.engine = "vllm-v0"
		case "async", "asynchronous", "scheduling":
			v.engine = "vllm-v1"
		case "fp8":
			v.weights = "fp8"
		case "eager":
			return "the variant " + v.name + " has no captured graphs"
		default:
			if !numberedFlag.MatchString(what) {
				return fmt.Sprintf("the change %q is not known", v.name)
			}
		}
	}
	for _, flag := range numberedFlag.FindAllStringSubmatch(what, -1) {
		n, err := strconv.Atoi(flag[2])
		if err != nil || n < 1 || n > maxBatch {
			return fmt.Sprintf("found %s, want a number from 1 to %d", flag[0], maxBatch)
		}
		switch flag[1] {
		case "max-num-seqs":
			v.maxSequences = n
			v.tokenBudget = max(v.tokenBudget, n)
		case "max-num-batched-tokens":
			v.tokenBudget = max(n, v.maxSequences)
		case "tensor-parallel-size":
			v.tensor = n
		}
	}
	return ""
}

func (w *whatIf) at() place { return w.stages[0].place }

// compare implements experiment. Stages below saturation are compared by their medians, saturated
// ones by their rate. Of a change, the effect is compared too: as the ratio to what the base has at
// the same rate.
func (w *whatIf) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	own, err := w.variant.run(ctx, p)
	if err != nil {
		return nil, err
	}
	list := own.comparisons(w.variant)
	if w.base == nil {
		return list, nil
	}
	base, err := w.base.run(ctx, p)
	if err != nil {
		return nil, err
	}
	return append(list, effects(w, own, base)...), nil
}

// whatifRun is what was predicted of a variant: the figures of each stage, nil for saturated ones,
// and the rate at saturation.
type whatifRun struct {
	stages   []map[string]float64
	capacity float64
	// rehearsals are of the stages, and last of the run at saturation.
	rehearsals []*rehearsal
}

func (v *variant) run(ctx context.Context, p *Physics) (*whatifRun, error) {
	r := &whatifRun{}
	for i := range v.stages {
		s := &v.stages[i]
		if s.reached < kept*s.rate {
			r.stages, r.rehearsals = append(r.stages, nil), append(r.rehearsals, nil)
			continue
		}
		all, err := v.serve(ctx, p, s.load(whatifStage))
		if err != nil {
			return nil, err
		}
		figures := all.figures()
		figures["TTFT p50"] += whatifClient
		figures["E2E p50"] += whatifClient
		r.stages, r.rehearsals = append(r.stages, figures), append(r.rehearsals, all.rehearsal)
	}
	last := v.stages[len(v.stages)-1]
	load, err := closedLoop(whatifInFlight, 12*whatifInFlight, last.prompt, last.output,
		equalLength)
	if err != nil {
		return nil, err
	}
	if v.prefixCaching {
		load = &tagged{Source: load, load: &last}
	}
	all, err := v.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	r.capacity = all.outputRate() / meanOutput(all)
	r.rehearsals = append(r.rehearsals, all.rehearsal)
	return r, nil
}

// meanOutput returns the mean number of tokens of an answer.
func meanOutput(o *outcome) float64 {
	sum := 0.0
	for _, r := range o.requests {
		sum += float64(r.output)
	}
	return sum / float64(len(o.requests))
}

// tagged gives the requests of a closed loop the contents of the demo's prompts.
type tagged struct {
	sim.Source
	load *whatifLoad
	sent int
}

// Next implements sim.Source.
func (t *tagged) Next(r *sim.Request) {
	t.Source.Next(r)
	r.Content = append(r.Content[:0], t.load.content(t.sent, r.Prompt)...)
	t.sent++
}

func (s *whatifLoad) content(n, prompt int) []sim.Segment {
	question := n % distinctPrompts
	shared := min(whatifShared, prompt)
	list := []sim.Segment{{ID: uint64(1 + question%promptGroups), Tokens: shared}}
	if rest := prompt - shared; rest > 0 {
		list = append(list, sim.Segment{ID: uint64(1 + promptGroups + question), Tokens: rest})
	}
	return list
}

// load returns the requests of the stage, of the given length in seconds.
func (s *whatifLoad) load(seconds float64) *script {
	rng := rand.New(rand.NewPCG(0, 0))
	var requests []sim.Request
	for i, at := range spread(max(1, int(math.Round(s.rate*seconds))), seconds, rng) {
		requests = append(requests, sim.Request{Arrival: sim.Seconds(at), Prompt: s.prompt,
			Output: s.output, Content: s.content(i, s.prompt)})
	}
	return &script{requests: requests}
}

// capacity returns the highest measured rate and its stage.
func (v *variant) capacity() (float64, *whatifLoad) {
	best := &v.stages[0]
	for i := range v.stages {
		if v.stages[i].reached > best.reached {
			best = &v.stages[i]
		}
	}
	return best.reached, best
}

func (r *whatifRun) comparisons(v *variant) []Comparison {
	var list []Comparison
	for i := range v.stages {
		if r.stages[i] != nil {
			list = append(list,
				rehearsable(v.stages[i].place.compare(v.stages[i].measured, r.stages[i]),
					r.rehearsals[i])...)
		}
	}
	measured, at := v.capacity()
	capacity := at.place.compare([]measurement{{"capacity", "requests/s", measured}},
		map[string]float64{"capacity": r.capacity})
	return append(list, rehearsable(capacity, r.rehearsals[len(v.stages)])...)
}

// effects compares ratios to the base: of capacities, and of medians at the lowest rate of both.
func effects(w *whatIf, own, base *whatifRun) []Comparison {
	before, _ := w.base.capacity()
	after, at := w.variant.capacity()
	list := at.place.compare([]measurement{{"effect on capacity", "×", after / before}},
		map[string]float64{"effect on capacity": own.capacity / base.capacity})
	for i := range w.stages {
		s := &w.stages[i]
		if own.stages[i] == nil {
			continue
		}
		for _, m := range s.measured {
			measured, predicted, ok := w.base.interpolate(base, s.rate, m.quantity)
			if !ok {
				continue
			}
			name := "effect on " + m.quantity
			list = append(list, s.place.compare([]measurement{{name, "×", m.value / measured}},
				map[string]float64{name: own.stages[i][m.quantity] / predicted})...)
		}
	}
	return list
}

// interpolate returns a measured and a predicted figure at a rate, straight between the stages that
// were not saturated; false outside of them.
func (v *variant) interpolate(r *whatifRun, rate float64, quantity string) (measured,
	predicted float64, ok bool) {
	for i := range v.stages {
		s := &v.stages[i]
		if r.stages[i] == nil {
			return 0, 0, false
		}
		k := slices.IndexFunc(s.measured, func(m measurement) bool {
			return m.quantity == quantity
		})
		if k < 0 {
			return 0, 0, false
		}
		if s.rate == rate {
			return s.measured[k].value, r.stages[i][quantity], true
		}
		if i+1 == len(v.stages) || r.stages[i+1] == nil || rate < s.rate {
			return 0, 0, false
		}
		next := &v.stages[i+1]
		if rate <= next.rate && k < len(next.measured) && next.measured[k].quantity == quantity {
			x := (rate - s.rate) / (next.rate - s.rate)
			return s.measured[k].value + x*(next.measured[k].value-s.measured[k].value),
				r.stages[i][quantity] + x*(r.stages[i+1][quantity]-r.stages[i][quantity]), true
		}
	}
	return 0, 0, false
}
