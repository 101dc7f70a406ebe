package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Lesson holds the numbers that explain why serving a model costs what it costs.
type Lesson struct {
	steps       *scenarios.Steps
	desktop     hardware.Accelerator
	gpus        float64
	weights, kv hardware.DType
	prompt      int
	context     int
}

// NewLesson explains the model and machine of steps, for prompts and contexts of the given lengths
// in tokens. The desktop is the slow machine of the comparison.
func NewLesson(s *scenarios.Steps, desktop hardware.Accelerator, prompt, context int) *Lesson {
	return &Lesson{
		steps: s, desktop: desktop, prompt: prompt, context: context,
		gpus:    float64(s.Scenario.Parallelism.Accelerators()),
		weights: hardware.DType(s.Scenario.Engine.Weights),
		kv:      hardware.DType(s.Scenario.Engine.KVCache),
	}
}

// Blocks is the explanation.
func (l *Lesson) Blocks() (p doc.Blocks) {
	heading(&p, "%s on %.0f × %s", l.steps.Model.Name, l.gpus, l.steps.Accelerator.Title)
	l.oneToken(&p)
	l.batching(&p)
	l.prefill(&p)
	l.kvCache(&p)
	l.twoLatencies(&p)
	return p
}

func heading(p *doc.Blocks, format string, args ...any) {
	p.Heading(fmt.Sprintf(format, args...))
	p.Gap()
}

func say(p *doc.Blocks, format string, args ...any) {
	p.Text(fmt.Sprintf(format, args...))
	p.Gap()
}

// oneToken explains that reading the weights sets a lower bound.
func (l *Lesson) oneToken(p *doc.Blocks) {
	m, a := l.steps.Model, &l.steps.Accelerator
	read := float64(m.StreamedBytes(l.weights))
	// Stages read their weights one after another.
	each := l.gpus / l.stages()
	bandwidth := each * a.Bandwidth
	flops, _ := l.steps.Clock.Peaks()
	flops /= l.stages()
	one := l.decode(1)
	work := one.Ledger.Sum()
	work.FLOPs *= each
	intensity := work.Intensity() / each
	stages, drafts := "", ""
	if n := l.stages(); n > 1 {
		stages = fmt.Sprintf(" (one of %.0f stages at a time)", n)
	}
	if one.Given > 1 {
		drafts = fmt.Sprintf(", with %s in a step", units.Significant(one.Given, 3))
	}
	heading(p, "One token for one user")
	if !l.known() {
		say(p, "The model has %s parameters: %s in %s. The scenario gives the times of steps: "+
			givenTimes, units.Figure(float64(m.Parameters().Total())),
			units.FormatBytes(float64(m.WeightBytes(l.weights))), l.weights)
		return
	}
	say(p, "The model has %s parameters: %s in %s. To make one token, every weight that the token "+
		"passes through must be read once: %s. At %s%s that takes %s, so no engine can give one "+
		"user more than %s a second%s.", units.Figure(float64(m.Parameters().Total())),
		units.FormatBytes(float64(m.WeightBytes(l.weights))), l.weights,
		units.FormatBytes(read), units.FormatByteRate(bandwidth), stages,
		units.FormatDuration(read/bandwidth), units.Counted(one.Given*bandwidth/read, "token"),
		drafts)
	if took := one.Ledger.Time().Seconds(); took < read/bandwidth {
		say(p, "The steps of this scenario are shorter than that, %s: it gives factors on their "+
			"times, or kernels of its own.", units.FormatDuration(took))
	}
	small, limits, longer := "is small", "So memory bandwidth limits", flops/bandwidth/intensity
	if longer < 1 {
		small, limits = "takes longer than reading", "So memory bandwidth does not limit"
	}
	say(p, "The arithmetic %s: %s GFLOP, which takes %s at %s. That is %s FLOP for each byte, "+
		"while the machine could do %s (the ridge of its roofline). %s decoding for one user: "+
		"reading takes %s times as long as the arithmetic.",
		small, units.Significant(work.FLOPs/1e9, 3), units.FormatDuration(work.FLOPs/flops),
		units.FormatFLOPRate(flops), units.Figure(intensity), units.Figure(flops/bandwidth), limits,
		units.Times(longer))
	if words := l.steps.Clock.Kernels(); words != "" {
		say(p, "The engine chooses libraries of kernels: %s.", words)
	}
	slow := read / l.desktop.Bandwidth
	say(p, "A desktop at %s needs %s a token, which is %s times longer. This is the ratio of the "+
		"bandwidths, and does not depend on the number of cores.",
		units.FormatByteRate(l.desktop.Bandwidth), units.FormatDuration(slow),
		units.Times(bandwidth/l.desktop.Bandwidth))
}

