package scenarios

import (
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/strict"
)

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
