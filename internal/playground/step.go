package playground

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Chunk is a part of a prompt that a step computes: New tokens, after Cached ones whose keys and
// values are stored. Left tokens of the prompt come in later steps.
type Chunk struct {
	New    int `json:"new"`
	Cached int `json:"cached"`
	Left   int `json:"left"`
}

// Step is what one accelerator does in a step, as it is drawn: the ledger summed up by part, by
// kind of bytes and by kind of arithmetic. With pipeline stages, times are of the whole way through
// them, and work of one accelerator of each stage.
type Step struct {
	// Total is the time of the step in milliseconds: the sum of Parts.
	Total float64        `json:"ms"`
	Parts Parts          `json:"parts"`
	Bound steptime.Bound `json:"bound"`
	Bytes Bytes          `json:"bytes"`
	FLOP  FLOP           `json:"flop"`
	// Given is the mean number of tokens that a sequence which decodes gets from the step: 1
	// without drafts.
	Given  float64 `json:"given"`
	Memory Memory  `json:"memory"`
	// Fits reports whether the KV memory has room for what is stored after the step.
	Fits bool `json:"fits"`
	// Peak is in FLOP/s, Bandwidth in B/s, of one accelerator.
	Peak         float64     `json:"peak"`
	Bandwidth    float64     `json:"bandwidth"`
	Layers       int         `json:"layers"`
	Accelerators int         `json:"accelerators"`
	Operators    []Operation `json:"operators"`
}

// Bytes is what moves to and from the memory of an accelerator, and, as Sent, from it to others.
type Bytes struct {
	Weights     float64 `json:"weights"`
	KVRead      float64 `json:"kv_read"`
	KVWrite     float64 `json:"kv_write"`
	Scores      float64 `json:"scores"`
	Activations float64 `json:"activations"`
	Sent        float64 `json:"sent"`
}

// Sum returns what moves to and from memory.
func (b *Bytes) Sum() float64 {
	return b.Weights + b.KVRead + b.KVWrite + b.Scores + b.Activations
}

// FLOP is arithmetic by what it is for. Products are those with weights.
type FLOP struct {
	Products  float64 `json:"matmul"`
	Attention float64 `json:"attention"`
	Other     float64 `json:"other"`
}

// Sum returns the arithmetic of all kinds.
func (f *FLOP) Sum() float64 { return f.Products + f.Attention + f.Other }

// Operation is an operator of a step.
type Operation struct {
	Name  string         `json:"name"`
	Time  float64        `json:"ms"`
	Bound steptime.Bound `json:"bound"`
	Bytes float64        `json:"bytes"`
	FLOP  float64        `json:"flop"`
}

// Memory is where the memory of an accelerator goes, in bytes:
// Capacity = Weights + Reserved + KV + Unused.
type Memory struct {
	Capacity float64 `json:"capacity"`
	// Weights includes a drafter's and adapters.
	Weights float64 `json:"weights"`
	// Reserved is for activations, for the engine, and what the engine leaves to others.
	Reserved float64 `json:"reserved"`
	// KV is the room for keys and values, and KVTokens the tokens that it holds. Unused is memory
	// that stays free where the scenario bounds that room.
	KV       float64 `json:"kv_capacity"`
	KVTokens int     `json:"kv_tokens"`
	Unused   float64 `json:"unused"`
	// KVToken is what one token of a sequence takes, KVUsed what all sequences of the step take
	// after it, and Stored the tokens of these.
	KVToken float64 `json:"kv_token"`
	KVUsed  float64 `json:"kv_used"`
	Stored  int     `json:"kv_stored"`
	// BlockTokens is the number of tokens of a block.
	BlockTokens int `json:"block_tokens"`
}

// mostServers is how many servers are remembered.
const mostServers = 32

// Servers computes steps, and keeps the servers that were used last. The zero value is ready.
type Servers struct {
	known map[string]*scenarios.Steps
	asked []string // the keys of known, the last used one at the end
}

// Step returns the step in which a server with settings of the form key.path=value computes the
// prompts, and one token for each of decodes sequences, which store context tokens before it.
func (s *Servers) Step(settings []string, prompts []Chunk, decodes, context int) (*Step, error) {
	steps, err := s.server(settings)
	if err != nil {
		return nil, err
	}
	return newStep(steps, prompts, decodes, context), nil
}