// decode returns a step of a batch of sequences with the lesson's context.
func (l *Lesson) decode(batch int) scenarios.DecodeStep { return l.steps.Decode(batch, l.context) }

// known reports whether it is known what a step computes and moves: not where a scenario gives the
// times of steps.
func (l *Lesson) known() bool {
	work := l.decode(1).Ledger.Sum()
	return work.FLOPs > 0 && work.Bytes() > 0
}

func (l *Lesson) stages() float64 { return float64(l.steps.Clock.Stages()) }

// batching explains that one reading of the weights serves many sequences.
func (l *Lesson) batching(p *doc.Blocks) {
	heading(p, "Many users at once")
	var rows [][]string
	room := l.steps.Room(l.context + 1)
	most := 1
	for _, batch := range l.batches(room) {
		if batch > room {
			rows = append(rows, []string{strconv.Itoa(batch), "does not fit", "–", "–", "–"})
			continue
		}
		most = batch
		d := l.decode(batch)
		step, took, intensity := d.Ledger.Sum(), d.Ledger.Time().Seconds(), "–"
		if step.FLOPs > 0 && step.Bytes() > 0 {
			intensity = units.Figure(step.Intensity())
		}
		rows = append(rows, []string{
			strconv.Itoa(batch), units.FormatDuration(took), units.Figure(d.Given / took),
			units.Figure(float64(batch) * d.Given / took), intensity,
		})
	}
	p.Table([]string{"batch", "a step takes", "tokens/s a user", "tokens/s in all", "FLOP/byte"},
		rows)
	p.Gap()
	if most == 1 {
		say(p, "One reading of the weights could serve a whole batch, but the KV memory has room "+
			"for only %s (of %s tokens).", units.Counted(float64(room), "context"),
			units.Count(l.context))
		return
	}
	one, many := l.perToken(1), l.perToken(most)
	say(p, "One reading of the weights serves the whole batch: %d users get %s times the tokens "+
		"of one, and each waits %s times as long for the next (contexts of %s tokens; the KV "+
		"memory has room for %s of them). Only the KV caches cannot be shared, since each user "+
		"has one.", most, units.Times(float64(most)*one/many), units.Times(many/one),
		units.Count(l.context), units.Count(room))
}

// perToken returns the seconds for each token of a user in a batch.
func (l *Lesson) perToken(batch int) float64 {
	d := l.decode(batch)
	return d.Ledger.Time().Seconds() / d.Given
}

