package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Grade says what predictions for a server rest on.
type Grade string

// Grades, the best first.
const (
	// Measured: such a server was served and measured.
	Measured Grade = "measured"
	// Relative: a server with few differences was measured, the model on some server, and the
	// accelerator under the engine, where some prediction was off by less than half.
	Relative Grade = "relative"
	// Distant: a server with few differences was measured, and not the model, or not the
	// accelerator under the engine, or no release of a time near; or not with prefill and decode
	// apart.
	Distant Grade = "distant"
	// Kernels: no server like it was measured; the kernels of its engine on its accelerator were.
	Kernels Grade = "kernels only"
	// Formula: nothing of the kind was measured.
	Formula Grade = "formula only"
)

// Grades returns all grades, the best first.
func Grades() []Grade { return []Grade{Measured, Relative, Distant, Kernels, Formula} }

// Evidence says what is known about the errors of predictions for a server.
type Evidence struct {
	Grade Grade `json:"grade"`
	// Errors are the errors of this server if it was measured, or otherwise the errors of the
	// nearest measured server.
	Errors []Error `json:"errors,omitempty"`
	// Nearest is the nearest measured server: of those with the most similar layers, the one that
	// differs least else. Differs says in what it differs. Both are absent if this server was
	// measured, or if no measured server is near.
	Nearest *deployment.Key `json:"nearest,omitempty"`
	Differs []string        `json:"differs,omitempty"`
	// Deviations are the known deviations that apply to the server.
	Deviations []string `json:"known_deviations,omitempty"`
	// Factor is what measured TPOTs of such servers are known to be over the predicted ones; 0 if
	// that is not known. Ranges and chances are moved by it.
	Factor float64 `json:"known_factor,omitempty"`
	// Own has the evidence of the deployment's own measurements, of grade Here; nil otherwise.
	Own *Own `json:"own,omitempty"`
	// Spread says how far the predictions may be from what would be measured.
	Spread Spread `json:"spread"`

	// Version is the version of the engine that is predicted; "" if the engine has no versions.
	Version string `json:"version,omitempty"`
	// Class says what the range of TPOT rests on, or of the metric that was measured.
	Class Class `json:"class,omitempty"`

	// Server is the server that the evidence is about, and Load what it has to do.
	Server deployment.Key `json:"-"`
	Load   Load           `json:"-"`

	// Unlike reports that measurements of its kind say nothing of the server.
	Unlike bool `json:"-"`

	// InPool reports whether the server only computes prompts or only decodes. Of the former,
	// which Prompts reports, no factor on TPOT is known.
	InPool  bool `json:"-"`
	Prompts bool `json:"-"`

	// Told are the deviations that known.yaml has, and Graded is the grade without Factor.
	Told   []string `json:"-"`
	Graded Grade    `json:"-"`
}

// farthest is the greatest distance of a relative.
const farthest = 4

// Of returns the evidence for a server. own is false if the step times are not the ones that llmsim
// predicts for the engine, so that no measurement applies.
func Of(key deployment.Key, own bool) Evidence {
	return of(key, own, func(deployment.Key) bool { return !own })
}

// Without returns the evidence for a server as it would be if no server with the same engine,
// accelerator and model had been measured.
func Without(key deployment.Key) Evidence {
	return of(key, true, func(other deployment.Key) bool { return sameServer(other, key) })
}

func of(key deployment.Key, own bool, leftOut func(deployment.Key) bool) Evidence {
	e := Evidence{Grade: Formula, Server: key, Unlike: leftOut(key)}
	if own {
		e.find(key, leftOut)
	}
	return e.judged()
}

// judged returns the evidence with the known deviations and the spread of its server. A factor of
// known deviations moves TPOT and the time for each token of a rate, in ranges as wide as releases
// have that are far from all measured ones.
func (e Evidence) judged() Evidence {
	known, factor := e.known()
	e = e.uncorrected().corrected(factor)
	e.Told = nil
	for _, k := range known {
		e.Told = append(e.Told, k.Says)
	}
	e.Deviations = append(deviations(e.Server), e.Told...)
	p := Point{e.Server, e.Version, e.Load}
	var off [3]ErrorRange
	e.Class = Other
	for i, metric := range Metrics() {
		var class Class
		off[i], class = rangeOf(metric, &p, !e.Unlike)
		if factor > 0 {
			off[i], class = Calibrated().Range(metric, Outside, &p, 0, 1), Outside
			if metric != TTFT {
				off[i].Bias = math.Log(factor)
			}
		}
		if e.Grade == Formula {
			off[i].Within = math.Sqrt(float64(off[i].Within*off[i].Within) +
				float64(unknownGround*unknownGround))
		}
		if i == 0 || e.Class == Other {
			e.Class = class
		}
	}
	e.Spread = Spread{TPOT: stable(off[0].Within / Width80), TPOTBias: stable(off[0].Bias),
		TTFT: stable(off[1].Within / Width80), TTFTBias: stable(off[1].Bias),
		Rate: stable(off[2].Within / Width80), RateBias: stable(off[2].Bias)}
	if e.InPool && factor > 0 {
		e.Spread.DecodeBias = e.Spread.TPOTBias
	}
	return e
}

