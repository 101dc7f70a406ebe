package launch

import (
	"strings"

	"github.com/llmsim/llmsim/internal/launch/checkpoints"
	"github.com/llmsim/llmsim/models"
)

// find looks the model up in the catalogue. A checkpoint with quantised weights, which the
// catalogue does not have, is read as the model in that format.
func (r *reading) find(catalogue *models.Catalog) {
	name := r.values["model"]
	if model, err := catalogue.Lookup(name); err == nil {
		r.model = model
		return
	}
	form, ok := checkpoints.Read(name)
	if !ok {
		return
	}
	model, err := catalogue.Lookup(form.Of)
	if err != nil {
		return
	}
	r.model = model
	r.set("model", form.Of)
	r.set("engine.weights", string(form.Weights))
	says := form.Source
	if strings.HasPrefix(says, "configs: ") {
		says = "its config.json"
	}
	r.note("%s is read as %s with weights in %s, as %s says", name, form.Of, form.Weights, says)
}