// batches are the sizes to show: some that are usual, and the largest that fits where that lies
// between them.
func (l *Lesson) batches(room int) []int {
	list := []int{1, 8, 64, 256}
	if room > 0 && room < 256 {
		list = append(list, room)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// prefill explains that a prompt is a batch of its own.
func (l *Lesson) prefill(p *doc.Blocks) {
	step := l.steps.Prompt(l.prompt)
	took, w := step.Time().Seconds(), step.Sum()
	heading(p, "The prompt")
	if !l.known() {
		say(p, "The tokens of a prompt are known, and go through the model together: %s of them "+
			"take %s, %s for each token against %s when decoding.", units.Count(l.prompt),
			units.FormatDuration(took), units.FormatDuration(took/float64(l.prompt)),
			units.FormatDuration(l.perToken(1)))
		return
	}
	flops, bandwidth := l.steps.Clock.Peaks()
	bound := fmt.Sprintf("Prefill is bound by %s, while decode is bound by %s.",
		bindingWords(step), bindingWords(l.decode(1).Ledger))
	if ridge := flops / bandwidth; w.Intensity() < ridge && w.Bound == steptime.Memory {
		bound = fmt.Sprintf("A prompt as short as this is still bound by memory: the ridge is at "+
			"%s.", units.Figure(ridge))
	}
	say(p, "The tokens of a prompt are known, and go through the model together: %s of them do "+
		"%s FLOP for each byte and take %s, %s for each token against %s when decoding. %s",
		units.Count(l.prompt), units.Figure(w.Intensity()), units.FormatDuration(took),
		units.FormatDuration(took/float64(l.prompt)), units.FormatDuration(l.perToken(1)), bound)
}

// bindingWords names what takes most of the time of a step.
func bindingWords(ops steptime.Ledger) string {
	switch b, _ := ops.Binding(); b {
	case steptime.Compute:
		return "arithmetic"
	case steptime.Memory:
		return "memory"
	default:
		return diagnosis.BoundWords(b)
	}
}

// kvCache explains the size of the KV cache.
func (l *Lesson) kvCache(p *doc.Blocks) {
	m := l.steps.Model
	token := float64(m.KVBytesPerToken(l.kv))
	heading(p, "The KV cache")
	say(p, "The keys and values of every token are kept, so that they need not be computed again: "+
		"%s a token (%s), %s for a context of %s.", units.FormatBytes(token), l.kv,
		units.FormatBytes(float64(m.KVBytesOfSequence(l.context, l.kv, 1))), units.Count(l.context))
	if heads, all := m.MultiHead(l.kv); all > token {
		say(p, "With a key and a value for each of its %d query heads it would be %s: this model "+
			"keeps %s times less.", heads, units.FormatBytes(all), units.Times(all/token))
	}
	weights := float64(m.StreamedBytes(l.weights))
	say(p, "The cache is larger than the weights when more than %s tokens are kept: %s with %s "+
		"tokens each. From there on, a step mostly reads the cache, and larger batches help "+
		"little. There is room for %s tokens here.",
		units.Figure(weights/token), units.Counted(weights/token/float64(l.context), "user"),
		units.Count(l.context), units.Count(l.steps.Memory.Tokens))
}

// twoLatencies explains TTFT and TPOT.
func (l *Lesson) twoLatencies(p *doc.Blocks) {
	request, token := l.steps.Clock.RequestLatency()
	frontEnd := request.Seconds() + float64(l.prompt)*token.Seconds()
	prefill := l.steps.Prompt(l.prompt).Time().Seconds()
	of, way := &l.steps.Scenario, ""
	trip := sim.Time(cmp.Or(of.Fleet.RoundTrip, of.Engine.Factors.RoundTrip)).Seconds()
	if trip > 0 {
		way = fmt.Sprintf(" + %s on the way from the user and back", units.FormatDuration(trip))
	}
	heading(p, "Two latencies")
	say(p, "TTFT, the time to first token, is queueing + prefill + front end. The step that "+
		"computes the last token of the prompt also gives the first token of the answer, so that "+
		"no decode step is in it (some lectures count “queue + prefill + one decode”). The "+
		"front end takes the request in, splits the prompt into tokens, and sends the token. A "+
		"prompt of %s that is alone takes %s + %s%s = %s. Users notice TTFT while they wait for "+
		"an answer to begin. It grows with the prompt and with the queue.",
		units.Counted(float64(l.prompt), "token"),
		units.FormatDuration(prefill), units.FormatDuration(frontEnd), way,
		units.FormatDuration(prefill+frontEnd+trip))
	say(p, "TPOT, the time per output token, is the mean time between two tokens of an answer: "+
		"the time of a step, over the tokens that it gives where drafts are accepted. Users who "+
		"read along notice it above about 50 ms. It grows with the batch, and with the prompts "+
		"of others in the same steps.")
	say(p, "A larger batch lowers the price of a token and raises TPOT. A prompt that is served "+
		"at once has a lower TTFT, but delays the next token of all other users. A scheduler "+
		"must choose between these.")
}
