package launch

import (
	"strings"

	"github.com/llmsim/llmsim/models"
)

// quantized lists the ends of the names of checkpoints that say in which format their weights are,
// the longer ones first.
func quantized() [][2]string {
	return [][2]string{
		{"-fp8-dynamic", "fp8"}, {"-fp8-kv", "fp8"}, {"-fp8", "fp8"},
		{"-gptq-int8", "int8"}, {"-quantized.w8a8", "int8"}, {"-w8a8", "int8"}, {"-int8", "int8"},
		{"-awq-int4", "int4"}, {"-awq", "int4"}, {"-gptq-int4", "int4"}, {"-gptq", "int4"},
		{"-quantized.w4a16", "int4"}, {"-w4a16", "int4"},
		{"-nvfp4", "fp4"}, {"-fp4", "fp4"}, {"-mxfp4", "fp4"},
	}
}

// find looks the model up in the catalogue. A checkpoint whose name says that its weights are
// quantized, and that the catalogue does not have, is read as the model in that format.
func (r *reading) find(catalogue *models.Catalog) {
	name := r.values["model"]
	model, err := catalogue.Lookup(name)
	if err == nil {
		r.model = model
		return
	}
	for _, q := range quantized() {
		cut := len(name) - len(q[0])
		if cut <= 0 || !strings.EqualFold(name[cut:], q[0]) {
			continue
		}
		if model, err = catalogue.Lookup(name[:cut]); err != nil {
			return
		}
		r.model = model
		r.set("model", name[:cut])
		r.set("engine.weights", q[1])
		r.note("%s is read as %s with weights in %s, as its name says", name, name[:cut], q[1])
		return
	}
}
