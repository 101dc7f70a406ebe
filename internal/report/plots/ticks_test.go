package plots

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// plainNumber reads a label, with or without commas.
func plainNumber(t *rapid.T, label string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.ReplaceAll(label, ",", ""), 64)
	if err != nil {
		t.Fatalf("the label %q is no number", label)
	}
	return x
}

// A plain scale has all multiples of its step that lie in it, up to the most that there can be, and
// four to nine steps in a range; the step is 1, 2 or 5 times a power of ten. A label is its value.
func TestPlainTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := float64(rapid.IntRange(-1000, 1000).Draw(t, "low")) / 8
		span := rapid.Float64Range(0.01, 1e6).Draw(t, "span")
		most := rapid.SampledFrom([]float64{0, low + span/2}).Draw(t, "most")
		step, high := tickStep(span), low+span
		digits := strconv.FormatFloat(step, 'e', 3, 64)
		if n := span / step; n < 3.3 || n > 9.99 || !strings.Contains("1.000 2.000 5.000",
			digits[:5]) {
			t.Errorf("%g steps of %g make up %g", n, step, span)
		}
		ticks := plainTicks{most}.Ticks(low, high)
		if most > 0 {
			high = min(high, most)
		}
		first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
		if want := max(0, int(last-first)+1); len(ticks) != want {
			t.Fatalf("%d ticks of %g from %g to %g, want %d", len(ticks), step, low, high, want)
		}
		for i, tick := range ticks {
			if value := (first + float64(i)) * step; math.Abs(tick.Value-value) > 1e-9*step ||
				math.Abs(plainNumber(t, tick.Label)-value) > 1e-9*max(step, math.Abs(value)) ||
				tick.Label == "-0" {
				t.Errorf("tick %d is %+v, want %g", i, tick, value)
			}
		}
	})
}

// A scale ends however few float64 lie between its ends: its labels lie in it and differ.
func TestPlainTicksOfNarrowRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1, 1e24).Draw(t, "low") / 1e12
		if rapid.Bool().Draw(t, "below 0") {
			low = -low
		}
		high := low
		for range rapid.IntRange(1, 40).Draw(t, "floats") {
			high = math.Nextafter(high, math.Inf(1))
		}
		ticks := plainTicks{}.Ticks(low, high)
		labels := map[string]bool{}
		for _, tick := range ticks {
			if labels[tick.Label] || tick.Value < low || tick.Value > high {
				t.Errorf("from %g to %g: %+v", low, high, ticks)
			}
			labels[tick.Label] = true
		}
		if len(ticks) < 2 || len(ticks) > 42 {
			t.Errorf("from %g to %g: %d ticks", low, high, len(ticks))
		}
	})
}

// A logarithmic scale has the multiples of the powers of ten that lie in it. Powers are labelled,
// over less than two decades 2 and 5 times a power too, over less than half a decade all. Times
// have their units.
func TestLogTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-3, 3).Draw(t, "low")
		high := low + rapid.SampledFrom([]float64{0.3, 0.7, 1.5, 1.99, 2.01, 4}).Draw(t, "decades")
		ticks, times := (logTicks{}).Ticks(low, high), logTimes{1e-3}.Ticks(low, high)
		n := 0
		for e := -4; e <= 8; e++ {
			for m := 1; m < 10; m++ {
				value, err := strconv.ParseFloat(strconv.Itoa(m)+"e"+strconv.Itoa(e), 64)
				testkit.OK(t, err)
				// Log10 of a power below 1 may be off in the last digit.
				if at := float64(e) + math.Log10(float64(m)); at < low || at > high {
					continue
				}
				tick := ticks[n]
				labelled := m == 1 || (m == 2 || m == 5) && high-low < 2 || high-low < 0.5
				if math.Abs(tick.Value-math.Log10(value)) > 1e-9 ||
					(tick.Label != "") != labelled ||
					(times[n].Label != "") != labelled {
					t.Errorf("tick %d over %g decades is %+v, want %g", n, high-low, tick, value)
				}
				if labelled {
					label, unit, _ := strings.Cut(times[n].Label, " ")
					scale := map[string]float64{"s": 1e3, "ms": 1, "µs": 1e-3, "us": 1e-3}[unit]
					if math.Abs(plainNumber(t, tick.Label)-value) > 1e-9*value ||
						math.Abs(plainNumber(t, label)*scale-value) > 1e-6*value {
						t.Errorf("%g is labelled %q, as a time %q", value, tick.Label,
							times[n].Label)
					}
				}
				n++
			}
		}
		if n != len(ticks) || n != len(times) {
			t.Errorf("%d ticks, want %d", len(ticks), n)
		}
	})
}

// The largest time has at least two of its unit, or ten minutes of hours' parts, and the unit its
// seconds.
func TestUnitsOfTimes(t *testing.T) {
	for most, want := range map[float64]string{7200: "h", 7199: "min", 600: "min", 599: "s", 2: "s",
		1.99: "ms"} {
		name, seconds := TimeUnit(most)
		if name != want || seconds != map[string]float64{"h": 3600, "min": 60, "s": 1,
			"ms": 1e-3}[name] {
			t.Errorf("%g s are shown in %s of %g s", most, name, seconds)
		}
	}
}

// Two rooms overlap where a point is inside of both; the nearest point of a room is no farther than
// any of its corners; the points on the way are evenly apart, between its ends.
func TestRoomsOfLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) vg.Length { return vg.Length(rapid.IntRange(0, 9).Draw(t, name)) }
		a := rectangle(vg.Point{X: n("x"), Y: n("y")}, 1+n("width"), 1+n("height"))
		b := rectangle(vg.Point{X: n("x"), Y: n("y")}, 1+n("width"), 1+n("height"))
		inside := false
		for x := vg.Length(0.5); x < 20; x++ {
			for y := vg.Length(0.5); y < 20; y++ {
				both := true
				for _, r := range []vg.Rectangle{a, b} {
					both = both && x > r.Min.X && x < r.Max.X && y > r.Min.Y && y < r.Max.Y
				}
				inside = inside || both
			}
		}
		if overlap(a, b) != inside || free(a, []vg.Rectangle{b}) == inside || !free(a, nil) {
			t.Errorf("%v and %v overlap: %v", a, b, !inside)
		}
		at := vg.Point{X: n("from x"), Y: n("from y")}
		far := func(p vg.Point) float64 { return math.Hypot(float64(p.X-at.X), float64(p.Y-at.Y)) }
		end := nearest(a, at)
		for _, corner := range []vg.Point{a.Min, a.Max, {X: a.Min.X, Y: a.Max.Y}, {X: a.Max.X,
			Y: a.Min.Y}} {
			if far(end) > far(corner) {
				t.Errorf("%v is farther from %v than the corner %v", end, at, corner)
			}
		}
		way := between(at, b.Max)
		for k, p := range way {
			if want := far(b.Max) * (float64(k) +
				0.5) / float64(len(way)); math.Abs(far(p)-want) > 1e-9 {
				t.Errorf("point %d of the way is %g away, want %g", k, far(p), want)
			}
		}
	})
}
