package drift

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

func near(t *rapid.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// After n blocks that are all off by x, each of the sums is f + f² + … + fⁿ with the factor f of a
// block, and the evidence is their mean. A block that is off in the other direction says as much.
func TestEvidenceByClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := detector{tolerance: rapid.Float64Range(0.01, 0.1).Draw(t, "tolerance"),
			deviation: rapid.Float64Range(0.05, 0.2).Draw(t, "deviation")}
		other := d
		x, n := rapid.Float64Range(-0.2, 0.2).Draw(t, "x"), rapid.IntRange(1, 20).Draw(t, "n")
		var got, mirrored float64
		for range n {
			got, mirrored = d.evidence(x), other.evidence(-x)
		}
		want, v := 0.0, d.deviation*d.deviation
		for _, shift := range []float64{0.02, 0.05, 0.1, 0.2, 0.5} {
			for _, off := range []float64{x - d.tolerance, -x - d.tolerance} {
				for i := 1; i <= n; i++ { // exp of the difference of two squares
					likelier := (off*off - (off-shift)*(off-shift)) / (2 * v)
					want += math.Exp(float64(i)*likelier) / 10
				}
			}
		}
		near(t, "evidence over the closed form", got/want, 1)
		near(t, "evidence of the other direction", mirrored/got, 1)
	})
}

// The split with which a change begins leaves the least squares around the means of both sides.
func TestAChangeBeginsAtTheBestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 12).Draw(t, "series")
		around := func(list []float64) (squares float64) {
			mean := 0.0
			for _, x := range list {
				mean += x / float64(len(list))
			}
			for _, x := range list {
				squares += (x - mean) * (x - mean)
			}
			return squares
		}
		least := math.Inf(1)
		for i := range series {
			least = min(least, around(series[:i])+around(series[i:]))
		}
		at := begin(series)
		near(t, "squares", around(series[:at])+around(series[at:]), least)
	})
}

// A figure that jumps far beyond its tolerance is said to be off by the jump, since the block with
// which it jumped; one that stays within is not. The noise of blocks that alternate by a gap is 1.5
// times the deviation of which the gap is the median difference.
func TestJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.Float64Range(0, 0.05).Draw(t, "gap")
		n, at := rapid.IntRange(6, 40).Draw(t, "blocks"), rapid.IntRange(1, 40).Draw(t, "jump")
		jump := rapid.SampledFrom([]float64{-0.7, 0.7}).Draw(t, "by")
		series, after := make([]float64, n), 0.0
		for i := range series {
			if series[i] = gap * float64(i%2); i >= at {
				series[i] += jump
				after += series[i] / float64(n-at)
			}
		}
		if at >= n {
			jump = 0
			for _, x := range series {
				after += x / float64(n)
			}
		}
		f := watch("TPOT", series, slices.Repeat([]float64{0.1}, n), 1e4)
		near(t, "noise", f.Deviation, max(0.01, 1.5*gap/0.954))
		near(t, "shift", f.Shift, math.Exp(after)-1)
		if f.Changed != (jump != 0) || f.Changed && (f.Since != at+1 || f.After <= at ||
			f.After > n) ||
			f.Blocks != n || f.Tolerance != 0.1 {
			t.Errorf("a jump by %g after %d of %d blocks: %+v", jump, at, n, f)
		}
		near(t, "noise of few blocks", noise(series[:4]), 0.05)
	})
}

// Blocks have fifty requests and not one more than that takes, in their order, and the means of
// what is in them. What is left over is a block where it is half of one, or all that there is.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(0.1, 10)
		var list []fit.Pair
		for range rapid.IntRange(1, 120).Draw(t, "n") {
			list = append(list, fit.Pair{At: value.Draw(t, "at"), Prompt: value.Draw(t, "prompt"),
				Output: value.Draw(t, "output"), Weight: float64(rapid.IntRange(1, 9).Draw(t,
					"weight")),
				TTFT: [2]float64{value.Draw(t, "ttft"), 1}, E2E: [2]float64{2, value.Draw(t,
					"e2e")}})
		}
		at, made := 0, blocks(slices.Clone(list))
		for i := range made {
			b, from := &made[i], at
			var want fit.Pair
			for want.Weight < b.Weight && at < len(list) {
				p := &list[at]
				want.Weight += p.Weight
				want.Prompt, want.Output = want.Prompt+p.Weight*p.Prompt,
					want.Output+p.Weight*p.Output
				want.TTFT[0], want.E2E[1] = want.TTFT[0]+p.Weight*p.TTFT[0],
					want.E2E[1]+p.Weight*p.E2E[1]
				at++
			}
			near(t, "weight", b.Weight, want.Weight)
			near(t, "prompt", b.Prompt*b.Weight, want.Prompt)
			near(t, "output", b.Output*b.Weight, want.Output)
			near(t, "TTFT", b.TTFT[0]*b.Weight, want.TTFT[0])
			near(t, "E2E", b.E2E[1]*b.Weight, want.E2E[1])
			near(t, "TTFT, predicted", b.TTFT[1], 1)
			last := i == len(made)-1 && at == len(list)
			if b.At != list[from].At || !last && b.Weight < 50 || i > 0 && b.Weight < 25 ||
				b.Weight-list[at-1].Weight >= 50 {
				t.Errorf("block %d of %d: %+v", i, len(made), *b)
			}
		}
		rest := 0.0
		for _, p := range list[at:] {
			rest += p.Weight
		}
		if rest >= 25 || len(made) == 0 {
			t.Errorf("%g requests are in no block", rest)
		}
	})
}

