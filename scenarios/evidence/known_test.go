package evidence

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// smallest returns the evidence for a server for which all conditions of a kind hold, with nothing
// else of it chosen. Each neighbour misses one condition.
func (k *Known) smallest() (at Evidence, neighbours []Evidence) {
	const otherModel, otherAccelerator, otherEngine = "llama-3.1-8b", "h100-sxm", "trtllm"
	key := deployment.Key{Engine: k.Engine, Accelerator: otherAccelerator, Model: otherModel,
		Speculation: k.Speculation, Tensor: 1, Pipeline: 1, Expert: 1, Data: 1}
	if len(k.Accelerators) > 0 {
		key.Accelerator = k.Accelerators[0]
	}
	if len(k.Models) > 0 {
		key.Model = k.Models[0] + "x"
	}
	for _, preset := range []string{"vllm-v1", "sglang"} {
		if engines.Of(preset) == k.Engine {
			key.Engine = preset
		}
	}
	version := "0.1"
	if !k.Versions.From.IsZero() {
		version = k.Versions.From.String()
	}
	with := func(key deployment.Key, version string, apart bool, users float64) Evidence {
		e := Of(key, true).At(version, true)
		if apart {
			e = e.Apart(false)
		}
		return e.Under(Load{Users: users, Prompt: 100, Output: 100})
	}
	at = with(key, version, k.Apart, k.Users)
	add := func(applies bool, change func(*deployment.Key)) {
		if applies {
			other := key
			change(&other)
			neighbours = append(neighbours, with(other, version, k.Apart, k.Users))
		}
	}
	add(k.Engine != "", func(o *deployment.Key) { o.Engine = otherEngine })
	add(len(k.Accelerators) > 0, func(o *deployment.Key) { o.Accelerator = otherAccelerator })
	add(len(k.Models) > 0, func(o *deployment.Key) { o.Model = otherModel })
	add(k.Speculation != "", func(o *deployment.Key) { o.Speculation = "" })
	if k.Apart {
		neighbours = append(neighbours, with(key, version, false, k.Users))
	}
	if k.Factor > 0 { // which servers that only compute prompts do not have
		prompts := Of(key, true).At(version, true).Apart(true)
		neighbours = append(neighbours, prompts.Under(at.Load))
	}
	if k.Users > 0 {
		neighbours = append(neighbours, with(key, version, k.Apart, k.Users-1))
	}
	if below := k.Versions.Below; !below.IsZero() {
		neighbours = append(neighbours, with(key, below.String(), k.Apart, k.Users))
	}
	if k.Versions != (engines.Range{}) {
		neighbours = append(neighbours, with(key, "", k.Apart, k.Users))
	}
	return at, neighbours
}

// Every known deviation is told of its smallest input and of no neighbour, which misses one of its
// conditions alone, and names a measurement.
func TestKnownDeviationsAreTold(t *testing.T) {
	names := map[string]bool{}
	for _, k := range AllKnown() {
		at, neighbours := k.smallest()
		if k.Says == "" || k.Settles == "" || names[k.Name] || len(neighbours) < 2 {
			t.Errorf("known.yaml: %q is not whole, there twice, or holds for nearly all", k.Name)
		}
		names[k.Name] = true
		if !slices.Contains(at.Deviations, k.Says) {
			t.Errorf("%s is not told of %+v under %s: %q", k.Name, at.Server, at.Version,
				at.Deviations)
		}
		for _, n := range neighbours {
			if slices.Contains(n.Deviations, k.Says) {
				t.Errorf("%s is told of %+v under %q, %g users", k.Name, n.Server, n.Version,
					n.Load.Users)
			}
		}
	}
}

