package hardware

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/nearest"
)

// Kernels holds the constants of one engine's kernels on one accelerator, by number format of the
// weights. They were fitted to measurements of single kernels. If Constants has values for a format
// that were fitted to servers, those are used instead.
type Kernels struct {
	// Engine is the family of engines that has the kernels: "vllm", "sglang" or "trtllm".
	// Accelerator is the catalogue name of the device that was measured.
	Engine, Accelerator string
	// Source names the measurements, and Date is the day of the fit (2006-01-02).
	Source, Date string
	// Products are dense matrix products, Experts the routed experts of a layer, also by the back
	// end that has the kernels, such as "triton" (package engines lists them).
	Products map[DType]ProductKernel
	Experts  map[DType]map[string]ExpertKernel
	// usual names the back end of most kernels that were measured with the engine, by format.
	usual map[DType]string
}

// Expert returns the kernels of a back end for routed experts in a format, and the name of the back
// end that was measured: where that is another one, the one that the engine was measured with most.
// It returns false where no kernel of the format was measured.
func (k *Kernels) Expert(d DType, backend string) (e ExpertKernel, measured string, ok bool) {
	for _, name := range []string{backend, k.usual[d]} {
		if e, ok := k.Experts[d][name]; ok {
			return e, name, true
		}
	}
	return e, "", false
}

// KernelFit says how well a formula describes the kernels to which it was fitted.
type KernelFit struct {
	// Rows is the number of measured kernels. Error is the median absolute relative error on them,
	// and LeftOut the error on kernels whose shape was left out of the fit.
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
	// the peak bandwidth at which weights stream in, and Kernel the fixed time of a product.
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
	// Passes counts how often inputs, intermediate vectors and outputs are read or written. An
	// accelerator that has some of the experts moves the vectors of all tokens that it receives,
	// also of tokens for which other accelerators compute the experts.
	Passes float64
	// Name is the engine's name of the kernel.
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

// On returns the kernels of the same engine on the accelerator of that catalogue name, or nil if
// they were not measured. The result is shared: do not change it.
func (k *Kernels) On(accelerator string) *Kernels {
	for _, f := range kernelFiles() {
		if f.engine == k.Engine && f.accelerator == accelerator {
			return f.kernels()
		}
	}
	return nil
}

// checkEngine returns an error, with the nearest name, for an engine family without a measured
// kernel.
func checkEngine(engine string) error {
	var known []string
	for _, f := range kernelFiles() {
		if f.engine == engine {
			return nil
		}
		known = append(known, f.engine)
	}
	return errors.New(nearest.Unknown("engine family of kernels", engine, slices.Compact(known)))
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
				k.usual = map[DType]string{}
				for d, byBackend := range k.Experts {
					for _, name := range slices.Sorted(maps.Keys(byBackend)) {
						if byBackend[name].Fit.Rows > byBackend[k.usual[d]].Fit.Rows {
							k.usual[d] = name
						}
					}
				}
				return &k
			}),
		})
	}
	return list
})

// FindKernels returns the kernels of an engine family on a, or on the nearest relative of a that
// was measured with that engine. Formats that were not measured with the engine take the kernels of
// another engine on the same accelerator, because engines share most of their libraries. The error
// names the nearest engine family if no kernel of that name was measured.
func FindKernels(engine string, a *Accelerator) (*Kernels, error) {
	if err := checkEngine(engine); err != nil {
		return nil, err
	}
	k := nearestKernels(engine, a)
	complete := *k
	complete.Products, complete.Experts = maps.Clone(k.Products), maps.Clone(k.Experts)
	complete.usual = maps.Clone(k.usual)
	for _, f := range kernelFiles() {
		if f.accelerator == k.Accelerator {
			other := f.kernels()
			complete.Products = withDefaults(complete.Products, other.Products)
			complete.usual = withDefaults(complete.usual, other.usual)
			complete.Experts = withDefaults(complete.Experts, other.Experts)
			for d, kernels := range other.Experts {
				complete.Experts[d] = withDefaults(complete.Experts[d], kernels)
			}
		}
	}
	return &complete, nil
}

// withDefaults returns m with the entries of defaults that it lacks.
func withDefaults[K comparable, T any](m, defaults map[K]T) map[K]T {
	all := maps.Clone(defaults)
	if all == nil {
		return m
	}
	maps.Copy(all, m)
	return all
}

// nearestKernels returns the kernels of a measured engine family on a, or on its nearest relative.
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
	return best.kernels()
}
