package evidence

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Load is the load of a server while it is measured or predicted.
type Load struct {
	// Users is the mean number of requests that wait or run, and Prompt and Output are mean lengths
	// in tokens; 0 where they are not known.
	Users, Prompt, Output float64
	// Open reports whether requests arrive whether others are answered or not.
	Open bool
	// Whole reports whether answers come as a whole: TTFT is then E2E, and is off like it.
	Whole bool
}

// Point is a server under a load. Version is the release of its engine, "" if it is not known.
type Point struct {
	deployment.Key
	Version string
	Load    Load
}

// Kernel says how much the errors at two points have in common, as a share of their variance:
// Shared wherever the points are, and the rest as exp(−distance). Users is the change of ln(users)
// at which the distance is 1, Layout and Month what the distance grows by with each difference in
// format and parallelism, and with each month between releases.
type Kernel struct {
	Shared float64 `yaml:"shared"`
	Users  float64 `yaml:"users"`
	Layout float64 `yaml:"layout"`
	Month  float64 `yaml:"month"`
}

const (
	// noise is the share of the variance that no other row tells: repeats of a row differ.
	noise = 0.05
	// lengthScale is the change of ln(prompt) or ln(answer) at which the distance is 1.
	lengthScale = 10
	// unknownLoad is the distance from the typical value that an unknown value is taken to have, in
	// logarithms or months.
	unknownLoad = 1
	// mostOff is the largest residual that counts: one beyond is an outlier.
	mostOff = 0.7
)

// located has the coordinates of a point for a kernel: the logarithms of users, prompt and answer
// and the month of the release, which of these are unknown, and the layout.
type located struct {
	at      [4]float64
	unknown [4]bool
	layout  [5]any
}

// located returns it with typical values in place of unknown ones.
func (p *Point) located() located {
	l := located{layout: [5]any{sixteen(p.Key).Weights, p.Tensor, p.Expert, p.Data, p.Pipeline}}
	for i, x := range []float64{p.Load.Users, p.Load.Prompt, p.Load.Output} {
		l.at[i], l.unknown[i] = math.Log(x), x <= 0
	}
	month, known := engines.Month(p.Engine, p.Version)
	l.at[3], l.unknown[3] = month, !known
	for i := range l.at {
		if l.unknown[i] {
			l.at[i] = typical[i]
		}
	}
	return l
}

// between returns the share of the variance that two points have in common. The distance is a sum
// of distances on lines, so that errors of any points can have these shares in common.
func (k *Kernel) between(a, b *located) float64 {
	d := 0.0
	for i, each := range [4]float64{1 / k.Users, 1.0 / lengthScale, 1.0 / lengthScale, k.Month} {
		d += float64(math.Abs(a.at[i]-b.at[i]) * each)
		if a.unknown[i] != b.unknown[i] {
			d += float64(unknownLoad * each)
		}
	}
	for i := range a.layout {
		if a.layout[i] != b.layout[i] {
			d += k.Layout
		}
	}
	return (1 - noise) * (k.Shared + float64((1-k.Shared)*math.Exp(-d)))
}

// typical is taken where something is not known: the logarithms of 30 users, 1,000 tokens in and
// 300 out, and January 2026.
var typical = [4]float64{typicalUsers, 6.9, 5.7, 12*2026 + 1}

// Process is a Gaussian process over the errors of a group of servers: what was seen at some points
// tells the error at others (Rasmussen and Williams, "Gaussian Processes for Machine Learning", MIT
// Press 2006, 2.2). Errors are logarithms of measured over predicted times, with mean 0 and the
// variance 1 before any was seen: the posterior variance is a share of that.
type Process struct {
	kernel *Kernel
	points []located
	// factor is the lower triangle L of LLᵀ = the points' shares in common, and weights what solves
	// LLᵀ·weights = errors. Both are computed here rather than by gonum/mat, whose sums depend on
	// the machine's kernels, since a result has the same bytes on all machines.
	factor  [][]float64
	weights []float64
}

// NewProcess returns the process that has seen errors at points, at least one.
func NewProcess(k *Kernel, points []Point, errors []float64) *Process {
	n := len(points)
	p := &Process{kernel: k, points: make([]located, n), factor: make([][]float64, n)}
	seen := make([]float64, n)
	for i := range points {
		p.points[i] = points[i].located()
		seen[i] = max(-mostOff, min(mostOff, errors[i]))
		row := make([]float64, i+1)
		for j := range i {
			rest := k.between(&p.points[i], &p.points[j]) - dot(row[:j], p.factor[j][:j])
			row[j] = rest / p.factor[j][j]
		}
		// With noise in its diagonal the matrix is positive definite.
		row[i] = math.Sqrt(1 - dot(row[:i], row[:i]))
		p.factor[i] = row
	}
	p.weights = p.solved(seen)
	return p
}

// solved returns x with LLᵀ·x = b.
func (p *Process) solved(b []float64) []float64 {
	x := p.halfSolved(b)
	for i := len(x) - 1; i >= 0; i-- {
		x[i] /= p.factor[i][i]
		for j := range i {
			x[j] -= float64(p.factor[i][j] * x[i])
		}
	}
	return x
}

// halfSolved returns x with L·x = b.
func (p *Process) halfSolved(b []float64) []float64 {
	x := make([]float64, len(b))
	for i, row := range p.factor {
		x[i] = (b[i] - dot(row[:i], x[:i])) / row[i]
	}
	return x
}

// dot returns the product of two vectors, summed in order.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// users says at how many users errors were seen.
func (p *Process) users() string {
	least, most := math.Inf(1), 0.0
	for i := range p.points {
		if !p.points[i].unknown[0] {
			users := math.Round(math.Exp(p.points[i].at[0]))
			least, most = min(least, users), max(most, users)
		}
	}
	switch {
	case most == 0:
		return "loads that are not known"
	case least == most:
		return units.Plural(int(most), "user")
	}
	return fmt.Sprintf("%g to %g users", least, most)
}

// At returns the expected error at a point, and the share of the variance that remains.
func (p *Process) At(x *Point) (mean, variance float64) {
	at, common := x.located(), make([]float64, len(p.points))
	for i := range p.points {
		common[i] = p.kernel.between(&at, &p.points[i])
	}
	half := p.halfSolved(common)
	return dot(common, p.weights), max(noise, 1-dot(half, half))
}
