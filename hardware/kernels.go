package hardware

import (
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
)

// Kernels are what one engine's kernels reach on one accelerator, by number format of the weights,
// distilled from measurements of single kernels. Where Constants know a format from servers, those
// stand.
type Kernels struct {
	// Engine is the family of engines that has the kernels: "vllm", "sglang" or "trtllm".
	// Accelerator is the catalogue name of the device that was measured.
	Engine, Accelerator string
	// Source names the measurements, Date is when the constants were distilled from them
	// (2006-01-02).
	Source, Date string
	// Products are dense matrix products, Experts the routed experts of a layer.
	Products map[DType]ProductKernel
	Experts  map[DType]ExpertKernel
}

// KernelFit says how well a form describes the kernels that it was fitted to.
type KernelFit struct {
	// Rows is the number of kernels measured. Error is the median absolute relative error on them,
	// LeftOut that on kernels whose shape was left out of the fit.
	Rows    int
	Error   float64
	LeftOut float64 `yaml:"left_out"`
}

// KernelOverlap is the exponent that joins compute and memory time in the forms of Kernels, see
// Linear.Overlap.
const KernelOverlap = 4

// ProductKernel describes dense matrix products as Linear does.
type ProductKernel struct {
	// Compute is the fraction of the peak rate that large products reach, Memory the fraction of
	// the peak bandwidth at which weights stream in, Kernel the fixed time of one.
	Compute, Memory float64
	Kernel          Seconds
	Fit             KernelFit
}

// ExpertKernel describes both products of the routed experts of a layer together, with routing,
// sorting and the weighted sum: Kernel + (compute^p + memory^p)^(1/p) + Passes · (bytes of the
// activations of every token's experts) / bandwidth, where p is KernelOverlap.
type ExpertKernel struct {
	// Compute is the fraction of the peak rate that wide experts reach with many rows each. An
	// expert, or a shard of one, of width w reaches Compute·w/(w+Width).
	Compute, Width float64
	// Memory is the fraction of the peak bandwidth at which weights stream in.
	Memory float64
	// Kernel is the fixed time a layer.
	Kernel Seconds
	// Tile is the granularity in rows to which the tokens of an expert are rounded up.
	Tile float64
	// Passes is how often inputs, intermediate vectors and outputs are read or written. An
	// accelerator that has some of the experts moves the vectors of all tokens that it is given,
	// whoever computes them.
	Passes float64
	// Name is what the engine calls the kernel.
	Name string
	Fit  KernelFit
}

// AllKernels returns the kernels of all engines, by engine and accelerator. They are shared: do not
// change them.
func AllKernels() []Kernels {
	var list []Kernels
	for _, f := range kernelFiles() {
		list = append(list, *f.kernels())
	}
	return list
}

// KernelsOn returns the kernels of an engine family on the accelerator of that catalogue name; nil
// where they were not measured. They are shared: do not change them.
func KernelsOn(engine, accelerator string) *Kernels {
	for _, f := range kernelFiles() {
		if f.engine == engine && f.accelerator == accelerator {
			return f.kernels()
		}
	}
	return nil
}

// kernelFile is the kernels of one engine on one accelerator, read when they are first asked for.
type kernelFile struct {
	engine, accelerator string
	kernels             func() *Kernels
}

// kernelFiles lists the files of fitted/kernels, whose paths are ENGINE/ACCELERATOR.yaml.
var kernelFiles = sync.OnceValue(func() []kernelFile {
	names, err := fs.Glob(fittedFiles, "fitted/kernels/*/*.yaml")
	if err != nil {
		panic(err)
	}
	var list []kernelFile
	for _, name := range names {
		list = append(list, kernelFile{
			engine:      path.Base(path.Dir(name)),
			accelerator: strings.TrimSuffix(path.Base(name), ".yaml"),
			kernels: sync.OnceValue(func() *Kernels {
				k := readFile[Kernels](name)
				return &k
			}),
		})
	}
	return list
})

// FindKernels returns the kernels of an engine family on a, or on the nearest relative of a that
// was measured with that engine; nil where no accelerator was. For formats that were not measured
// with the engine those of another one on the same accelerator stand in: engines share most of
// their libraries.
func FindKernels(engine string, a *Accelerator) *Kernels {
	k := nearestKernels(engine, a)
	if k == nil {
		return nil
	}
	complete := *k
	complete.Products, complete.Experts = maps.Clone(k.Products), maps.Clone(k.Experts)
	for _, f := range kernelFiles() {
		if f.accelerator == k.Accelerator {
			other := f.kernels()
			complete.Products = withDefaults(complete.Products, other.Products)
			complete.Experts = withDefaults(complete.Experts, other.Experts)
		}
	}
	return &complete
}

// withDefaults returns m with the entries of defaults that it lacks.
func withDefaults[T any](m, defaults map[DType]T) map[DType]T {
	all := maps.Clone(defaults)
	if all == nil {
		return m
	}
	maps.Copy(all, m)
	return all
}

// nearestKernels returns the kernels of an engine family on a, or on its nearest relative; nil
// where there are none of the engine.
func nearestKernels(engine string, a *Accelerator) *Kernels {
	var best *kernelFile
	closest := farthest()
	for _, f := range kernelFiles() {
		if f.engine != engine {
			continue
		}
		if d := kinship(a, f.accelerator); d.less(closest) {
			best, closest = &f, d
		}
	}
	if best == nil {
		return nil
	}
	return best.kernels()
}
