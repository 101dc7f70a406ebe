package serve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// Executor is a sim.StepClock that computes steps with GPT-2, so that answers are the model's: the
// most likely token at each place. The scheduler and the memory around it are the simulator's.
type Executor struct {
	model    *gpt2.Model
	engine   *engine.Engine
	words    *text.Tokenizer
	encoding sync.Mutex // of words, which serve one goroutine at a time
	most     int        // sequences in a batch
	started  map[int64]*engine.Sequence
	job      func(id int64) *Job
	// before is called before a step is computed, and began returns when the step is to begin: the
	// simulation comes to it a little later, which is a part of the step.
	before func()
	began  func() time.Time
	chunks []engine.Chunk
	rows   []row
	err    error
}

// row is whose next token a row of logits gives.
type row struct {
	job      *Job
	sequence *engine.Sequence
}

// OpenExecutor loads the model of a folder for batches of at most that many sequences.
func OpenExecutor(weights string, sequences, threads int) (*Executor, error) {
	model, err := gpt2.Load(weights, gpt2.Options{})
	if err != nil {
		return nil, err
	}
	words, err := text.ForModel(weights, model.Config.Vocab)
	if err != nil {
		model.Close()
		return nil, err
	}
	x := &Executor{model: model, words: words, most: sequences,
		started: map[int64]*engine.Sequence{}}
	x.engine, err = engine.New(model, engine.Options{Blocks: x.blocks(), Threads: threads})
	if err != nil {
		model.Close()
		return nil, err
	}
	return x, nil
}

// Close frees the model.
func (x *Executor) Close() error {
	if err := x.engine.Close(); err != nil {
		return err
	}
	return x.model.Close()
}

// blocks returns the KV blocks with which no sequence has to wait for memory.
func (x *Executor) blocks() int {
	return x.most * ((x.model.Config.Context + gpt2.BlockTokens - 1) / gpt2.BlockTokens)
}

// stepTokens bounds the prompt tokens of a step, so that long prompts do not stop sequences that
// decode.
const stepTokens = 256

// Simulation returns a fleet of one replica, whose steps are computed by x.
func (x *Executor) Simulation() (sim.Config, error) {
	scheduler, err := batching.NewVLLMV1(x.most, max(stepTokens, x.most), 0)
	if err != nil {
		return sim.Config{}, err
	}
	kv, err := memory.NewPaged(int64(x.blocks()), gpt2.BlockTokens)
	if err != nil {
		return sim.Config{}, err
	}
	replica := sim.ReplicaConfig{Scheduler: scheduler, Memory: kv, Clock: x,
		MaxContext: x.model.Config.Context}
	return sim.Config{Router: &routing.RoundRobin{}, Replicas: []sim.ReplicaConfig{replica}}, nil
}

// Duration implements sim.StepClock: it computes the step and returns how long that took, from when
// the step was to begin.
func (x *Executor) Duration(s *sim.Step) sim.Time {
	begin := time.Now()
	if x.before != nil {
		x.before()
		begin = x.began()
	}
	if x.err == nil {
		x.err = x.step(s)
	}
	return max(sim.Time(time.Since(begin))*sim.Nanosecond, sim.Tick)
}

func (x *Executor) step(s *sim.Step) error {
	x.chunks, x.rows = x.chunks[:0], x.rows[:0]
	if s.Sequences != nil {
		for q := range s.Sequences {
			if err := x.add(q, q.Context(), 1, true); err != nil {
				return err
			}
		}
	}
	for i := range s.Prefill {
		if c := &s.Prefill[i]; c.Sequence != nil {
			if err := x.add(c.Sequence, c.Cached, c.New, c.Last); err != nil {
				return err
			}
		}
	}
	if len(x.chunks) == 0 {
		return nil
	}
	if err := x.engine.Step(x.chunks); err != nil {
		return err
	}
	for i, r := range x.rows {
		logits := x.engine.Logits(i)
		token := likeliest(logits)
		r.job.generated = append(r.job.generated, token)
		if r.job.Logprobs >= 0 {
			r.job.logprobs = append(r.job.logprobs, logprobsOf(logits, token, r.job.Logprobs,
				func(t text.Token) string { return pieceOf(x, t) }))
		}
		if r.sequence.Len() < x.model.Config.Context {
			if err := r.sequence.Append(token); err != nil {
				return err
			}
		}
	}
	return nil
}

// add puts n tokens of a sequence into the step, after those cached.
func (x *Executor) add(q *sim.Sequence, cached, n int, samples bool) error {
	s := x.started[q.ID]
	j := x.job(q.ID)
	if s == nil {
		if j == nil {
			return fmt.Errorf("request %d is nobody's", q.ID)
		}
		var err error
		if s, err = x.engine.Start(j.Prompt); err != nil {
			return err
		}
		x.started[q.ID] = s
	}
	if s.Cached() > cached {
		s.Evict(cached)
	}
	chunk := engine.Chunk{Sequence: s, New: n}
	if samples && j != nil {
		chunk.Logits = 1
		x.rows = append(x.rows, row{j, s})
	}
	x.chunks = append(x.chunks, chunk)
	return nil
}

// release frees what a request holds.
func (x *Executor) release(id int64) {
	if s := x.started[id]; s != nil {
		s.Free()
		delete(x.started, id)
	}
}

// ends reports whether a token ends a text.
func (x *Executor) ends(t text.Token) bool { return int(t) == x.model.Config.EndOfText }

// Encode implements Vocabulary.
func (x *Executor) Encode(s string) ([]text.Token, error) {
	x.encoding.Lock()
	defer x.encoding.Unlock()
	return x.words.Encode(s)
}

// Decode implements Vocabulary.
func (x *Executor) Decode(tokens []text.Token) (string, error) {
	x.encoding.Lock()
	defer x.encoding.Unlock()
	var all []byte
	for _, t := range tokens {
		piece, err := x.words.Decode(t)
		if err != nil {
			return "", err
		}
		all = append(all, piece...)
	}
	return string(all), nil
}

// likeliest returns the token with the largest logit.
func likeliest(logits []float32) text.Token {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return text.Token(best)
}

// logprobsOf returns the log-probabilities of a token among logits, with a number of the likeliest.
// spell returns the text of a token.
func logprobsOf(logits []float32, chosen text.Token, alternatives int,
	spell func(text.Token) string) openai.TokenLogprobs {
	highest := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - highest)
	}
	whole := highest + math.Log(sum)
	of := func(t text.Token) openai.TokenLogprob {
		return openai.TokenLogprob{Text: spell(t), Logprob: float64(logits[t]) - whole}
	}
	var top []text.Token
	for t, v := range logits { // an insertion sort: alternatives are few
		if n := len(top); n < alternatives || n > 0 && v > logits[top[n-1]] {
			top = append(top[:min(n, alternatives-1)], text.Token(t))
			slices.SortStableFunc(top, func(a, b text.Token) int {
				return cmp.Compare(logits[b], logits[a])
			})
		}
	}
	o := openai.TokenLogprobs{TokenLogprob: of(chosen)}
	for _, t := range top {
		o.Top = append(o.Top, of(t))
	}
	return o
}
