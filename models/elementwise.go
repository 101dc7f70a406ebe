package models

// ElementwiseKernel is a kernel that moves activations and computes next to nothing.
type ElementwiseKernel struct {
	Name  string
	Count int
	// Elements is the number of activations that it reads and writes for one token.
	Elements int64
}

// ExpertActivation and ExpertCombine name the kernels between and after the products of routed
// experts, Norm those that normalise the residual.
const (
	Norm             = "norm"
	ExpertActivation = "expert_activation"
	ExpertCombine    = "expert_combine"
)

// ElementwiseKernels lists the element-wise kernels of a step on one of tp GPUs, fused as engines
// do: the residual is added by the norm that follows (reads and writes both), rotation is in place,
// and the activation multiplies the gate.
func (a *Architecture) ElementwiseKernels(tp int) []ElementwiseKernel {
	ks := make([]ElementwiseKernel, 0, 8)
	ks = append(ks,
		ElementwiseKernel{"embedding", 1, product(2, a.Hidden)},
		ElementwiseKernel{Norm, a.norms(), product(4, a.Hidden)})
	for i := range a.Groups {
		for _, p := range a.Groups[i].parts() {
			for _, k := range p.elementwise(a.Hidden, tp) {
				ks = addElementwise(ks, k, a.Groups[i].Count)
			}
		}
	}
	// all streams are read to make the input, and read and written with the output
	if s := a.Streams; s > 1 {
		ks = append(ks, ElementwiseKernel{"streams", a.AllReduces() - 1, product(3*s+2, a.Hidden)})
	}
	return ks
}

// addElementwise counts n layers that have k.
func addElementwise(ks []ElementwiseKernel, k ElementwiseKernel, n int) []ElementwiseKernel {
	for i := range ks {
		if ks[i].Name == k.Name && ks[i].Elements == k.Elements {
			ks[i].Count += n
			return ks
		}
	}
	k.Count = n
	return append(ks, k)
}