// stable rounds a logarithm to a millionth: machines whose exponentials differ in the last bit
// (assembly on amd64, Go in browsers) give the same results.
func stable(x float64) float64 { return math.Round(1e6*x) / 1e6 }

// Under returns the evidence for a load.
func (e Evidence) Under(load Load) Evidence {
	if e.Grade != Here {
		e.Load = load
		e = e.judged()
	}
	if load.Whole {
		e.Spread.TTFT, e.Spread.TTFTBias = e.Spread.TPOT, e.Spread.TPOTBias
	}
	return e
}

// At returns the evidence for a version of the engine. known reports whether any server was
// measured under it. If no server was measured under a release within a few months of it, servers
// under other versions are distant, and ranges are as wide as such predictions need.
func (e Evidence) At(version string, known bool) Evidence {
	e = e.uncorrected()
	e.Version = version
	if e.Grade == Here {
		return e
	}
	versions := versionsOf(e.Errors)
	_, dated := engines.Month(e.Server.Engine, version)
	far := !known && !among(versions, version)
	if dated {
		far = outside(e.Server.Engine, version)
	}
	switch {
	case far && e.Grade == Measured && len(versions) > 0:
		e.Grade, e.Nearest = Distant, &e.Errors[0].Key
		e.Differs = []string{"version " + span(versions)}
		e.Unlike = !dated
	case far && e.Grade == Relative && (dated || len(versions) > 0):
		e.Grade = Distant
	}
	return e.judged()
}

// find looks for the server among the measured ones that are not left out, and for the nearest.
func (e *Evidence) find(key deployment.Key, leftOut func(deployment.Key) bool) {
	if list := errorsOf(key); len(list) > 0 && !leftOut(key) {
		e.Grade, e.Errors = Measured, list
		return
	}
	best, strange := math.Inf(1), math.MaxInt
	for _, other := range servers() {
		d, differs := distance(key, other)
		if d > farthest || leftOut(other) {
			continue
		}
		kin := layerDifferences(key.Model, other.Model)
		if cmp.Or(cmp.Compare(kin, strange), cmp.Compare(d, best)) < 0 {
			best, strange = d, kin
			e.Grade, e.Nearest, e.Differs = Relative, &other, differs
		}
	}
	switch {
	case e.Nearest != nil:
		e.Errors = errorsOf(*e.Nearest)
		if !partsMeasured(key, leftOut) {
			e.Grade = Distant
		}
	case kernelsMeasured(key):
		e.Grade = Kernels
	}
}

// partsMeasured reports whether the model of a server was measured on some server that is not left
// out, and its accelerator under its engine, as is so of most servers that are left out of the fit
// by engine, accelerator and model. A server that was predicted wrong by half or more says nothing
// of others with its accelerator: on Gaudi 3, a token takes three times as long as predicted.
func partsMeasured(key deployment.Key, leftOut func(deployment.Key) bool) bool {
	model, accelerator := false, false
	for _, other := range servers() {
		if !leftOut(other) {
			model = model || other.Model == key.Model
			accelerator = accelerator || other.Engine == key.Engine &&
				other.Accelerator == key.Accelerator && understood(other)
		}
	}
	return model && accelerator
}

// understood reports whether the median errors of a measured server are below a half.
func understood(key deployment.Key) bool {
	return !slices.ContainsFunc(errorsOf(key), func(e Error) bool { return e.Median >= 0.5 })
}

// Strangeness counts in how much the layers differ that the nearest measured server runs: one for
// the kind of attention, and one for experts. It is 0 for a server that was measured itself.
func (e *Evidence) Strangeness() int {
	if e.Nearest == nil {
		return 0
	}
	return layerDifferences(e.Server.Model, e.Nearest.Model)
}

