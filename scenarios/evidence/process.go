package evidence

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Load is what a server has to do while it is measured or predicted.
type Load struct {
	// Users is the mean number of requests that wait or run, and Prompt and Output are mean lengths
	// in tokens; 0 where they are not known.
	Users, Prompt, Output float64
	// Open reports whether requests arrive whether others are answered or not.
	Open bool
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
	// unknownLoad is how far beside the typical a value is taken to be that is not known, in
	// logarithms or months.
	unknownLoad = 1
	// mostOff is the largest residual that counts: one beyond is an outlier.
	mostOff = 0.7
)

// located is what a kernel sees of a point: the logarithms of users, prompt and answer and the
// month of the release, which of these are unknown, and the layout.
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
	kernel  *Kernel
	points  []located
	factor  mat.Cholesky
	weights mat.VecDense
}

// NewProcess returns the process that has seen errors at points, at least one.
func NewProcess(k *Kernel, points []Point, errors []float64) *Process {
	n := len(points)
	p := &Process{kernel: k, points: make([]located, n)}
	common, seen := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i := range points {
		p.points[i] = points[i].located()
		seen.SetVec(i, max(-mostOff, min(mostOff, errors[i])))
		for j := range i {
			common.SetSym(i, j, k.between(&p.points[i], &p.points[j]))
		}
		common.SetSym(i, i, 1)
	}
	// A matrix with noise in its diagonal is positive definite.
	if !p.factor.Factorize(common) {
		panic("evidence: the errors of a group cannot be weighed")
	}
	if err := p.factor.SolveVecTo(&p.weights, seen); err != nil {
		panic(err)
	}
	return p
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
	at, common, solved := x.located(), mat.NewVecDense(len(p.points), nil), mat.VecDense{}
	for i := range p.points {
		common.SetVec(i, p.kernel.between(&at, &p.points[i]))
	}
	if err := p.factor.SolveVecTo(&solved, common); err != nil {
		panic(err)
	}
	return mat.Dot(common, &p.weights), max(noise, 1-mat.Dot(common, &solved))
}