// server returns the server with the settings.
func (s *Servers) server(settings []string) (*scenarios.Steps, error) {
	key := strings.Join(settings, "\x00")
	steps := s.known[key]
	if steps == nil {
		file, err := Load(settings)
		if err != nil {
			return nil, err
		}
		if steps, err = file.Steps(policies.Default()); err != nil {
			return nil, err
		}
		if len(s.asked) == mostServers {
			delete(s.known, s.asked[0])
			s.asked = s.asked[1:]
		}
		if s.known == nil {
			s.known = map[string]*scenarios.Steps{}
		}
		s.known[key] = steps
	} else {
		s.asked = slices.DeleteFunc(s.asked, func(k string) bool { return k == key })
	}
	s.asked = append(s.asked, key)
	return steps, nil
}

func newStep(s *scenarios.Steps, prompts []Chunk, decodes, context int) *Step {
	var chunks []sim.Chunk
	for _, p := range prompts {
		chunks = append(chunks, sim.Chunk{New: p.New, Cached: p.Cached, Last: p.Left == 0})
	}
	step := s.Step(chunks, decodes, context)
	flops, bandwidth := s.Clock.Peaks()
	n := float64(s.Scenario.Parallelism.Accelerators())
	work := step.Ledger.Sum()
	a := &Step{Total: milliseconds(work.Time), Parts: split(&work.Parts, work.Time),
		Bound: work.Bound, Bytes: bytesOf(&work), FLOP: flopOf(step.Ledger), Given: step.Given,
		Peak: flops / n, Bandwidth: bandwidth / n, Layers: s.Model.Layers(), Accelerators: int(n)}
	for i := range step.Ledger {
		o := &step.Ledger[i]
		a.Operators = append(a.Operators,
			Operation{o.Name, milliseconds(o.Time), o.Bound, o.Bytes(), o.FLOPs})
	}
	a.Memory = memoryOf(&s.Memory)
	blocks := a.store(&s.Memory, decodes, context+1)
	for _, p := range prompts {
		blocks += a.store(&s.Memory, 1, p.Cached+p.New)
	}
	a.Memory.KVUsed /= float64(s.Memory.Ranks)
	a.Fits = blocks*a.Memory.BlockTokens <= s.Memory.Tokens
	return a
}

// store adds the keys and values of n sequences, each with a number of tokens, and returns the
// blocks that they take.
func (a *Step) store(plan *steptime.MemoryPlan, n, tokens int) (blocks int) {
	a.Memory.Stored += n * tokens
	a.Memory.KVUsed += float64(n) * plan.State.Bytes(tokens)
	return n * ((tokens + plan.BlockTokens - 1) / plan.BlockTokens)
}

// memoryOf returns the memory of a server that stores nothing.
func memoryOf(plan *steptime.MemoryPlan) Memory {
	m := Memory{Capacity: plan.Total, Weights: plan.Weights + plan.Draft + plan.Adapters,
		Reserved: plan.Total - plan.Usable + plan.Activations + plan.Context, KV: plan.KV,
		KVTokens: plan.Tokens, KVToken: plan.KVBytesPerToken, BlockTokens: plan.BlockTokens}
	m.Unused = max(0, m.Capacity-m.Weights-m.Reserved-m.KV)
	return m
}

// bytesOf returns what operators move by kind.
func bytesOf(o *steptime.Operator) Bytes {
	return Bytes{Weights: o.Weights, KVRead: o.KV - o.Written, KVWrite: o.Written,
		Scores: o.Scores, Activations: o.Activations, Sent: o.Sent}
}

// flopOf returns the arithmetic of a step by what it is for.
func flopOf(l steptime.Ledger) (f FLOP) {
	for i := range l {
		switch o := &l[i]; {
		case strings.HasPrefix(o.Name, "attention_"):
			f.Attention += o.FLOPs
		case o.Weights > 0:
			f.Products += o.FLOPs
		default:
			f.Other += o.FLOPs
		}
	}
	return f
}
