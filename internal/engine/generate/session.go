// Package generate continues texts with GPT-2: it opens models and tokenizer, draws tokens, decodes
// with or without drafts, and writes text as it comes.
package generate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/text"
)

// Settings says which model continues texts, and how.
type Settings struct {
	// Weights is the model's folder.
	Weights string
	// Format is the storage format of weights. KVHeads merges key and value heads; 0 keeps them.
	Format  kernels.Format
	KVHeads int
	// Threads is the number of threads; 0 means one a processor.
	Threads int
	// NoCache computes the whole text again for every token, and NaiveAttention all scores at once:
	// the costs of doing without a KV cache and without tiling.
	NoCache, NaiveAttention bool
	// Sampling shapes the distribution of the next token; Seed determines the choices.
	Sampling SamplingParams
	Seed     uint64
	// Draft says what drafts tokens; nothing by default.
	Draft Draft
	// Streams is the number of texts that Measure continues at once; 0 where it is not called.
	Streams int
}

// Draft says what drafts tokens: at most one of Weights, Layers and NGram is set.
type Draft struct {
	// Weights is the folder of a smaller model with the same vocabulary.
	Weights string
	// Layers are the layers of the model itself that are used.
	Layers []int
	// NGram is the longest run of tokens that is looked up in the text so far.
	NGram int
	// Gamma is the number of drafted tokens a step.
	Gamma     int
	Algorithm Algorithm
}

// Active reports whether any tokens are drafted.
func (d Draft) Active() bool { return d.Weights != "" || len(d.Layers) > 0 || d.NGram > 0 }

func (d Draft) check() error {
	kinds := 0
	for _, set := range []bool{d.Weights != "", len(d.Layers) > 0, d.NGram > 0} {
		if set {
			kinds++
		}
	}
	if kinds > 1 {
		return errors.New("tokens can be drafted by a model, by layers of the model itself or by " +
			"look-up, by one of them at a time")
	}
	if d.NGram < 0 {
		return fmt.Errorf("look-up of %d tokens: at least 1 is needed", d.NGram)
	}
	return nil
}

// Session holds what is open.
type Session struct {
	settings Settings
	engine   *engine.Engine
	words    *text.Tokenizer // nil without one
	noWords  error           // why
	decoder  *Decoder        // nil without drafts
	close    []func() error
}

// Open loads the models.
func Open(s Settings) (*Session, error) {
	if err := errors.Join(s.Draft.check(), s.Sampling.Check()); err != nil {
		return nil, err
	}
	if s.NoCache && s.Draft.Active() {
		return nil, errors.New(
			"drafted tokens are verified with the KV cache: leave one of the two out")
	}
	session := &Session{settings: s}
	if err := session.open(); err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

func (s *Session) open() error {
	o := s.settings
	model, err := s.load(o.Weights, o.KVHeads)
	if err != nil {
		return err
	}
	s.words, s.noWords = text.ForModel(o.Weights, model.Config.Vocab)
	s.engine, err = s.start(model,
		engine.Options{Threads: o.Threads, NaiveAttention: o.NaiveAttention,
			Blocks: s.blocks(model), PrefixCaching: true})
	if err != nil || !o.Draft.Active() {
		return err
	}
	drafter, err := s.drafter(model)
	if err != nil {
		return err
	}
	s.decoder, err = NewDecoder(s.engine, drafter, DecoderOptions{
		Gamma: o.Draft.Gamma, Algorithm: o.Draft.Algorithm, Sampling: o.Sampling, Seed: o.Seed,
	})
	return err
}

// blocks returns the KV blocks that the texts continued at once take at most.
func (s *Session) blocks(m *gpt2.Model) int {
	return max(s.settings.Streams,
		1) * ((m.Config.Context + gpt2.BlockTokens - 1) / gpt2.BlockTokens)
}

// load reads a model that is closed with the session.
func (s *Session) load(dir string, kvHeads int) (*gpt2.Model, error) {
	m, err := gpt2.Load(dir, gpt2.Options{Format: s.settings.Format, KVHeads: kvHeads})
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, m.Close)
	return m, nil
}

// start makes an engine that is closed with the session.
func (s *Session) start(m *gpt2.Model, o engine.Options) (*engine.Engine, error) {
	e, err := engine.New(m, o)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, e.Close)
	return e, nil
}

func (s *Session) drafter(target *gpt2.Model) (Drafter, error) {
	d := s.settings.Draft
	if d.NGram > 0 {
		return NGram{Longest: d.NGram, Shortest: 1}, nil
	}
	var model *gpt2.Model
	var err error
	name := d.Weights
	if d.Weights != "" {
		model, err = s.load(d.Weights, 0)
	} else {
		model, err = target.Keep(d.Layers)
		name = "layers-" + strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Layers), " ", ","), "[]")
	}
	if err != nil {
		return nil, err
	}
	if model.Config.Vocab != target.Config.Vocab || model.Config.Context < target.Config.Context {
		return nil, fmt.Errorf(
			"the draft has a vocabulary of %d and a context of %d; the model's are %d and %d, "+
				"and the draft's must not be smaller",
			model.Config.Vocab, model.Config.Context, target.Config.Vocab, target.Config.Context)
	}
	e, err := s.start(model, engine.Options{Pool: s.engine.Pool(), Blocks: s.blocks(model),
		PrefixCaching: true})
	if err != nil {
		return nil, err
	}
	return NewModelDrafter(name, e, s.settings.Sampling)
}

// Close frees everything.
func (s *Session) Close() error {
	var err error
	for i := len(s.close) - 1; i >= 0; i-- {
		err = errors.Join(err, s.close[i]())
	}
	s.close = nil
	return err
}

// Encode returns the tokens of a prompt.
func (s *Session) Encode(prompt string) ([]int32, error) {
	if s.words == nil {
		return nil, fmt.Errorf("%w; prompts can be given as token numbers", s.noWords)
	}
	return s.words.Encode(prompt)
}

// Table returns the acceptance measured so far; false without drafts.
func (s *Session) Table() (AcceptanceTable, bool) {
	if s.decoder == nil {
		return AcceptanceTable{}, false
	}
	return s.decoder.Table(), true
}
