package evidence

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
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
	if e := Of(other, true); e.Grade != Distant || e.Nearest == nil ||
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
		apart := e.Apart(false)
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

// A measured server is distant at a release far from all measured ones, with ranges that rest on
// other releases, and so is a relative; within a few months of one it stays measured.
func TestOtherReleasesAreDistant(t *testing.T) {
	checked, relatives := 0, 0
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
		if far := e.At("99.1", false); far.Grade != Distant || far.Class != Outside ||
			!strings.Contains(far.Sentence(), "version "+span(versionsOf(e.Errors))) ||
			!strings.Contains(far.Sentence(), "servers that were predicted so lie inside") ||
			far.Sure() == e.Sure() {
			t.Errorf("%+v: %+v", known.Key, far)
		}
		if e = Without(known.Key); e.Grade == Relative && len(versionsOf(e.Errors)) > 0 {
			relatives++
			if far := e.At("99.1", false); far.Grade != Distant || far.Nearest != e.Nearest {
				t.Errorf("relative of %+v: %+v", known.Key, far)
			}
		}
	}
	if relatives < 100 {
		t.Errorf("only %d relatives have versions", relatives)
	}
	if checked < 100 {
		t.Errorf("only %d servers have versions", checked)
	}
}

// Ranges of a server never become narrower as a release is further from the releases under which
// its engine was measured, and also from those of the same engine, accelerator and model, before
// the first and after the last: for each engine whose releases are known by date.
func TestRangesGrowWithTheMonthsBetweenReleases(t *testing.T) {
	releases := map[string][]string{}
	for _, e := range engines.All() {
		for i := range e.Releases {
			releases[e.Name] = append(releases[e.Name], e.Releases[i].Version.String())
		}
		if len(releases[e.Name]) > 0 {
			releases[e.Name] = append(releases[e.Name], latest, "0.0.1")
		}
	}
	// grows checks versions in the order of their distance in months.
	grows := func(key deployment.Key, distance map[string]float64) {
		versions := slices.SortedFunc(maps.Keys(distance), func(a, b string) int {
			return cmp.Compare(distance[a], distance[b])
		})
		base, before, months := Of(key, true), Spread{}, 0.0
		for i, v := range versions {
			s := base.At(v, false).Under(Load{Users: 10, Prompt: 1000, Output: 300}).Spread
			of, known := engines.MonthsToMeasured(key.Engine, v)
			if !known {
				of = math.Inf(1) // older than all
			}
			narrower := s.TPOT < before.TPOT-1e-6 || s.TTFT < before.TTFT-1e-6 ||
				s.Rate < before.Rate-1e-6
			if i > 0 && distance[v] > distance[versions[i-1]] && of >= months && narrower {
				t.Errorf("%+v: %+v at %s, %+v nearer, at %s", key, s, v, before, versions[i-1])
			}
			before, months = s, of
		}
	}
	checked := 0
	for _, preset := range []string{"vllm-v1", "vllm-v0", "sglang", "trtllm"} {
		key := plain
		key.Engine = preset
		distance := map[string]float64{}
		for _, v := range releases[engines.Of(preset)] {
			months, known := engines.MonthsToMeasured(preset, v)
			if !known {
				months = 1e6 // older than all
			}
			distance[v] = months
		}
		checked += len(distance)
		grows(key, distance)
	}
	for _, key := range servers() {
		first, last := math.Inf(1), math.Inf(-1)
		for _, e := range measured() {
			if !sameServer(e.Key, key) {
				continue
			}
			for _, r := range e.Residuals.Rows() {
				m, dated := engines.Month(key.Engine, r.Version)
				if !dated {
					m = typical[3] // where it is taken to be
				}
				first, last = min(first, m), max(last, m)
			}
		}
		before, after := map[string]float64{}, map[string]float64{}
		for _, v := range releases[engines.Of(key.Engine)] {
			switch m, dated := engines.Month(key.Engine, v); { // 0 if older than all
			case !dated || m <= first:
				before[v] = first - m
			case m >= last:
				after[v] = m - last
			}
		}
		if last > 0 {
			checked++
			grows(key, before)
			grows(key, after)
		}
	}
	if checked < 100 {
		t.Errorf("only %d servers and releases were checked", checked)
	}
}
