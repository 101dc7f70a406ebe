package hardware

import (
	"cmp"
	"io/fs"
	"slices"
	"sync"
)

// RecurrentKernel holds the constants of one engine's kernels for one kind of linear attention on
// one accelerator. They were fitted to measurements of single kernels.
type RecurrentKernel struct {
	// Engine is the family of engines: "vllm", "sglang" or "trtllm". Accelerator is the catalogue
	// name of the device that was measured, Kind names the mixer as package models does.
	Engine, Accelerator, Kind string
	// Source names the measurements, and Date is the day of the fit (2006-01-02).
	Source, Date string
	// Compute is the fraction of the peak rate that prompts reach. Serial is the time for each
	// token of the longest prompt, whose chunks are computed one after another. Prefill is the
	// fixed time.
	Compute         float64
	Serial, Prefill Seconds
	// Memory is the fraction of the peak bandwidth at which decoding sequences read and write their
	// states, and Decode is the fixed time.
	Memory float64
	Decode Seconds
	// PrefillFit and DecodeFit say how well the formulas hold.
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
// the nearest measured relative of a, or nil if no kernel of that kind was measured with it. An
// empty engine means vllm. The error names the nearest engine family if no family has that name.
func FindRecurrent(engine, kind string, a *Accelerator) (*RecurrentKernel, error) {
	engine = cmp.Or(engine, "vllm")
	if err := checkEngine(engine); err != nil {
		return nil, err
	}
	var best *RecurrentKernel
	closest := farthest()
	for _, k := range recurrentKernels() {
		if d := kinship(a, k.Accelerator); k.Engine == engine && k.Kind == kind && d.less(closest) {
			best, closest = &k, d
		}
	}
	return best, nil
}

// AllRecurrent returns the kernels of all engines for linear attention.
func AllRecurrent() []RecurrentKernel { return slices.Clone(recurrentKernels()) }
