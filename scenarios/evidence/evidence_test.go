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

// No server is nearer to another than to itself, and the way back is as far.
func TestDistances(t *testing.T) {
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
}

// A measured server is a relative at a release far from all measured ones, with ranges that rest on
// other releases; within a few months of one it stays measured.
func TestOtherReleasesAreRelatives(t *testing.T) {
	checked := 0
	for _, known := range measured() {
		e := Of(known.Key, true)
		if len(versionsOf(e.Errors)) == 0 {
			continue
		}
		checked++
		for _, version := range versionsOf(e.Errors) {
			if same := e.At(version, true); same.Grade != Measured || same.Class == Outside {
				t.Errorf("%+v at %s: %s, %s", known.Key, version, same.Grade, same.Class)
			}
		}
		if far := e.At("99.1", false); far.Grade != Relative || far.Class != Outside ||
			!strings.Contains(far.Sentence(), "version "+span(versionsOf(e.Errors))) ||
			!strings.Contains(far.Sentence(), "servers that were predicted so lie inside") ||
			far.Sure() == e.Sure() {
			t.Errorf("%+v: %+v", known.Key, far)
		}
	}
	if checked < 100 {
		t.Errorf("only %d servers have versions", checked)
	}
}
