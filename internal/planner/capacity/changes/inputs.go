package changes

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
)

// inputChange is by how much inputs are changed.
const inputChange = 0.10

// Input is an input that may be other than the plan says.
type Input struct {
	Name string
	// Harder is 1 where the plan then asks for more, −1 where it asks for less, and 0 where prices
	// change.
	Harder int
	Plan   func(p *menu.Plan)
	Price  func(o *candidate.Option)
}

// Inputs lists inputs that may be other by 10 % than a plan says, whose answer is of an
// accelerator.
func Inputs(p *menu.Plan, mine string) []Input {
	const more, less = 1 + inputChange, 1 - inputChange
	list := []Input{
		{Name: "rate +10 %", Harder: 1, Plan: func(p *menu.Plan) { p.ScaleRate(more) }},
		{Name: "rate −10 %", Harder: -1, Plan: func(p *menu.Plan) { p.ScaleRate(less) }},
	}
	if !p.Workload.Recorded() {
		list = append(list,
			Input{Name: "prompts 10 % longer", Harder: 1,
				Plan: func(p *menu.Plan) { p.ScaleLengths(more, 1) }},
			Input{Name: "prompts 10 % shorter", Harder: -1,
				Plan: func(p *menu.Plan) { p.ScaleLengths(less, 1) }},
			Input{Name: "answers 10 % longer", Harder: 1,
				Plan: func(p *menu.Plan) { p.ScaleLengths(1, more) }},
			Input{Name: "answers 10 % shorter", Harder: -1,
				Plan: func(p *menu.Plan) { p.ScaleLengths(1, less) }})
	}
	// Steps that take 10 % longer are the same as time that runs 10 % faster for everybody else.
	list = append(list,
		Input{Name: "steps 10 % slower", Harder: 1,
			Plan: func(p *menu.Plan) { p.ScaleRate(more); p.ScaleLimits(1 / more) }},
		Input{Name: "steps 10 % faster", Harder: -1,
			Plan: func(p *menu.Plan) { p.ScaleRate(less); p.ScaleLimits(1 / less) }})
	dearer := func(name string, factor float64) func(*candidate.Option) {
		return func(o *candidate.Option) {
			if o.Uses(name) {
				o.ScalePrice(factor)
			}
		}
	}
	list = append(list, Input{Name: mine + " 10 % dearer", Price: dearer(mine, more)})
	for i := range p.Menu.Hardware {
		if name := p.Menu.Hardware[i].Accelerator; name != mine {
			list = append(list, Input{Name: name + " 10 % cheaper", Price: dearer(name, less)})
		}
	}
	return list
}
