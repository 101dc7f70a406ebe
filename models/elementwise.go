package models

// ElementwiseKernel is a kernel that moves activations and computes next to nothing.
type ElementwiseKernel struct {
	Name  string
	Count int
	// Elements is the number of activations that it reads and writes for one token.
	Elements int64
}

// ExpertActivation and ExpertCombine name the kernels between and after the products of routed
// experts. Norm names the kernels that normalise the residual.
const (
	Norm             = "norm"
	ExpertActivation = "expert_activation"
	ExpertCombine    = "expert_combine"
)

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
