package steptime

import (
	"cmp"
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
)

// Chosen is the back end that computes an operator of a replica.
type Chosen struct {
	Operator engines.Operator
	// Name is the back end, and Kin the one whose constants it has; empty where its own were
	// measured.
	Name, Kin string
	// Asked reports whether it is not the release's own choice.
	Asked bool
}

// chooseBackends sets the back ends of the operators by the rules of the engine's release, and
// returns warnings: where it is asked for one that the engine is not known to have there, and where
// one that was not measured has the times of another one. Of routed experts, expertsOf says that.
func (c *Config) chooseBackends() (warnings []string) {
	release, err := engines.Find(c.Engine.Name, "")
	if err != nil {
		return nil // nothing is known of the engine
	}
	if !c.Version.IsZero() {
		release.Version = c.Version
	}
	p := &c.Parallel
	at := engines.Place{Accelerator: c.Accelerator, Tensor: p.Tensor, Expert: p.Expert,
		Data: p.Data, Model: c.Model.Name, Attention: c.Model.AttentionKind()}
	for _, of := range engines.Operators() {
		format, has := c.formatOf(of)
		if !has {
			continue
		}
		asked := c.Engine.asked(of, format)
		own, _ := release.Backend(of, format, at, "")
		b, ok := release.Backend(of, format, at, asked)
		if !ok && asked != "" {
			b.Name = asked
			warnings = append(warnings, fmt.Sprintf("%s is not known to have %s in %s by %s on %s",
				release.Title, of.Title(), format, asked, c.Accelerator.Name))
		} else if !ok {
			continue
		}
		chosen := Chosen{Operator: of, Name: b.Name, Asked: b.Name != own.Name}
		if of == engines.Experts {
			c.experts = b
		} else if chosen.Kin = release.Kin(of, format, at, b.Name); chosen.Kin != "" {
			warnings = append(warnings, fmt.Sprintf("%s by %s: no server of %s with it was "+
				"measured, so its times are those of %s", of.Title(), b.Name, c.Engine.Name,
				chosen.Kin))
		}
		c.backends = append(c.backends, chosen)
	}
	return warnings
}

// asked returns the back end that is asked for an operator in a format.
func (e *Engine) asked(of engines.Operator, format hardware.DType) string {
	switch {
	case of == engines.Experts && e.Marlin && format == hardware.MXFP4:
		return "marlin"
	case of == engines.Prefill || of == engines.Decode:
		return cmp.Or(e.Asked[of], e.Asked[engines.Attention])
	}
	return e.Asked[of]
}

// formatOf returns the number format by which the back end of an operator is chosen, and false for
// one that the replica does not have.
func (c *Config) formatOf(of engines.Operator) (format hardware.DType, has bool) {
	switch experts := c.Model.Experts() != nil; of {
	case engines.Experts:
		return c.Weights, experts
	case engines.Exchange:
		return c.Activations, experts && c.Parallel.Data > 1
	case engines.Products:
		for _, l := range c.Model.LinearLayers(c.Parallel.Tensor) {
			if l.Quantised && l.Rows != models.RoutedRows {
				return l.Format(c.Weights).DType, true
			}
		}
		return c.Activations, true
	}
	return c.KV, c.Model.AttentionKind() != ""
}
