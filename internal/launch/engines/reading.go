package engines

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
)

// Reading is the terms of a command while they become keys of a scenario.
type Reading struct {
	*options.Reading
	Model *models.Architecture // nil where it is not in the catalogue
}

// experts reports whether the model is known to be a mixture of experts.
func (r *Reading) experts() bool { return r.Model != nil && r.Model.Experts() != nil }

// keepsParts reports whether the model is known to have layers with windows or states of fixed
// size.
func (r *Reading) keepsParts() bool {
	if r.Model == nil {
		return false
	}
	kept := r.Model.SequenceState(1, hardware.BF16)
	return kept.Windowed+kept.Fixed > 0
}

// Interpret turns the terms that a command sets into keys of a scenario.
func (e *Engine) Interpret(r *Reading) { e.interpret(r) }
