package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/scenarios"
)

// wrong is by how much inputs are changed.
const wrong = 0.10

// contender is by how much more than the answer an option may cost, by its bound, to be looked at
// again with other inputs.
const contender = 1.4

// perturbation is an input that may be other than the plan says.
type perturbation struct {
	input string
	plan  func(p *Plan)
	price func(o *option)
}

// sensitivity answers the plan again with each input 10 % other than it is.
func (s *search) sensitivity(ctx context.Context) ([]Sensitivity, error) {
	inputs := s.perturbations()
	list := make([]Sensitivity, len(inputs))
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range inputs {
		if !s.trials.shard.Mine(i) {
			continue
		}
		other, err := s.perturbed(p)
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			if err := other.answer(ctx); err != nil {
				return err
			}
			list[i] = s.compared(p.input, other)
			return nil
		})
	}
	return list, group.Wait()
}

// compared says what another answer is in words.
func (s *search) compared(input string, other *search) Sensitivity {
	switch {
	case other.best < 0:
		return Sensitivity{input, true, "no option meets the SLO"}
	case other.chosen().label != s.chosen().label:
		return Sensitivity{input, true, several(other.size(), "replica") + " of " + other.chosen().label}
	case other.size() != s.size():
		return Sensitivity{input, true, fmt.Sprintf("%s instead of %d", several(other.size(), "replica"), s.size())}
	}
	return Sensitivity{input, false, "the same"}
}

// perturbed returns a search among the options that may win, with other inputs.
func (s *search) perturbed(p perturbation) (*search, error) {
	f := &File{Plan: s.trials.file.Plan, name: s.trials.file.name}
	f.Plan.Workload.Classes = slices.Clone(f.Plan.Workload.Classes)
	if p.plan != nil {
		p.plan(&f.Plan)
	}
	trials := *s.trials
	trials.file = f
	var options []*option
	for i, o := range s.options {
		if s.fates[i].kind == unfit || float64(s.fewest(o)+s.spare)*o.price > contender*s.cost() {
			continue
		}
		again := *o
		again.scenario.Workload, again.scenario.SLO = f.Plan.Workload, f.Plan.SLO
		again.index, again.floor = len(options), ""
		options = append(options, &again)
	}
	other, err := f.prepared(options, &trials)
	if err != nil {
		return nil, err
	}
	other.seeds = fewSeeds
	for _, o := range other.options {
		if p.price != nil {
			p.price(o)
		}
	}
	return other, nil
}

// perturbations lists the inputs that may be wrong.
func (s *search) perturbations() []perturbation {
	const more, less = 1 + wrong, 1 - wrong
	list := []perturbation{
		{input: "rate +10 %", plan: func(p *Plan) { p.scaleRate(more) }},
		{input: "rate −10 %", plan: func(p *Plan) { p.scaleRate(less) }},
	}
	if s.trials.file.Plan.Workload.Trace == nil {
		list = append(list,
			perturbation{input: "prompts 10 % longer", plan: func(p *Plan) { p.scaleLengths(more, 1) }},
			perturbation{input: "prompts 10 % shorter", plan: func(p *Plan) { p.scaleLengths(less, 1) }},
			perturbation{input: "answers 10 % longer", plan: func(p *Plan) { p.scaleLengths(1, more) }},
			perturbation{input: "answers 10 % shorter", plan: func(p *Plan) { p.scaleLengths(1, less) }})
	}
	// Steps that take 10 % longer are the same as time that runs 10 % faster for everybody else.
	list = append(list,
		perturbation{input: "steps 10 % slower", plan: func(p *Plan) { p.scaleRate(more); p.scaleLimits(1 / more) }},
		perturbation{input: "steps 10 % faster", plan: func(p *Plan) { p.scaleRate(less); p.scaleLimits(1 / less) }})
	mine := s.chosen().offer.Accelerator
	list = append(list, perturbation{input: mine + " 10 % dearer", price: func(o *option) {
		if o.offer.Accelerator == mine {
			o.price *= more
		}
	}})
	for i := range s.trials.file.Plan.Menu.Hardware {
		if name := s.trials.file.Plan.Menu.Hardware[i].Accelerator; name != mine {
			list = append(list, perturbation{input: name + " 10 % cheaper", price: func(o *option) {
				if o.offer.Accelerator == name {
					o.price *= less
				}
			}})
		}
	}
	return list
}

func (p *Plan) scaleRate(by float64) {
	r := &p.Workload.Rate
	r.Value *= scenarios.PerSecond(by)
	r.Average *= scenarios.PerSecond(by)
}

func (p *Plan) scaleLimits(by float64) {
	scale := func(s *scenarios.SLO) {
		for _, limits := range []*scenarios.Limits{&s.TTFT, &s.TPOT, &s.ITL, &s.E2E} {
			*limits = limits.Scaled(by)
		}
	}
	scale(&p.SLO)
	for i := range p.Workload.Classes {
		scale(&p.Workload.Classes[i].SLO)
	}
}

func (p *Plan) scaleLengths(prompt, output float64) {
	w := &p.Workload
	w.Prompt, w.Output = w.Prompt.Scaled(prompt), w.Output.Scaled(output)
	for i := range w.Classes {
		c := &w.Classes[i]
		c.Prompt, c.Output = c.Prompt.Scaled(prompt), c.Output.Scaled(output)
	}
}
