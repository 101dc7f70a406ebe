package hardware

import (
	"io/fs"
	"slices"
	"sync"
)

// RecurrentKernel is what one engine's kernels for one kind of linear attention reach on one
// accelerator, distilled from measurements of single kernels.
type RecurrentKernel struct {
	// Engine is the family of engines: "vllm", "sglang" or "trtllm". Accelerator is the catalogue
	// name of the device that was measured, Kind names the mixer as package models does.
	Engine, Accelerator, Kind string
	// Source names the measurements, Date is when the constants were distilled from them
	// (2006-01-02).
	Source, Date string
	// Compute is the fraction of the peak rate that prompts reach. Serial is the time of a token of
	// the longest prompt, whose chunks follow one another. Prefill is the fixed time.
	Compute         float64
	Serial, Prefill Seconds
	// Memory is the fraction of the bandwidth at which decoding sequences read and write their
	// states, Decode the fixed time.
	Memory float64
	Decode Seconds
	// PrefillFit and DecodeFit say how well the forms hold.
	PrefillFit KernelFit `yaml:"prefill_fit"`
	DecodeFit  KernelFit `yaml:"decode_fit"`
}

var recurrentKernels = sync.OnceValue(func() []RecurrentKernel {
	names, err := fs.Glob(fittedFiles, "fitted/recurrent/*.yaml")
	if err != nil {
		panic(err)
	}
	var list []RecurrentKernel
	for _, name := range names {
		list = append(list, readFile[[]RecurrentKernel](name)...)
	}
	return list
})

// FindRecurrent returns the kernels of an engine family for a kind of linear attention on a, or on
// the nearest relative of a that was measured; nil where the engine was not. An empty engine is
// vllm.
func FindRecurrent(engine, kind string, a *Accelerator) *RecurrentKernel {
	if engine == "" {
		engine = "vllm"
	}
	var best *RecurrentKernel
	closest := farthest()
	for _, k := range recurrentKernels() {
		if d := kinship(a, k.Accelerator); k.Engine == engine && k.Kind == kind && d.less(closest) {
			best, closest = &k, d
		}
	}
	return best
}

// AllRecurrent returns the kernels of all engines for linear attention.
func AllRecurrent() []RecurrentKernel { return slices.Clone(recurrentKernels()) }