// distance says how far a server is from one that was measured, and in what they differ. Other
// engines, other generations of accelerators and other methods of speculation are never near.
func distance(a, b deployment.Key) (float64, []string) {
	if a.Engine != b.Engine || a.Speculation != b.Speculation ||
		!sameGeneration(a.Accelerator, b.Accelerator) {
		return math.Inf(1), nil
	}
	a, b = sixteen(a), sixteen(b)
	d := 0.0
	var words []string
	differ := func(weight float64, what string, x, y any) {
		if x != y {
			d += weight
			words = append(words, fmt.Sprintf("%s %v", what, y))
		}
	}
	differ(1, "model", a.Model, b.Model)
	differ(1.5, "layers with", family(a.Model), family(b.Model))
	differ(1.5, "accelerator", a.Accelerator, b.Accelerator)
	differ(1.5, "weights", a.Weights, b.Weights)
	differ(0.5, "KV cache", a.KV, b.KV)
	differ(0.5, "tensor parallelism", a.Tensor, b.Tensor)
	differ(1, "pipeline parallelism", a.Pipeline, b.Pipeline)
	differ(1, "data parallelism", a.Data, b.Data)
	differ(1, "batching", a.Batching, b.Batching)
	differ(1, "memory", a.Memory, b.Memory)
	return d, words
}

// servers lists the servers that were measured, each once.
var servers = sync.OnceValue(func() []deployment.Key {
	var list []deployment.Key
	for _, e := range measured() {
		if !slices.Contains(list, e.Key) {
			list = append(list, e.Key)
		}
	}
	return list
})

// Sentence returns the evidence in words.
func (e *Evidence) Sentence() string {
	var words string
	switch e.uncorrected().Grade {
	case Here:
		words = e.Own.sentence()
	case Measured:
		words = held(e.Errors, e.Version)
	case Relative, Distant:
		words = fmt.Sprintf(
			"No such server was measured. The nearest that was has other features: %s. %s",
			strings.Join(e.Differs, ", "), held(e.Errors, e.Version))
	case Kernels:
		words = "No server like this was measured, only the kernels that it runs."
	default:
		words = "Nothing like this was measured: the figures rest on formulas alone."
	}
	words += e.basis()
	if off := e.off(e.Deviations); off != "" {
		words += " Known to be off: " + off + "."
	}
	return words
}

// basis says in words what the ranges rest on, where it is not what the grade says.
func (e *Evidence) basis() string {
	switch {
	case e.Factor > 0: // what is known to be off is told
	case e.Class == Same:
		if p := processOf(e.Server, TPOT); p != nil && e.Grade != Here {
			return " Its ranges follow what was measured at " + p.users() + "."
		}
	case e.Class == Outside:
		r := Calibrated().Of(TPOT, Outside)
		return fmt.Sprintf(" Nothing was measured under a release within %g months of it: about "+
			"%s of the %d servers that were predicted so lie inside their ranges.", NearMonths,
			inWords(r.Inside), r.Servers)
	}
	return ""
}

// Sure says how often measured values lie in ranges: in 80 of 100 cases, but for releases far from
// all measured ones, and for servers that are known to be off.
func (e *Evidence) Sure() string {
	if e.Class == Outside {
		return "likely"
	}
	return "80% sure"
}

// inWords writes a share as the nearest one of few.
func inWords(share float64) string {
	words := "half"
	for _, s := range []struct {
		from  float64
		words string
	}{{0.58, "two in three"}, {0.71, "three in four"}, {0.775, "four in five"},
		{0.85, "nine in ten"}} {
		if share >= s.from {
			words = s.words
		}
	}
	return words
}

// Apart returns the evidence for a server that only computes prompts or only decodes, given the
// evidence for a server that does both. A measurement of the latter counts as a distant one.
func (e Evidence) Apart(prompts bool) Evidence {
	e.InPool, e.Prompts = true, prompts
	return e.FromKin("prefill and decode on one server")
}

// FromKin returns the evidence for a server that differs from the measured ones in that they have
// what is named. A measurement of such a server counts as a distant one.
func (e Evidence) FromKin(measured string) Evidence {
	e = e.uncorrected()
	if slices.Contains([]Grade{Here, Measured, Relative}, e.Grade) {
		e.Grade = Distant
	}
	if e.Grade == Distant {
		e.Differs = append(slices.Clip(e.Differs), measured)
		e.Unlike = true
		return e.judged()
	}
	if known, _ := e.known(); len(known) > 0 {
		return e.judged()
	}
	return e
}

// Weakest returns the evidence with the lower grade. Predictions for a system of several servers
// are no better than that. What is known to be off of any of the servers is off of the system.
func Weakest(list []Evidence) Evidence {
	weakest := slices.MaxFunc(list, func(a, b Evidence) int {
		return cmp.Compare(slices.Index(Grades(), a.Grade), slices.Index(Grades(), b.Grade))
	})
	at := slices.IndexFunc(list, func(e Evidence) bool { return e.Factor > 0 })
	if weakest.Factor > 0 || at < 0 {
		return weakest
	}
	off := list[at]
	off.Grade = weakest.Grade
	return off
}
