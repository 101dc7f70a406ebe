package scenarios

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
)

// Equipment is the model and the accelerators that a scenario names, with their links.
type Equipment struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network nodes; nil where there is none.
	ScaleUp, Network *hardware.Link
	// Price is that of an accelerator; 0 if unknown.
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
