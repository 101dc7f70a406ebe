package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Equipment is the model and the accelerators that a scenario names, with their links.
type Equipment struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network nodes; nil without one.
	ScaleUp, Network *hardware.Link
	// Price is an accelerator's; 0 if unknown.
	Price    Price
	Warnings []string
}

// Equipment looks up what the scenario names. It does not check whether the model fits. The error
// is an InputError.
func (f *File) Equipment(registry *policies.Registry) (*Equipment, error) {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.take((*server).lookUp)
	if err := n.err(); err != nil {
		return nil, err
	}
	c := l.kinds[0]
	return &Equipment{Model: c.Model, Accelerator: c.Accelerator, ScaleUp: c.ScaleUp,
		Network: c.Network, Price: c.s.Hardware.Price, Warnings: n.warnings}, nil
}

// CheckNames returns an error if the scenario names a model, hardware, an engine, a policy or a
// parameter that does not exist. It does not check whether the scenario fits and runs: see Build.
func (f *File) CheckNames(registry *policies.Registry) error {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.choose()
	if len(n.problems) == 0 {
		routing := f.Scenario.Routing
		choose(&server{notes: n, written: f.Scenario}, l.kinds[0].Anywhere(), "routing",
			&registry.Routing, routing.slot("routing"), nil)
	}
	return n.err()
}

// Describe returns the scenario of a model on an accelerator, with overrides as in Load. It returns
// an error if the model, the accelerator or the engine is not known.
func Describe(model, accelerator string, overrides ...string) (*File, error) {
	s := Scenario{Model: model, Hardware: Hardware{Accelerator: accelerator}}
	text, err := strict.Encode(s, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	f, err := Parse("", text, overrides...)
	if err != nil {
		return nil, err
	}
	n := &notes{file: f}
	v := &server{notes: n, written: f.Scenario, s: f.Scenario}
	v.findModel()
	v.findMachine()
	v.findEngine()
	if err := n.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Memory says what the memory of each accelerator of the first pool is used for, and what would fit
// if the model does not.
type Memory struct {
	// Scenario has the defaults filled in on which the plan rests.
	Scenario Scenario
	Plan     steptime.MemoryPlan
	// Warnings are facts about the plan that a reader should know.
	Warnings []string
	// ChosenTensor reports whether the number of accelerators that share each layer was chosen, as
	// the fewest that hold the model, since the scenario does not say.
	ChosenTensor bool
	// Advice names the smallest changes with which the model fits. It is empty if the model fits.
	Advice string
}

// Memory divides the memory of the scenario's accelerators. A model that does not fit is no error
// here.
func (f *File) Memory(registry *policies.Registry) (*Memory, error) {
	n := &notes{file: f}
	l := layOut(n, registry)
	l.plan()
	if err := n.err(); err != nil {
		return nil, err
	}
	first := l.kinds[0]
	m := &Memory{Scenario: first.s, Plan: first.Plan, Warnings: n.warnings,
		ChosenTensor: !f.givenOrTier("parallelism.tensor")}
	if first.Plan.Err() != nil {
		m.Advice = first.whatWouldFit()
	}
	return m, nil
}
