package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// A server that was measured is called so; one that differs in its model alone is a relative; under
// an engine that nobody measured there is none.
func TestGrades(t *testing.T) {
	key := measured()[0].Key
	if e := Of(key, true); e.Grade != Measured || len(e.Errors) == 0 || e.Nearest != nil {
		t.Errorf("%+v of what was measured", e)
	}
	if e := Of(key, false); e.Grade != Formula {
		t.Errorf("%+v of step times from elsewhere", e)
	}
	other := key
	other.Model = "yi-34b"
	if e := Of(other, true); e.Grade != Relative || e.Nearest == nil ||
		!slices.Contains(e.Differs, "model "+e.Nearest.Model) ||
		!strings.Contains(e.Sentence(), "No such server was measured") {
		t.Errorf("%+v of another model", e)
	}
	other = key
	other.Engine = "nobody's"
	if e := Of(other, true); e.Grade != Formula || len(e.Deviations) == 0 {
		t.Errorf("%+v under an engine that nobody measured", e)
	}
}

// No server is nearer to another than to itself, and a lower grade is never surer than a higher
// one.
func TestDistanceAndSpreads(t *testing.T) {
	all := servers()
	for _, a := range all {
		if d, words := distance(a, a); d != 0 || len(words) > 0 {
			t.Errorf("%+v is %g from itself: %v", a, d, words)
		}
	}
	for _, b := range all[1:] {
		if there, _ := distance(all[0], b); there != math.Inf(1) {
			if back, _ := distance(b, all[0]); back != there {
				t.Errorf("%+v: %g there and %g back", b, there, back)
			}
		}
	}
	for _, key := range all {
		for _, quantity := range []string{"TPOT", "TTFT"} {
			last := 0.0
			for _, g := range []Grade{Relative, Kernels, Formula} {
				o := errorRange(g, key, nil, quantity)
				if o.Within <= last {
					t.Errorf("%+v %s %s: within %g after %g", key, g, quantity, o.Within, last)
				}
				last = o.Within
			}
		}
	}
}

// The words of every server that was measured are a sentence.
func TestSentences(t *testing.T) {
	for _, key := range servers() {
		e := Of(key, true)
		apart := e.Apart()
		for _, words := range []string{e.Sentence(), apart.Sentence()} {
			if !strings.HasSuffix(words, ".") {
				t.Errorf("%+v: %q", key, words)
			}
		}
	}
}

// A measured server is a relative at a version under which nothing was measured, with the ranges of
// one that was not.
func TestOtherVersionsAreRelatives(t *testing.T) {
	for _, known := range measured() {
		e := Of(known.Key, true)
		versions := versionsOf(e.Errors)
		if len(versions) == 0 {
			continue
		}
		for _, version := range append(versions, "99.1") {
			if same := e.At(version, true); same.Grade != Measured || same.Spread != e.Spread {
				t.Errorf("%+v at %s: %s", known.Key, version, same.Grade)
			}
			if same := e.At(version, false); (same.Grade == Measured) != (version != "99.1") {
				t.Errorf("%+v at %s: %s", known.Key, version, same.Grade)
			}
		}
		if other := e.At("99.1", false); other.Spread != spread(Relative, known.Key, e.Errors) ||
			!strings.Contains(other.Sentence(), "version "+span(versions)) {
			t.Errorf("%+v: %+v", known.Key, other)
		}
	}
}

// No range of a measured server is narrower than its error in predictions that were fitted without
// it, or than repeats of one run differ by.
func TestRangesAreAsWideAsLeftOutErrors(t *testing.T) {
	for _, key := range servers() {
		e := Of(key, true)
		for i := range e.Errors {
			low, high := e.Spread.Range()
			if e.Errors[i].Quantity == "TTFT" {
				low, high = e.Spread.RangeTTFT()
			}
			half := math.Log(high/low) / 2
			if least := math.Hypot(math.Log1p(e.Errors[i].LeftOut), leastOwn*Width80); half <
				least-1e-9 {
				t.Errorf("%v: the range of %s is ±%.3f, want at least ±%.3f", key,
					e.Errors[i].Quantity, half, least)
			}
		}
	}
}

// The mean and quantiles up to p90 are off alike, an E2E time as TPOT, and p99 by an independent
// error more: no range of p99 is narrower.
func TestSpreadsOfQuantiles(t *testing.T) {
	s := Spread{TPOT: 0.1, TPOTBias: 0.02, TTFT: 0.2, TTFTBias: -0.03}
	for metric, want := range map[string]ErrorRange{TPOT: {0.02, 0.1 * Width80},
		E2E: {0.02, 0.1 * Width80}, TTFT: {-0.03, 0.2 * Width80}} {
		for _, quantile := range []float64{0, 0.5, 0.9} {
			if got := s.Of(metric, quantile); !likely(got.Bias, want.Bias) ||
				!likely(got.Within, want.Within) {
				t.Errorf("%s at %g: %+v, want %+v", metric, quantile, got, want)
			}
		}
		got, beside := s.Of(metric, 0.99), besideMeans()[metric]
		if beside.Within <= 0 || !likely(got.Bias, want.Bias+beside.Bias) ||
			!likely(got.Within, math.Hypot(want.Within, beside.Within)) {
			t.Errorf("%s at p99: %+v of %+v beside %+v", metric, got, want, beside)
		}
	}
}