// Where lengths or rate are a factor of the ones of the fit, that figure is off by the factor, and
// no other.
func TestTrafficIsOffByItsFactor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.SampledFrom([]float64{0.25, 0.9, 1, 1.5})
		prompt, output := factor.Draw(t, "prompts"), factor.Draw(t, "answers")
		rate := factor.Draw(t, "rate")
		d := &scenarios.Fitted{Traffic: scenarios.Traffic{Rate: 2, Prompt: 800, Output: 60}}
		var pairs []fit.Pair
		for i := range 30 {
			pairs = append(pairs, fit.Pair{At: float64(i) * 50 / (2 * rate), Weight: 50,
				Prompt: 800 * prompt, Output: 60 * output})
		}
		r := &Result{}
		r.traffic(d, pairs, 100)
		for i, want := range []float64{prompt, output, rate} {
			f := r.Traffic[i]
			near(t, f.Figure, f.Shift, want-1)
			if f.Changed != (want == 0.25 || want == 1.5) || f.Tolerance != 0.1 {
				t.Errorf("off by %g: %+v", want-1, f)
			}
		}
		if r.Unknown || len(r.Traffic) != 3 {
			t.Errorf("the traffic is unknown: %v; %+v", r.Unknown, r.Traffic)
		}
		d.Traffic.Prompt, d.Traffic.Output = 0, 0
		some := &Result{}
		if some.traffic(d, pairs, 100); len(some.Traffic) != 1 || some.Traffic[0].Figure != "rate" {
			t.Errorf("where only a rate was fitted to: %+v", some.Traffic)
		}
		none := &Result{}
		none.traffic(&scenarios.Fitted{}, pairs, 100)
		if !none.Unknown || none.Traffic != nil {
			t.Errorf("without a traffic of the fit: %+v", none)
		}
	})
}

// The text begins with what changed, and has a line for each figure with its shift.
func TestTextSaysWhatChanged(t *testing.T) {
	begins := map[[2]bool]string{{true, true}: "the machine and the traffic changed\n",
		{true, false}: "the machine changed: ", {false,
			true}: "the traffic changed; the machine does",
		{false, false}: "no change\n"}
	for changed, words := range begins {
		r := &Result{Requests: 1234, Apart: 1e5, Unknown: changed[0],
			Machine: []Finding{{Figure: "TPOT"}, {Figure: "TTFT", Changed: changed[0], After: 7,
				Since: 3, Shift: 0.125, Tolerance: 0.05, Deviation: 0.02}},
			Traffic: []Finding{{Figure: "rate", Changed: changed[1], After: 9, Since: 1}}}
		var b strings.Builder
		testkit.OK(t, r.WriteText(&b))
		text := b.String()
		for words, is := range map[string]bool{"certain after 350 requests, probably since " +
			"number 101\n": changed[0],
			"certain after 450 requests, probably since number 1\n": changed[1],
			"  TTFT ": true, "+12.5 %  (tolerance 5.0 %, noise of 50 requests 2.0 %)": true,
			"  rate ": true, "does not say to which traffic": changed[0],
			"\n1234 requests seen": true, "  TPOT ": true} {
			if strings.Contains(text, words) != is {
				t.Errorf("%q is said: %v, in\n%s", words, !is, text)
			}
		}
		if !strings.HasPrefix(text, words) || strings.Count(text, "\n  ") != 3 {
			t.Errorf("want %q and three figures:\n%s", words, text)
		}
	}
}

// A curve goes from small to large values up to all of them, each point with the share of values
// that are not larger, in a hundred points at most. A row has the means, and the values at the
// middle, at nine tenths and at the end.
func TestCurvesAndRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		values, twice, sum := make([]float64, n), make([]float64, n), 0.0
		for i := range values {
			values[i] = float64(i + 1)
			twice[i] = 2 * values[i]
			sum += values[i]
		}
		s := cumulative("measured", values)
		if len(s.X) != min(n, 100) || len(s.Y) != len(s.X) || s.X[len(s.X)-1] != float64(n) {
			t.Fatalf("%d values have %d points up to %g", n, len(s.X), s.X[len(s.X)-1])
		}
		for k := range s.X {
			near(t, "share", s.Y[k], 100*s.X[k]/float64(n))
			if k > 0 && s.X[k] <= s.X[k-1] {
				t.Errorf("%g comes after %g", s.X[k], s.X[k-1])
			}
		}
		words := func(v float64) string {
			return fmt.Sprintf("%s / %s (+100.0 %%)", units.FormatDuration(v),
				units.FormatDuration(2*v))
		}
		at := func(share float64) float64 { return values[int(math.Round(share*float64(n-1)))] }
		spread := evidence.Spread{TTFT: rapid.Float64Range(0, 0.3).Draw(t, "spread")}
		got := (&Replay{Spread: spread}).compared("TTFT", values, twice)
		off := spread.Of("TTFT", 0.99)
		low := units.FormatDuration(2 * at(0.99) * math.Exp(off.Bias-off.Within))
		high := units.FormatDuration(2 * at(0.99) * math.Exp(off.Bias+off.Within))
		if want := []string{"TTFT", words(sum / float64(n)), words(at(0.5)), words(at(0.9)),
			words(at(0.99)), low + " to " + high}; !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// The twenty requests that are farthest from their prediction are listed, the farthest first, by