// A factor on TPOT moves the middle of the ranges of TPOT and of rates by it, of no neighbour, and
// not of TTFT; the server is at best distant, its ranges are as wide as those of releases far from
// all measured ones, and what is off is told once. The same load again changes nothing, and another
// undoes it.
func TestKnownFactorsMoveRanges(t *testing.T) {
	for _, k := range AllKnown() {
		if (k.Factor > 0) != (k.Rows > 0) || (k.Factor > 0) != (k.Source != "") {
			t.Errorf("%s: a factor, its rows and its source go together", k.Name)
		}
		if k.Factor <= 0 {
			continue
		}
		at, neighbours := k.smallest()
		low, high := at.Spread.Range()
		if middle := math.Sqrt(low * high); math.Abs(middle/k.Factor-1) > 1e-5 ||
			at.Spread.RateBias != at.Spread.TPOTBias || at.Spread.TTFTBias != 0 {
			t.Errorf("%s: the factor is %g, the ranges are %+v", k.Name, k.Factor, at.Spread)
		}
		wide := Calibrated().Range(TPOT, Outside, &Point{at.Server, at.Version, at.Load}, 0, 1)
		if off := at.Spread.Of(TPOT, 0); slices.Index(Grades(), at.Grade) <
			slices.Index(Grades(), Distant) || at.Class != Outside || at.Sure() != "likely" ||
			off.Within < wide.Within-1e-5 {
			t.Errorf("%s: %s, %s, within %g", k.Name, at.Grade, at.Class, off.Within)
		}
		if strings.Count(at.Sentence(), "Known to be off") != 1 ||
			!strings.Contains(at.Sentence(), at.KnownOff()) {
			t.Errorf("%s: %q", k.Name, at.Sentence())
		}
		if again := at.Under(at.Load); !reflect.DeepEqual(again, at) {
			t.Errorf("%s: the same load gives %+v", k.Name, again)
		}
		for _, n := range neighbours {
			if n.Factor > 0 || n.KnownOff() != "" {
				t.Errorf("%s: %+v is moved by %g", k.Name, n.Server, n.Factor)
			}
		}
		plain := Evidence{Grade: Formula}
		for _, list := range [][]Evidence{{at, plain}, {plain, at}} {
			if w := Weakest(list); w.Grade != Formula || w.Spread != at.Spread {
				t.Errorf("%s: with one of formulas alone, %s and %+v", k.Name, w.Grade, w.Spread)
			}
		}
	}
}

// A server that was itself measured under the releases of an entry has no factor: its own errors
// say how far off it is. The same engine and model on another accelerator has it.
func TestKnownFactorsSpareWhatWasMeasured(t *testing.T) {
	at := slices.IndexFunc(servers(), func(s deployment.Key) bool {
		return s.Engine == "sglang" && slices.Equal(versionsOf(errorsOf(s)), []string{"0.4.3"})
	})
	own := Of(servers()[at], true).At("0.4.3", true)
	key := own.Server
	key.Accelerator = "b200-sxm"
	other := Of(key, true).At("0.4.3", false)
	if own.Grade != Measured || own.Factor != 0 || own.Spread.TPOTBias < 0.1 ||
		other.Factor != 1.56 || other.Grade == Measured {
		t.Errorf("%s with a factor of %g, off by e^%g; elsewhere %s, %g", own.Grade, own.Factor,
			own.Spread.TPOTBias, other.Grade, other.Factor)
	}
}

// A server that was measured is distant where its predictions are known to be off, and measured
// again under the load or the release at which they are not.
func TestKnownFactorsAreUndone(t *testing.T) {
	key := servers()[slices.IndexFunc(servers(), func(s deployment.Key) bool {
		return s.Engine == "vllm-v1-sync" && strings.HasPrefix(s.Model, "nemotron-")
	})]
	few := Of(key, true).At("0.11.1", true).Under(Load{Users: 64})
	many := few.Under(Load{Users: 1024})
	if few.Grade != Measured || many.Grade != Distant || many.Factor >= 1 ||
		!strings.HasPrefix(many.Sentence(), "Compared with") {
		t.Errorf("%s with few users; with many %s, %q", few.Grade, many.Grade, many.Sentence())
	}
	if back := many.At("0.11.1", true).Under(few.Load); !reflect.DeepEqual(back, few) {
		t.Errorf("with few users again: %+v, was %+v", back, few)
	}
}
