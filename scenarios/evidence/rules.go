package evidence

import (
	"fmt"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// catalogs are the shipped models and accelerators.
type catalogs struct {
	models   *models.Catalog
	hardware hardware.Catalog
}

// shipped reads the catalogues, which are part of the program: they are right, or a test fails.
func shipped() catalogs {
	m, err := models.Load()
	if err != nil {
		panic(err)
	}
	h, err := hardware.Load()
	if err != nil {
		panic(err)
	}
	return catalogs{m, h}
}

// family names what of a model's architecture the accuracy of predictions depends on; "" where the
// model is not in the catalogue.
func family(name string) string {
	a, err := shipped().models.Lookup(name)
	if err != nil {
		return ""
	}
	return familyOf(a)
}

// activeParameters returns how many parameters of a model a token meets; 0 where the model is not
// in the catalogue.
func activeParameters(name string) float64 {
	if n, known := active.Load(name); known {
		return n.(float64)
	}
	n := 0.0
	if a, err := shipped().models.Lookup(name); err == nil {
		n = float64(a.ActiveParameters().Total())
	}
	active.Store(name, n)
	return n
}

// active has what activeParameters returned.
var active sync.Map

// experts ends the family of a model with routed experts.
const experts = " and experts"

// layerDifferences counts in how much the layers of two models differ: one for the kind of
// attention, and one for experts.
func layerDifferences(a, b string) int {
	one, other := family(a), family(b)
	n := 0
	if strings.TrimSuffix(one, experts) != strings.TrimSuffix(other, experts) {
		n++
	}
	if strings.HasSuffix(one, experts) != strings.HasSuffix(other, experts) {
		n++
	}
	return n
}

func familyOf(a *models.Architecture) string {
	words := "softmax attention"
	for i := range a.Groups {
		switch m := a.Groups[i].Mixer.(type) {
		case *models.MLA:
			words = "latent attention"
			if m.Indexer != nil {
				words = "sparse attention"
			}
		case *models.Softmax:
			if m.Indexer != nil {
				words = "sparse attention"
			}
		case *models.Recurrent, *models.ParallelMixers:
			words = "linear attention"
		case *models.Compressed:
			words = "sparse attention"
		}
	}
	if a.Experts() != nil {
		words += experts
	}
	return words
}

// sameGeneration reports whether two accelerators have the same cores.
func sameGeneration(a, b string) bool {
	one, known := generations()[a]
	other, knownToo := generations()[b]
	return a == b || known && knownToo && one == other
}

// generations maps the names of the shipped accelerators to their generations.
var generations = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for _, a := range shipped().hardware.Accelerators {
		of[a.Name] = a.Generation
	}
	return of
})

// kernelsMeasured reports whether kernels of the engine were measured on the accelerator itself.
func kernelsMeasured(key deployment.Key) bool {
	for _, k := range hardware.AllKernels() {
		if strings.HasPrefix(key.Engine, k.Engine) && k.Accelerator == key.Accelerator {
			return true
		}
	}
	return false
}

// deviations lists, by rule, where predictions of servers like this are known to be wrong.
func deviations(key deployment.Key) []string {
	var list []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	perNode := 8
	if a, err := shipped().hardware.Accelerator(key.Accelerator); err == nil {
		perNode = max(1, a.PerNode)
	}
	gpus := max(1, key.Tensor) * max(1, key.Data)
	add(key.Weights == "fp8-block", "products in FP8 with a scale for each block")
	add(gpus > perNode, "exchanges of one layer between nodes")
	add(key.Data > 1 && gpus <= perNode, "experts spread over data-parallel ranks")
	add(!engineMeasured(key.Engine), "the engine preset %s, under which nothing was measured",
		key.Engine)
	return list
}

// engineMeasured reports whether any server was measured under an engine preset.
func engineMeasured(preset string) bool {
	for _, s := range servers() {
		if s.Engine == preset {
			return true
		}
	}
	return false
}
