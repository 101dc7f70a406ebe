package crosscheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	policy "github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// drafts is a draft model that runs.
type drafts struct {
	host          *calibration.Machine
	target, draft *engine.Engine
	name          string
	tokens        int // drafted in a row at most
}

// plainSampling draws tokens as they are. Of two models with random weights most drafted tokens are
// then accepted, since both spread their probability rather evenly.
func plainSampling() generate.SamplingParams { return generate.SamplingParams{Temperature: 1} }

// checkDrafts refuses drafts that are not executed.
func checkDrafts(sp *scenarios.Speculation) error {
	if sp != nil && (sp.Method != "draft-model" || sp.Accelerator != "" || sp.Tree != nil) {
		return scenarios.BadInput(
			errors.New("speculation: the engine executes chains of drafts by a draft-model that " +
				"shares the processor, and nothing else"))
	}
	return nil
}

// newDrafts readies the draft model of a scenario.
func newDrafts(ctx context.Context, s *scenarios.Simulation, host *calibration.Machine,
	target *engine.Engine, blocks int) (*drafts, error) {
	sp := s.Scenario.Speculation
	d := &drafts{host: host, target: target, name: s.DraftModel().Name, tokens: sp.Tokens}
	var err error
	weights := cmp.Or(hardware.DType(sp.Weights), s.DraftModel().DType)
	if d.draft, err = newEngine(ctx, host, s.DraftModel(), weights,
		blocks); err != nil {
		return nil, fmt.Errorf("speculation.draft: %w", err)
	}
	return d, nil
}

func (d *drafts) close() error { return d.draft.Close() }

// decoder returns a new decoder, whose choices the seed determines.
func (d *drafts) decoder(seed uint64) (*generate.Decoder, error) {
	drafter, err := generate.NewModelDrafter(d.name, d.draft, plainSampling())
	if err != nil {
		return nil, err
	}
	return generate.NewDecoder(d.target, drafter,
		generate.DecoderOptions{Gamma: d.tokens, Sampling: plainSampling(), Seed: seed})
}

// draftMeasurement is what the prediction is told about drafts.
type draftMeasurement struct {
	// Table says how many drafted tokens are accepted.
	generate.AcceptanceTable
	// sampling is the time of choosing tokens for a sequence in a step with drafts, beyond the time
	// of choosing the most likely ones, which is part of every step that is predicted.
	sampling sim.Time
}

// The texts that acceptance is measured on: random prompts, which no scenario has.
const (
	measuredStreams = 8
	measuredTexts   = 8 // one after another a stream
	measuredPrompt  = 16
	measuredTokens  = 32
	measuringSeed   = 99
)

// measure decodes some texts with drafts, and times the choice of tokens.
func (d *drafts) measure(ctx context.Context) (*draftMeasurement, error) {
	decoder, err := d.decoder(measuringSeed)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(measuringSeed, 1))
	var times []float64
	for range measuredTexts {
		if err := errors.Join(ctx.Err(), d.decode(decoder, random)); err != nil {
			return nil, err
		}
		if times, err = d.timeSampling(times); err != nil {
			return nil, err
		}
	}
	return &draftMeasurement{decoder.Table(), sim.Seconds(calibration.Median(times))}, nil
}

// decode continues a batch of random prompts.
func (d *drafts) decode(decoder *generate.Decoder, random *rand.Rand) error {
	var streams []*generate.Stream
	defer func() {
		for _, s := range streams {
			decoder.Stop(s)
		}
	}()
	for range measuredStreams {
		prompt := make([]int32, measuredPrompt)
		for i := range prompt {
			prompt[i] = int32(random.IntN(d.target.Model().Config.Vocab))
		}
		s, err := decoder.Start(prompt)
		if err != nil {
			return err
		}
		streams = append(streams, s)
	}
	// Texts that accept little take more steps, as they do when they are served.
	for running := slices.Clone(streams); len(running) > 0; {
		if err := decoder.Step(running); err != nil {
			return err
		}
		running = slices.DeleteFunc(running, func(s *generate.Stream) bool {
			return s.Len() >= measuredPrompt+measuredTokens
		})
	}
	return nil
}

// timeSampling appends some times, in seconds, of what a step with drafts chooses for a sequence:
// distributions of all drafted tokens, of both models, and of the token after them; and a draw of
// each drafted token, and of the last. Finding the most likely ones is left out.
func (d *drafts) timeSampling(times []float64) ([]float64, error) {
	sampler, err := generate.NewSampler(plainSampling())
	if err != nil {
		return nil, err
	}
	p := make([]float64, d.target.Model().Config.Vocab)
	logits := d.target.Logits(0)
	for range 5 {
		begin := d.host.Now()
		if err := sampler.Distribution(p, logits); err != nil {
			return nil, err
		}
		computed := d.host.Now()
		generate.Draw(p, 0.5)
		drawn := d.host.Now()
		likeliest(logits)
		found := d.host.Now() - drawn
		distributions, draws := float64(2*d.tokens+1), float64(d.tokens+1)
		times = append(times, distributions*(computed-begin-found).Seconds()+
			draws*(drawn-computed).Seconds())
	}
	return times, nil
}

// likeliest returns the token with the largest logit.
func likeliest(logits []float32) int {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return best
}

// into returns the scenario with what was measured in place of what it says.
func (m *draftMeasurement) into(f *scenarios.File) *scenarios.File {
	with := *f
	sp := *f.Scenario.Speculation
	sp.Acceptance = scenarios.Acceptance{Law: "by-position"}
	for _, p := range m.Positions {
		sp.Acceptance.Positions = append(sp.Acceptance.Positions, p.Rate)
	}
	sp.Overhead.Sequence = scenarios.Span(m.sampling)
	with.Scenario.Speculation = &sp
	return &with
}

// executedDrafts is a sim.Speculator whose drafts are made and verified by the engine. How many
// tokens are drafted when is up to the predicting one.
type executedDrafts struct {
	*policy.Speculator
	clock   *engine.Clock
	serving *generate.Serving
	log     *stepLog
}

// Duration implements sim.Speculator.
func (d *executedDrafts) Duration(step *sim.Step, verify sim.Time) sim.Time {
	d.Speculator.Duration(step, verify) // which books the arithmetic
	d.log.noteDrafts(d.Load(), d.clock.DraftTime())
	return verify + d.clock.DraftTime()
}

// Accept implements sim.Speculator.
func (d *executedDrafts) Accept(s *sim.Sequence, _ int) int {
	n := d.serving.Accepted(d.clock.Sequence(s.ID))
	d.Settle(s, n)
	return n
}
