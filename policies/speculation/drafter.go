package speculation

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// Drafter predicts the cost of drafting.
type Drafter interface {
	// Duration returns the time that the drafting described by l takes.
	Duration(l *Load) sim.Time
	// FLOPs returns the number of floating-point operations of this drafting.
	FLOPs(l *Load) float64
}

// Fork returns another drafter with the same costs, which another goroutine may use.
func Fork(d Drafter) Drafter {
	switch d := d.(type) {
	case *Model:
		fork := *d
		fork.clock = d.clock.Fork()
		return &fork
	case *Heads:
		fork := *d
		fork.with, fork.without = d.with.Fork(), d.without.Fork()
		return &fork
	}
	return d
}

// Load describes the drafting of a step.
type Load struct {
	// Sequences is the number of drafting sequences in each pass: those with drafts of at least 1,
	// 2, … tokens in a row.
	Sequences []int
	// Expanded is the number of tokens of a sequence that each pass computes, see Draft.
	Expanded []int
	// Behind is the number of tokens of these sequences that the drafter has not computed yet,
	// without the newest token of each.
	Behind int
	// Context is the sum of the contexts of these sequences.
	Context int64
	// Prefill lists the prompt chunks of the step, which a drafter with a KV cache of its own
	// computes too.
	Prefill []sim.Chunk
}

// Model is a drafter that is run once for each token in a row: a smaller model, an EAGLE or MTP
// head, or some layers of the model itself.
type Model struct {
	clock       *steptime.Clock
	sharesCache bool
	perToken    float64 // FLOPs
	perPair     float64 // of a query and a key
}

// NewModel returns the drafter whose passes take the clock's time. If sharesCache is true, it uses
// the KV cache of the model, and need not compute prompts and accepted tokens.
func NewModel(clock *steptime.Clock, sharesCache bool) *Model {
	none := clock.Work(&sim.Step{Decodes: 1, DecodeTokens: 1}).FLOPs
	return &Model{
		clock: clock, sharesCache: sharesCache, perToken: none,
		perPair: clock.Work(&sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1}).FLOPs - none,
	}
}

// Duration implements Drafter. The passes come one after another. The first pass also computes the
// tokens that the drafter has not computed yet.
func (m *Model) Duration(l *Load) sim.Time {
	var t sim.Time
	var step sim.Step // filled in place, which is quicker than copied
	for pass := range max(1, len(l.Sequences)) {
		if m.pass(l, pass, &step); step.Decodes > 0 || len(step.Prefill) > 0 {
			t += m.clock.Duration(&step)
		}
	}
	return t
}

// FLOPs implements Drafter.
func (m *Model) FLOPs(l *Load) float64 {
	tokens, pairs := 0.0, 0.0
	var step sim.Step
	for pass := range max(1, len(l.Sequences)) {
		m.pass(l, pass, &step)
		tokens += float64(step.Tokens())
		if step.Decodes > 0 {
			pairs += float64(float64(step.Context) * float64(step.DecodeTokens) / float64(
				step.Decodes))
		}
		for i := range step.Prefill {
			n, cached := float64(step.Prefill[i].New), float64(step.Prefill[i].Cached)
			pairs += float64(n * (cached + (n+1)/2))
		}
	}
	return float64(m.perToken*tokens) + float64(m.perPair*pairs)
}

// pass fills in the step of the drafter in a pass, counted from 0.
func (m *Model) pass(l *Load, pass int, step *sim.Step) {
	step.Decodes, step.DecodeTokens, step.Context, step.Prefill = 0, 0, 0, nil
	if pass == 0 && !m.sharesCache {
		step.Prefill = l.Prefill
	}
	if pass >= len(l.Sequences) || l.Sequences[pass] == 0 {
		return
	}
	n := l.Sequences[pass]
	step.Decodes, step.DecodeTokens = n, n*l.Expanded[pass]
	if pass == 0 && !m.sharesCache {
		step.DecodeTokens += l.Behind
	}
	step.Context = l.Context + int64(pass*n+step.DecodeTokens)
	if all := l.Sequences[0]; n < all {
		step.Context += l.Context*int64(n)/int64(all) - l.Context
	}
}

// Heads is a drafter with several output heads on top of the model (Medusa: Cai et al., ICML 2024,
// arXiv:2401.10774). All heads guess at once, one for each place after the next token. Its small
// residual blocks are left out.
type Heads struct {
	with, without *steptime.Clock
	flops         float64 // of a head and row
}

// NewHeads returns the drafter. The time of a head is the difference between the clocks of a model
// with its output head and of the same model with nearly no output head.
func NewHeads(with, without *steptime.Clock) *Heads {
	row := sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1}
	return &Heads{with: with, without: without,
		flops: with.Work(&row).FLOPs - without.Work(&row).FLOPs}
}

// Duration implements Drafter.
func (h *Heads) Duration(l *Load) sim.Time {
	n := l.rows()
	if n == 0 {
		return 0
	}
	step := sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n)}
	return sim.Time(l.depth()) * max(0, h.with.Duration(&step)-h.without.Duration(&step))
}

// FLOPs implements Drafter.
func (h *Heads) FLOPs(l *Load) float64 { return float64(l.depth()) * float64(l.rows()) * h.flops }

// Lookup is a drafter that searches the text so far for the newest tokens, and proposes the tokens
// that followed them there. This is called n-gram or prompt look-up decoding (Saxena 2023; Yang et
// al. 2023, arXiv:2304.04487).
type Lookup struct {
	// Token is the host's time for each token of the searched texts.
	Token sim.Time
}

// Duration implements Drafter.
func (k Lookup) Duration(l *Load) sim.Time {
	if l.rows() == 0 {
		return 0
	}
	return k.Token * sim.Time(l.Context)
}

// FLOPs implements Drafter.
func (k Lookup) FLOPs(*Load) float64 { return 0 }

// draft sets the load to n sequences that all draft the same number of tokens in a row.
func (l *Load) draft(tokens, n int, context int64, behind int) {
	for pass := range tokens {
		l.Sequences[pass] = n
	}
	l.Context, l.Behind = context, behind
}

// rows returns the number of sequences that draft.
func (l *Load) rows() int {
	if len(l.Sequences) == 0 {
		return 0
	}
	return l.Sequences[0]
}

// depth returns the largest number of tokens drafted in a row.
func (l *Load) depth() int {
	n := len(l.Sequences)
	for n > 0 && l.Sequences[n-1] == 0 {
		n--
	}
	return n
}
