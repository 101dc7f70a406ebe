package evidence

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// left_out.csv has the errors of servers that nothing was fitted to: each is predicted with
// constants that were fitted without any row of its engine, accelerator and model
// (llmsim validate DIR --fit).
//
//go:embed left_out.csv
var leftOutTable string

// LeftOut returns the errors of servers in predictions that were fitted without them.
func LeftOut() []Error { return leftOut() }

var leftOut = sync.OnceValue(func() []Error {
	return files.MustReadTable[Error]("left_out.csv", leftOutTable)
})

// serverTraits are the properties of a server that errors of predictions depend on.
type serverTraits struct {
	key                deployment.Key
	generation, family string
	vendor             string
	experts            bool
	bits               int
	ranks              bool
}

// traitsOf looks the properties of a server up in the shipped catalogues; they are empty for names
// that are not there.
func traitsOf(key deployment.Key) serverTraits {
	k := serverTraits{key: key, bits: 16, ranks: key.Data > 1}
	switch key.Weights {
	case hardware.FP8, hardware.FP8Block, hardware.INT8:
		k.bits = 8
	case hardware.FP4, hardware.MXFP4, hardware.INT4, hardware.Q4_0, hardware.Q4KM:
		k.bits = 4
	}
	if a, err := shipped().hardware.Accelerator(key.Accelerator); err == nil {
		k.generation, k.vendor = a.Generation, vendorOf(a.Generation)
	}
	if m, err := shipped().models.Lookup(key.Model); err == nil {
		k.family, k.experts = familyOf(m), m.Experts() != nil
	}
	return k
}

// vendorOf returns the maker of accelerators of a generation; "" for one that is not known.
func vendorOf(generation string) string {
	for vendor, generations := range map[string][]string{
		"nvidia": {"volta", "turing", "ampere", "ada", "hopper", "blackwell"}, "amd": {"cdna"},
		"apple": {"apple", "m"}, "google": {"tpu"}, "intel": {"gaudi"},
	} {
		if slices.ContainsFunc(generations,
			func(begin string) bool { return strings.HasPrefix(generation, begin) }) {
			return vendor
		}
	}
	return ""
}

// The distance between servers that differ in one thing. A server at distance d has the weight
// exp(-d). At half of these distances, the ranges of the tables of left_out.csv hold 61 to 99 % of
// TPOTs instead of 65 to 90, with the same median width.
const (
	otherEngine     = 4.0
	otherPreset     = 1.4
	otherVendor     = 3.0
	otherGeneration = 1.4
	otherGPU        = 0.8
	otherExperts    = 3.0
	otherFamily     = 1.4
	otherModel      = 0.6
	otherBits       = 1.4
	otherFormat     = 0.6
	otherRanks      = 2.0
)

// distanceTo returns how far apart two servers are.
func (k *serverTraits) distanceTo(other *serverTraits) float64 {
	a, b := &k.key, &other.key
	d := 0.0
	add := func(differ bool, by float64) {
		if differ {
			d += by
		}
	}
	add(engineOf(a.Engine) != engineOf(b.Engine), otherEngine)
	add(a.Engine != b.Engine, otherPreset)
	add(k.vendor != other.vendor, otherVendor)
	add(k.generation != other.generation, otherGeneration)
	add(a.Accelerator != b.Accelerator, otherGPU)
	add(k.experts != other.experts, otherExperts)
	add(k.family != other.family, otherFamily)
	add(a.Model != b.Model, otherModel)
	add(k.bits != other.bits, otherBits)
	add(a.Weights != b.Weights, otherFormat)
	add(k.ranks != other.ranks, otherRanks)
	return d
}

// weightOf returns how much another server counts, from 0 to 1.
func (k *serverTraits) weightOf(other *serverTraits) float64 {
	// The last digits of math.Exp differ between machines.
	return math.Round(1e9*math.Exp(-k.distanceTo(other))) / 1e9
}

// engineOf returns the engine of a preset: vllm of vllm-v1-sync.
func engineOf(preset string) string {
	name, _, _ := strings.Cut(preset, "-")
	return name
}

// Neighbours are measured servers with the errors of one quantity.
type Neighbours struct {
	servers []serverTraits
	points  []point // the Points of all servers, in ascending order
}

// point is a deviation of a server, an index of Neighbours.servers.
type point struct {
	x      float64
	server int
}

// deciles are the places of five equal parts of a normal distribution, in standard deviations.
var deciles = [5]float64{-1.2816, -0.5244, 0, 0.5244, 1.2816}

// Points returns five deviations that represent the server's rows.
func (o ErrorRange) Points() [5]float64 {
	var points [5]float64
	for i, z := range deciles {
		points[i] = o.Bias + float64(o.Within*z/Width80)
	}
	return points
}

// Reach returns the distance from the predicted time, in logarithms, that 80 % of the rows do not
// exceed.
func (o ErrorRange) Reach() float64 {
	points := o.Points()
	for i, x := range points {
		points[i] = math.Abs(x)
	}
	slices.Sort(points[:])
	return points[3]
}

// priorServers is the weight of servers without any bias that count beside the near ones.
const priorServers = 2

// FromNeighbours estimates the ErrorRange of a server from near, the measured servers, without the
// rows of its own engine, accelerator and model: Bias is the weighted median of their deviations,
// drawn towards 0 by priorServers, and Within is the distance from Bias that holds four fifths of
// their weight (localised conformal prediction: Guan, Biometrika 110(1), 2023). A server at
// distance d has the weight exp(-d). FromNeighbours returns the zero ErrorRange where near has no
// other server.
func FromNeighbours(key deployment.Key, near Neighbours) ErrorRange {
	own := traitsOf(key)
	weights, total := make([]float64, len(near.servers)), 0.0
	for i := range near.servers {
		if other := &near.servers[i]; !sameServer(key, other.key) {
			weight := own.weightOf(other)
			weights[i] = weight / float64(len(deciles))
			total += weight
		}
	}
	if total == 0 {
		return ErrorRange{}
	}
	points := near.points
	median, sum := 0, weights[points[0].server]
	for ; sum < 0.5*total*(1-1e-9); sum += weights[points[median].server] {
		median++
	}
	bias := points[median].x * total / (total + priorServers)
	// From the bias outwards, the nearer point first.
	right := sort.Search(len(points), func(i int) bool { return points[i].x >= bias })
	left, within := right-1, 0.0
	for sum = 0; sum < 0.8*total*(1-1e-9); {
		if at := right; left < 0 ||
			right < len(points) && points[right].x-bias < bias-points[left].x {
			right++
			within, sum = points[at].x-bias, sum+weights[points[at].server]
		} else {
			within, sum = bias-points[left].x, sum+weights[points[left].server]
			left--
		}
	}
	return ErrorRange{Bias: bias, Within: within}
}

// NeighboursOf returns the servers of errors by quantity.
func NeighboursOf(list []Error) map[string]Neighbours {
	near := map[string]Neighbours{}
	for i := range list {
		e := &list[i]
		n := near[e.Quantity]
		for _, x := range e.Range.Points() {
			n.points = append(n.points, point{x, len(n.servers)})
		}
		n.servers = append(n.servers, traitsOf(e.Key))
		near[e.Quantity] = n
	}
	for _, n := range near {
		slices.SortStableFunc(n.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	}
	return near
}

// neighbours are the servers that were left out of the fit.
var neighbours = sync.OnceValue(func() map[string]Neighbours { return NeighboursOf(LeftOut()) })
