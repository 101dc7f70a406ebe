package validation

import (
	"cmp"
	"math"
	"regexp"
	"strconv"

	"github.com/llmsim/llmsim/models/engines"
)

// applyFlags sets what the flags say in place of what is assumed of servers of that kind.
func (r *row) applyFlags(d *deployment) {
	r.set("flags", d)
	if flags := r.started(); r.err == nil {
		d.Engine.ExpertsBackend = expertsBackend(d, flags)
	}
}

// expertsBackend returns the back end of routed experts that the flags ask for; "" where they do
// not say.
func expertsBackend(d *deployment, flags map[string]string) string {
	release, err := engines.Find(cmp.Or(d.Engine.Preset, "vllm"), d.version)
	if err != nil {
		release, _ = engines.Find(cmp.Or(d.Engine.Preset, "vllm"), "")
	}
	for _, flag := range []string{"moe-backend", "moe-runner-backend", "moe_config.backend"} {
		if name := flags[flag]; name != "" {
			return engines.BackendName(name)
		}
	}
	return release.AskedBackend(engines.Experts, release.Version, flags)
}

// otherExperts says of a row whose experts are not spread over the GPUs of its server why it is
// left out.
func otherExperts(r *row) string {
	gpus := r.number("tp|=1") * max(1, r.number("attention_dp|=1"))
	experts := max(1, r.number("moe_tp|=1")) * max(1, r.number("moe_ep|=1"))
	if experts > 1 && experts != gpus {
		return "experts are spread over another number of accelerators than the replica has"
	}
	return ""
}

// tunedLimits sets the limits that trtllm-bench chooses from version 0.15 on: the sequences that
// might have room beside the weights, and the tokens of a step that keep up with them. Without
// chunks a step has room for a prompt (tensorrt_llm/bench/build/tuning.py, calc_engine_setting and
// finetune_setting; bench/benchmark/utils/general.py, get_settings). Attention by data-parallel
// ranks does not change them: each rank gets the limits of all.
func (o *trial) tunedLimits() {
	ranks, stages := max(1, o.Parallelism.Data), float64(max(1, o.Parallelism.Pipeline))
	group := o.Parallelism.Tensor * ranks
	memory := float64(group)*stages*o.accelerator.Memory - float64(o.model.WeightBytes(o.weights))
	room := 0.95 * memory / (o.tunedCache(group) * float64(o.prompt+o.output))
	sequences := max(1, min(room, 4096)/stages)
	tokens := min(sequences*(1+float64(o.prompt)/float64(o.output)), 32768)
	o.maxSequences = int(roundTo(sequences, 256, 32, 1024, 128, 256))
	o.maxSequences = max(64, o.maxSequences)
	o.tokenBudget = max(2048, int(roundTo(tokens, 4096, 256, 8192, 512, 1024)),
		o.prompt+o.maxSequences) * ranks
	o.maxSequences *= ranks
}

// tunedCache returns the bytes that trtllm-bench takes a token to store on a group of accelerators:
// in all layers alike, whatever their windows, and latent vectors once.
func (o *trial) tunedCache(group int) float64 {
	total := 0.0
	for _, l := range o.model.AttentionLayers(group, o.kv) {
		copies := float64(group)
		if l.Latent {
			copies = 1
		}
		total += copies * float64(l.Count) * l.KVBytes
	}
	return total
}

// roundTo rounds x up to a multiple of the first step below small, of the second below large, and
// of the third beyond.
func roundTo(x, small, first, large, second, third float64) float64 {
	step := third
	switch {
	case x < small:
		step = first
	case x < large:
		step = second
	}
	return step * math.Ceil(x/step)
}

// degrees are how a model is spread over GPUs, as labels such as "tp2", "dp2ep" and "tp2dp4ep8"
// name it: data-parallel ranks of attention, each over a number of GPUs, and experts over all GPUs.
type degrees struct {
	tensor, data int
	experts      bool
}

var degreesLabel = regexp.MustCompile(`^(?:tp(\d+))?_?(?:dp(\d+))?_?(ep(\d+)?)?$`)

// parseDegrees reads such a label, and reports whether it is one. A number of ranks over which
// experts are spread must be the number of all GPUs, or 1.
func parseDegrees(label string) (degrees, bool) {
	m := degreesLabel.FindStringSubmatch(label)
	if m == nil || label == "" {
		return degrees{}, false
	}
	degree := func(text string) int {
		if text == "" {
			return 1
		}
		n, err := strconv.Atoi(text)
		if err != nil || n > maxBatch {
			return 0
		}
		return n
	}
	l := degrees{tensor: degree(m[1]), data: degree(m[2])}
	gpus, expert := l.tensor*l.data, degree(m[4])
	l.experts = m[3] != "" && gpus > 1 && (m[4] == "" || expert > 1)
	return l, gpus > 0 && (m[4] == "" || expert == 1 || expert == gpus)
}

// apply spreads a deployment so. The number of GPUs of one rank is set before.
func (l degrees) apply(d *deployment) {
	d.Parallelism.Data = l.data
	if l.experts && d.model.Experts() != nil {
		d.Parallelism.Expert = l.tensor * l.data
	}
}
