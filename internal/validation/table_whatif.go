package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// One machine, one change at a time (kubernetes-sigs/inference-perf, demos/kubecon-na-2025): rising
// constant rates, under each set of flags.
// The demo's load: Llama-3.1-8B-Instruct, ten groups of ten prompts that share 128 tokens, stages
// of 60 s, at most 440 requests in flight at the client.
const (
	whatifShared   = 128
	whatifStage    = 60.0 // s
	whatifInFlight = 440
	// whatifClient is what the demo's client adds to the times that it reports, in ms: the
	// difference that is left up to 31 requests a second to the server without a change, where
	// nothing waits.
	whatifClient = 8.0
	// kept is the share of the requested rate that a stage reaches at least that is not saturated.
	kept = 0.97
)

// variant is the stages of a server under one set of flags: the parts of a trial.
type variant struct {
	*trial
	name  string
	base  *variant // what it changes; nil for the base itself
	loads []whatifLoad
}

// whatifLoad is the load of a stage.
type whatifLoad struct {
	rate, reached  float64 // requests/s
	prompt, output int
}

func readWhatIf(c *catalogs, t *table) (list []*trial) {
	var variants []*variant
	t.each(func(r *row) {
		x, name := c.trial(r), r.required("variant")
		l := whatifLoad{rate: r.number("requested_rate"), reached: r.number("requests_per_s"),
			prompt: r.count("prompt_mean"), output: r.count("output_mean")}
		if r.err == nil && !(l.rate*whatifStage >= 1 && l.rate*whatifStage <= maxRequests) {
			r.fail(fmt.Errorf("requested_rate: found %g, want 1 to %d requests a stage", l.rate,
				maxRequests))
		}
		if r.err != nil {
			return
		}
		i := slices.IndexFunc(variants, func(v *variant) bool { return v.name == name })
		if i < 0 {
			v := &variant{trial: x, name: name}
			if why := v.configure(r.text("what")); why != "" {
				t.skip("%s", why)
				return
			}
			i = len(variants)
			variants = append(variants, v)
		}
		v := variants[i]
		v.loads = append(v.loads, l)
		v.parts = append(v.parts, part{measured: x.measured, place: accuracy.Place{
			Group: v.group(), File: t.file, Line: r.line,
			Name: fmt.Sprintf("%s, %g/s", name, l.rate)}})
	})
	for i, v := range variants {
		v.place, v.predict = v.parts[0].place, v.predictStages
		if i > 0 {
			v.base = variants[0]
		}
		for i := range v.parts {
			v.parts[i].load = v.stage(i)
		}
		list = append(list, v.trial)
	}
	return list
}

// demoDrafted is the number of tokens that the demo's server drafts where its description has no
// number (demos/kubecon-na-2025/vllm+eagle/manifests.yaml, num_speculative_tokens).
const demoDrafted = 4

var draftedFlag = regexp.MustCompile(
	`num_speculative_tokens\D{0,4}(\d+)|(\d+) (?:speculative|drafted|draft)`)

// describedDrafts returns the number of drafted tokens that a description has, or the demo's where
// it has no number. Otherwise why says what was found.
func describedDrafts(what string) (n int, why string) {
	m := draftedFlag.FindStringSubmatch(what)
	if m == nil {
		return demoDrafted, ""
	}
	n, err := strconv.Atoi(m[1] + m[2])
	if err != nil || n < 1 || n > maxDrafted {
		return 0, fmt.Sprintf("found %s, want a number from 1 to %d", m[0], maxDrafted)
	}
	return n, ""
}

var numberedFlag = regexp.MustCompile(
	`(max-num-seqs|max-num-batched-tokens|tensor-parallel-size)[ =](\d+)`)

// configure sets the flags that the name of the variant and its description tell, or says why that
// cannot be done.
func (v *variant) configure(what string) (why string) {
	_, change, _ := strings.Cut(strings.ToLower(v.name), "+")
	for _, word := range strings.FieldsFunc(change,
		func(r rune) bool { return r == '+' || r == '_' || r == '-' }) {
		switch word {
		case "and", "engine", "chunking", "chunked", "prefill", "caching", "on":
			// Whole prompts of 200 tokens are computed in one step anyway.
		case "prefix":
			v.Memory.Policy = "prefix-cache"
		case "quantization", "quantisation":
			// The flag had no effect: a replicate with the other flags of its description.
			if strings.Contains(what, "prefix caching") {
				v.Memory.Policy = "prefix-cache"
			}
		case "v0":
			v.Engine.Preset = "vllm-v0"
		case "async", "asynchronous", "scheduling":
			v.Engine.Preset = "vllm-v1"
		case "fp8":
			v.weights = "fp8"
		case "eagle", "eagle3":
			drafts, why := describedDrafts(what)
			if why != "" {
				return why
			}
			v.draftByHead(drafts)
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
		case "max-num-batched-tokens":
			v.tokenBudget = max(n, v.maxSequences)
		case "tensor-parallel-size":
			v.Parallelism.Tensor = n
		}
	}
	return ""
}