// E2E or else by TTFT. The section has a picture for each latency that is known of both.
func TestTheFarthestAreListed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pairs []fit.Pair
		var far []float64
		both := rapid.SampledFrom([][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 4}, {8, 1}, {3, 2}})
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			p := fit.Pair{TTFT: both.Draw(t, "ttft"), E2E: both.Draw(t, "e2e"), Prompt: 7,
				Output: 9}
			pairs = append(pairs, p)
			of := p.E2E
			if of[0] == 0 {
				of = p.TTFT
			}
			if of[0]*of[1] > 0 {
				far = append(far, math.Abs(math.Log(of[0]/of[1])))
			}
		}
		slices.Sort(far)
		slices.Reverse(far)
		got := worstOf(pairs)
		if len(got) != min(len(far), 20) {
			t.Fatalf("%d are listed of %d", len(got), len(far))
		}
		for i, w := range got {
			ratio := 0.0
			if _, err := fmt.Sscan(w[5], &ratio); err != nil ||
				math.Abs(math.Abs(math.Log(ratio))-far[i]) > 0.02 || w[1] != "7" || w[2] != "9" {
				t.Errorf("number %d is %+v, want a ratio of %.3g", i, w, math.Exp(far[i]))
			}
		}
		known := 0
		for _, q := range quantities() {
			if slices.ContainsFunc(pairs,
				func(p fit.Pair) bool { return q.of(&p)[0]*q.of(&p)[1] > 0 }) {
				known++
			}
		}
		rows, pictures, err := (&Replay{Name: "seen", Pairs: pairs[:1]}).latencies()
		testkit.OK(t, err)
		var b strings.Builder
		testkit.OK(t, WriteReplay(&b, []Replay{{Name: "seen", Pairs: pairs}}))
		if n := strings.Count(b.String(), "\n") - 1; n != known {
			t.Errorf("%d rows for %d latencies:\n%s", n, known, b.String())
		}
		if len(rows) != len(pictures) {
			t.Errorf("%d pictures of %q", len(pictures), rows)
		}
		for _, picture := range pictures {
			if !strings.HasPrefix(picture, "<svg") {
				t.Errorf("a picture begins with %.40q", picture)
			}
		}
	})
}

// Rules ask for what the twin predicts at the traffic of the fit, with twice the error that it had
// on what was held out.
func TestRulesHaveTheTwinsFigures(t *testing.T) {
	server := fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("test.yaml", []byte("model: llama-3.1-8b\nhardware: {accelerator: "+
			"h100-sxm}\nengine: vllm\nworkload: {rate: 8/s, prompt: 800, output: 60, "+
			"requests: 300}"),
			sets...)
	}}
	d := &scenarios.Fitted{Errors: scenarios.Errors{TTFT: 0.05, TPOT: 0.01},
		Traffic: scenarios.Traffic{Rate: 1e-3, Prompt: 799.6, Output: 60.4}}
	text, err := Rules(context.Background(), &server, d)
	testkit.OK(t, err)
	// Requests that come this rarely are served alone.
	alone := observed.Run{Requests: []observed.Request{{Prompt: 800, Output: 60, TTFT: 1, E2E: 1}}}
	pairs, err := server.Compare(context.Background(), d.Factors, &alone)
	testkit.OK(t, err)
	limits := regexp.MustCompile(`/ (\S+) - 1\) > (\S+)\n`).FindAllStringSubmatch(text, -1)
	for i, want := range [][2]float64{{pairs[0].TPOT[1], 0.08}, {pairs[0].TTFT[1], 0.25},
		{799.6, 0.2}, {60.4, 0.2}, {1e-3, 0.2}} {
		value, err := strconv.ParseFloat(limits[i][1], 64)
		if err != nil || math.Abs(value/want[0]-1) > 1e-3 || limits[i][2] != fmt.Sprint(want[1]) {
			t.Errorf("rule %d asks for %v, want %v", i, limits[i][1:], want)
		}
	}
	found, err := Run(context.Background(), Config{Server: server, Fitted: d,
		Runs: []observed.Run{alone}, Apart: 100})
	testkit.OK(t, err)
	for i, want := range []float64{0.1, 0.03} { // TTFT, E2E
		if f := found.Machine[i]; f.Tolerance != want || f.Blocks != 1 {
			t.Errorf("%+v, want a tolerance of %g", f, want)
		}
	}
	d.Traffic.Output = 0
	if _, err := Rules(context.Background(), &server, d); err == nil {
		t.Error("rules without a length of answers are no error")
	}
}
