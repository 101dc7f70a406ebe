package training

import (
	"github.com/llmsim/llmsim/hardware"
)

// productEfficiency is the fraction of the peak rate that matrix products of training reach on an
// accelerator, by number format of the operands.
type productEfficiency struct {
	accelerator string
	of          map[hardware.DType]float64
	source      string
}

const (
	fittedTo = "fitted to published runs (../shared/anchors/training, November 2026) within the " +
		"best product measured, stas00/ml-engineering, compute/accelerator/README.md"
	assumed = "own estimate: no published run determines it"
)

// reaches lists the accelerators whose published runs were fitted. Others take the rates of their
// generation, the first that is listed.
func reaches() []productEfficiency {
	return []productEfficiency{
		{"a100-80gb-sxm", formats{hardware.BF16: 0.76}, fittedTo + ", 0.869"},
		{"h100-sxm", formats{hardware.BF16: 0.68, hardware.FP8: 0.69},
			fittedTo + ", 0.803 and 0.709"},
		{"b200-sxm", formats{hardware.BF16: 0.65, hardware.FP8: 0.62, hardware.FP4: 0.35},
			fittedTo + ", 0.776 and 0.763"},
		{"b300-sxm", formats{hardware.BF16: 0.65, hardware.FP8: 0.72, hardware.FP4: 0.35},
			fittedTo + ", 0.786 and 0.745"},
		{"gb200", formats{hardware.BF16: 0.6, hardware.FP8: 0.55, hardware.FP4: 0.41},
			fittedTo + ", 0.729 and 0.723"},
		{"gb300", formats{hardware.BF16: 0.65, hardware.FP8: 0.74, hardware.FP4: 0.48}, fittedTo},
		{"tpu-v4", formats{hardware.BF16: 0.76}, assumed},
	}
}

type formats = map[hardware.DType]float64

// productEfficiencyOf returns the fraction of the peak that products in a number format reach, and
// whether it was fitted to runs on this very accelerator.
func productEfficiencyOf(a *hardware.Accelerator, d hardware.DType) (share float64, own bool) {
	catalog, err := hardware.Load()
	if err != nil {
		panic(err) // the catalogue is part of the program
	}
	list := reaches()
	for _, r := range list {
		if r.accelerator == a.Name && r.of[d] > 0 {
			return r.of[d], r.source != assumed
		}
	}
	for _, r := range list {
		other, err := catalog.Accelerator(r.accelerator)
		if err == nil && other.Generation == a.Generation && r.of[d] > 0 {
			return r.of[d], false
		}
	}
	return 0.65, false
}

// scores returns the fractions of the peak that attention reaches in the forward and in the
// backward pass, each over the pairs that a causal mask leaves.
func scores(kind Attention, generation string) (forward, backward float64) {
	type key struct {
		kind       Attention
		generation string
	}
	known := map[key][2]float64{
		// "30-50 %" and "25-35 %" of the peak (Dao, arXiv:2307.08691, section 1)
		{Flash1, "ampere"}: {0.4, 0.3},
		// as much less as flash-2 reaches less there than on ampere
		{Flash1, "hopper"}: {0.2, 0.15},
		// up to 73 and 63 % (Dao, arXiv:2307.08691, section 4.1), at their largest
		{Flash2, "ampere"}: {0.65, 0.55},
		// "only 35 %" (Shah et al., arXiv:2407.08608, abstract)
		{Flash2, "hopper"}: {0.38, 0.33},
		{Flash, "ampere"}:  {0.65, 0.55},
		// up to 75 % (Shah et al., arXiv:2407.08608, abstract), at its largest
		{Flash, "hopper"}: {0.6, 0.5},
	}
	if s, ok := known[key{kind, generation}]; ok {
		return s[0], s[1]
	}
	return 0.6, 0.5 // as on hopper
}

// These constants were fitted together with the fractions above; docs/training.md has the errors.
const (
	// eagerPasses is the factor by which an eager program moves more bytes in element-wise kernels.
	eagerPasses = 1.7
	// expertShare is the rate of grouped products of experts over that of dense ones.
	expertShare = 0.36
	// castBytes is the traffic of casting an element of 16 bits to 8 bits: read for its largest
	// value, read again, and written as it stands and transposed (NVIDIA/TransformerEngine).
	castBytes = 6.0
	// tensorOverlapped is the visible share of exchanges of tensor ranks that run beside products.
	tensorOverlapped = 0.55
	// contention is the time that an exchange beside computing adds, as a share of its own:
	// it takes multiprocessors and bandwidth, and eager programs begin it late.
	contention, eagerContention = 0.2, 0.48
)
