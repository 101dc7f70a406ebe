package evidence

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// plain is a server of names that no catalogue has, so that only its key says what it is.
var plain = deployment.Key{Engine: "e-1", Accelerator: "a", Model: "m", Weights: hardware.BF16,
	KV: hardware.BF16, Tensor: 1, Pipeline: 1, Expert: 1, Data: 1}

// likely compares numbers that are computed in other orders.
func likely(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// Five points of a server have its bias as their mean, and lie symmetrically; the outer ones are
// Within away. What four of five do not exceed is Within without a bias; under a bias beyond all
// points, it is the fourth of them.
func TestPointsOfAServer(t *testing.T) {
	for _, o := range []ErrorRange{{0, 1}, {0.3, 0.5}, {-2, 0.1}, {5, Width80}, {-5, Width80}} {
		p, sum := o.Points(), 0.0
		for i, x := range p {
			sum += x
			if !likely(x+p[4-i], 2*o.Bias) {
				t.Errorf("%+v: %v are not symmetric", o, p)
			}
		}
		if !likely(sum, 5*o.Bias) || !likely(p[4]-o.Bias, o.Within) ||
			!likely(p[3]-o.Bias, o.Within*0.5244/1.2816) {
			t.Errorf("%+v: %v", o, p)
		}
	}
	for o, want := range map[ErrorRange]float64{{0, 2}: 2, {5, Width80}: 5.5244,
		{-5, Width80}: 5.5244,
		{1, 0}:        1, {0, 0}: 0} {
		if got := o.Reach(); !likely(got, want) {
			t.Errorf("%+v reaches %g, want %g", o, got, want)
		}
	}
}

// The distance of servers is the sum over what differs, is the same there and back, and weighs by
// its exponential.
func TestDistancesAddUp(t *testing.T) {
	base := traitsOf(plain)
	for i, c := range []struct {
		change func(*serverTraits)
		want   float64
	}{
		{func(k *serverTraits) {}, 0},
		{func(k *serverTraits) { k.key.Engine = "e-2" }, 1.4},
		{func(k *serverTraits) { k.key.Engine = "f-1" }, 4 + 1.4},
		{func(k *serverTraits) { k.vendor = "v" }, 3},
		{func(k *serverTraits) { k.generation = "g" }, 1.4},
		{func(k *serverTraits) { k.key.Accelerator = "b" }, 0.8},
		{func(k *serverTraits) { k.experts = true }, 3},
		{func(k *serverTraits) { k.family = "f" }, 1.4},
		{func(k *serverTraits) { k.key.Model = "n" }, 0.6},
		{func(k *serverTraits) { k.bits = 4 }, 1.4},
		{func(k *serverTraits) { k.key.Weights = "x" }, 0.6},
		{func(k *serverTraits) { k.ranks = true }, 2},
		{func(k *serverTraits) { k.key.Tensor = 8 }, 0},
		{func(k *serverTraits) { k.key.Model, k.bits, k.ranks = "n", 8, true }, 0.6 + 1.4 + 2},
	} {
		other := base
		c.change(&other)
		d, back := base.distanceTo(&other), other.distanceTo(&base)
		if !likely(d, c.want) || d != back {
			t.Errorf("change %d: %g there and %g back, want %g", i, d, back, c.want)
		}
		if w := base.weightOf(&other); math.Abs(w-math.Exp(-c.want)) > 1e-9 {
			t.Errorf("change %d: weight %g at %g", i, w, c.want)
		}
	}
}

// What servers have in common follows from their formats, ranks and the catalogues.
func TestTraits(t *testing.T) {
	for format, bits := range map[hardware.DType]int{"": 16, hardware.BF16: 16, hardware.FP16: 16,
		hardware.FP8: 8, hardware.FP8Block: 8, hardware.INT8: 8, hardware.FP4: 4,
		hardware.MXFP4: 4, hardware.INT4: 4, hardware.Q4_0: 4, hardware.Q4KM: 4} {
		key := plain
		key.Weights = format
		if k := traitsOf(key); k.bits != bits || k.vendor+k.generation+k.family != "" || k.experts {
			t.Errorf("%s: %+v", format, k)
		}
	}
	for data, want := range []bool{false, false, true, true} {
		key := plain
		key.Data = data
		if traitsOf(key).ranks != want {
			t.Errorf("%d ranks: %t", data, !want)
		}
	}
	for _, a := range shipped().hardware.Accelerators {
		key := plain
		key.Accelerator, key.Model = a.Name, "deepseek-v3"
		k := traitsOf(key)
		if k.generation != a.Generation || !k.experts ||
			k.family != "latent attention and experts" || k.vendor != vendorOf(a.Generation) {
			t.Errorf("%+v", k)
		}
		if nvidia := strings.HasSuffix(a.Name, "-sxm"); nvidia && k.vendor != "nvidia" {
			t.Errorf("%s is made by %q", a.Name, k.vendor)
		}
	}
	key := plain
	key.Model = "llama-3.1-8b"
	if k := traitsOf(key); k.experts || k.family != "softmax attention" {
		t.Errorf("%+v", k)
	}
}

// some returns errors of servers that differ from plain in their models, some also in formats and
// ranks.
func some(n int, seed uint64) []Error {
	r := rand.New(rand.NewPCG(seed, 1))
	var list []Error
	for i := range n {
		e := Error{Key: plain, Quantity: "TPOT",
			Range: ErrorRange{r.NormFloat64() * 0.3, r.Float64() * 0.5}}
		e.Model = "n" + string(rune('a'+i))
		if r.IntN(2) == 0 {
			e.Weights = hardware.FP8
		}
		e.Data = 1 + r.IntN(2)
		list = append(list, e)
	}
	return list
}

// The bias around a server is the weighted median of its neighbours' points, drawn to 0 as by two
// servers without any, and four fifths of the weight lie within the distance from it: no less, and
// less without the outermost. The order of the neighbours makes no difference, and servers of the
// same engine, accelerator and model do not count.
func TestAroundHoldsFourFifthsOfTheWeight(t *testing.T) {
	own := traitsOf(plain)
	for seed := range uint64(60) {
		list := some(1+int(seed)%9, seed)
		got := FromNeighbours(plain, NeighboursOf(list)["TPOT"])
		total, below, upTo, inner, held := 0.0, 0.0, 0.0, 0.0, 0.0
		for _, e := range list {
			k := traitsOf(e.Key)
			total += own.weightOf(&k)
		}
		median := got.Bias * (total + 2) / total
		for _, e := range list {
			k := traitsOf(e.Key)
			for _, x := range e.Range.Points() {
				w := own.weightOf(&k) / 5
				if x < median-1e-9 {
					below += w
				}
				if x < median+1e-9 {
					upTo += w
				}
				d := math.Abs(x - got.Bias)
				if d < got.Within-1e-12 {
					inner += w
				}
				if d <= got.Within+1e-12 {
					held += w
				}
			}
		}
		const slack = 1e-6
		if below > total/2+slack || upTo < total/2-slack {
			t.Errorf("%d: the median %g has %g of %g below and %g up to it", seed, median, below,
				total, upTo)
		}
		if inner >= 0.8*total-slack*total || held < 0.8*total-slack {
			t.Errorf("%d: %+v holds %g of %g, %g further in", seed, got, held, total, inner)
		}
		slices.Reverse(list)
		self := Error{Key: plain, Quantity: "TPOT", Range: ErrorRange{9, 9}}
		self.Tensor, self.Weights = 4, hardware.FP8
		list = append(list, self,
			Error{Key: list[0].Key, Quantity: "TTFT", Range: ErrorRange{8, 8}})
		again := FromNeighbours(plain, NeighboursOf(list)["TPOT"])
		if !likely(again.Bias, got.Bias) || !likely(again.Within, got.Within) {
			t.Errorf("%d: %+v, in another order and with itself %+v", seed, got, again)
		}
	}
	// One neighbour at a distance of 0.6 whose rows all have one deviation.
	one := Error{Key: plain, Quantity: "TPOT", Range: ErrorRange{1, 0}}
	one.Model = "n"
	w := math.Exp(-0.6)
	got := FromNeighbours(plain, NeighboursOf([]Error{one})["TPOT"])
	if bias := w / (w + 2); math.Abs(got.Bias-bias) > 1e-8 || math.Abs(got.Within-(1-bias)) > 1e-8 {
		t.Errorf("%+v, want a bias of %g", got, bias)
	}
	exact := NeighboursOf([]Error{{Key: plain, Quantity: "TPOT"}})["TPOT"]
	if got := FromNeighbours(plain, exact); got != (ErrorRange{}) {
		t.Errorf("%+v around nothing", got)
	}
	if got := FromNeighbours(plain, Neighbours{}); got != (ErrorRange{}) {
		t.Errorf("%+v around no server", got)
	}
}

// The distribution of errors holds 80 of 100 values within Width80 deviations, has heavier tails
// than a normal one, and quantiles are the inverse of its distribution function. Two errors that
// are independent but for their scale add up to one of the same distribution: half of the cases
// are below any sum of typical ones, and over all of the one error, the other has its own law.
func TestErrorsHaveHeavyTails(t *testing.T) {
	if got := Within(Width80) - Within(-Width80); math.Abs(got-0.8) > 1e-3 {
		t.Errorf("%g within the width of 80 %%", got)
	}
	for p := 0.005; p < 1; p += 0.005 {
		if got := Within(Deviations(p)); math.Abs(got-p) > 1e-9 {
			t.Errorf("%g is below the quantile of %g", got, p)
		}
		normal := distuv.UnitNormal.Quantile(p)
		if p > 0.9001 && Deviations(p) < normal || p < 0.0999 && Deviations(p) > normal {
			t.Errorf("at %g the tail of %g is lighter than a normal one's, %g", p, Deviations(p),
				normal)
		}
	}
	for _, x := range []float64{-3, -1, 0, 0.5, 2} {
		own, sum := 0.0, 0.0
		const n = 4000
		for k := range n {
			z := Deviations((float64(k) + 0.5) / n)
			own += WithinGiven(x, z) / n
			sum += WithinGiven((x-float64(0.6*z))/0.8, z) / n // 0.6² + 0.8² = 1
		}
		if math.Abs(own-Within(x)) > 1e-3 || math.Abs(sum-Within(x)) > 1e-3 {
			t.Errorf("%g: %g alone and %g in a sum, want %g", x, own, sum, Within(x))
		}
	}
	for x, want := range map[float64]float64{math.Inf(1): 1, math.Inf(-1): 0} {
		if Within(x) != want || WithinGiven(x, 1) != want {
			t.Errorf("%g: %g", x, Within(x))
		}
	}
}

// An error has the median of the fit without its server, by server and by quantity.
func TestErrorsHaveTheirOwnMediansLeftOut(t *testing.T) {
	for i, want := range LeftOut() {
		if i%20 > 1 {
			continue
		}
		if got := leftOutOf(want.Key, want.Quantity); got == nil || got.Key != want.Key ||
			got.Quantity != want.Quantity || got.Median != want.Median {
			t.Errorf("%+v, want %+v", got, want)
		}
		for _, e := range errorsOf(want.Key) {
			if e.Key == want.Key && e.Quantity == want.Quantity && e.LeftOut != want.Median {
				t.Errorf("%+v has %g left out, want %g", e.Key, e.LeftOut, want.Median)
			}
		}
	}
	for _, key := range servers() {
		list := errorsOf(key)
		for _, e := range list {
			if e.Key != key {
				t.Errorf("%+v has an error of %+v", key, e.Key)
			}
		}
		if len(list) == 0 || len(list) > 2 {
			t.Errorf("%+v has %d errors", key, len(list))
		}
	}
	if e := leftOutOf(plain, "TPOT"); e != nil {
		t.Errorf("%+v of a server that nobody measured", e)
	}
}

// What was not measured is said in a sentence of its own for each grade.
func TestSentencesOfLowGrades(t *testing.T) {
	for g, want := range map[Grade]string{
		Kernels: "No server like this was measured, only the kernels that it runs. Known to be " +
			"off: x; y.",
		Formula: "Nothing like this was measured: the figures rest on formulas alone. Known to " +
			"be off: x; y.",
	} {
		e := Evidence{Grade: g, Deviations: []string{"x", "y"}}
		if got := e.Sentence(); got != want {
			t.Errorf("%s: %q", g, got)
		}
	}
}

// A range holds what is within it, both ends included, and as much less as it is asked narrower;
// a lower grade adds an independent error to it, and a quantity its factor, neither of them a bias.
func TestRanges(t *testing.T) {
	o := ErrorRange{0.5, 0.25}
	for x, want := range map[float64]bool{0.5: true, 0.25: true, 0.75: true, 0.24: false,
		0.76: false} {
		if o.Holds(x, Width80) != want {
			t.Errorf("%+v holds %g: %t", o, x, !want)
		}
	}
	if !o.Holds(0.62, Width80/2) || o.Holds(0.63, Width80/2) || !o.Holds(0.99, 2*Width80) {
		t.Errorf("%+v does not scale", o)
	}
	for g, more := range map[Grade]float64{Measured: 0, Relative: 0, Kernels: 0.15, Formula: 0.3} {
		if got := o.Below(g); got.Bias != 0.5 || !likely(got.Within, math.Hypot(0.25, more)) {
			t.Errorf("%s: %+v", g, got)
		}
	}
	for _, quantity := range []string{"TPOT", "TTFT"} {
		f := factors()[quantity]
		if got := o.Widened(quantity); f < 1 || got.Bias != 0.5 || !likely(got.Within, 0.25*f) {
			t.Errorf("%s: %+v by %g", quantity, got, f)
		}
	}
	s := Spread{TPOT: 0.1, TPOTBias: 0.3, TTFT: 0.2, TTFTBias: -0.4}
	low, high := s.Range()
	first, last := s.RangeTTFT()
	if !likely(low, math.Exp(0.3-0.12816)) || !likely(high, math.Exp(0.3+0.12816)) ||
		!likely(first, math.Exp(-0.4-0.25632)) || !likely(last, math.Exp(-0.4+0.25632)) {
		t.Errorf("%g to %g, %g to %g", low, high, first, last)
	}
}

// Of a measured server, each quantity has its own error, and one that was not measured is a
// relative's. A spread is a range in standard deviations.
func TestWhatIsOff(t *testing.T) {
	list := []Error{{Quantity: "TTFT", Range: ErrorRange{0.2, 0.6408}}}
	if got := errorRange(Measured, plain, list, "TTFT"); got != list[0].Range {
		t.Errorf("%+v", got)
	}
	near := Unmeasured(plain, "TPOT")
	for g, want := range map[Grade]ErrorRange{Measured: near, Relative: near,
		Kernels: near.Below(Kernels),
		Formula: near.Below(Formula)} {
		if got := errorRange(g, plain, list, "TPOT"); got != want {
			t.Errorf("%s: %+v, want %+v", g, got, want)
		}
	}
	if got := errorRange(Relative, plain, list, "TTFT"); got != Unmeasured(plain, "TTFT") {
		t.Errorf("%+v of a relative", got)
	}
	s := spread(Measured, plain, list)
	if !likely(s.TTFT, 0.5) || s.TTFTBias != 0.2 || !likely(s.TPOT*Width80, near.Within) ||
		s.TPOTBias != near.Bias {
		t.Errorf("%+v", s)
	}
}

// The least range of a measured server joins what four in five rows were off by and the noise; few
// rows, or no fit without it, leave it at least as wide as that of a server nobody measured.
func TestLeastRanges(t *testing.T) {
	wide := Unmeasured(plain, "TPOT").Within
	for rows, few := range map[int]bool{1: true, 3: true, 4: false, 99: false} {
		for _, within := range []float64{0, 0.01, 5} {
			e := Error{Rows: rows, Range: ErrorRange{0, within}}
			want := math.Hypot(within, 0.02*1.2816)
			if few {
				want = max(want, wide)
			}
			if got := leastWithin(plain, "TPOT", &e); !likely(got, want) {
				t.Errorf("%d rows off by %g: %g, want %g", rows, within, got, want)
			}
		}
	}
	if got := leastWithin(plain, "TPOT", nil); !likely(got, max(wide, 0.02*1.2816)) {
		t.Errorf("%g without a fit", got)
	}
}

// Formats of 16 bits count as one, in weights and in the KV cache, and others as they are.
func TestSixteenBits(t *testing.T) {
	for format, want := range map[hardware.DType]hardware.DType{hardware.FP16: hardware.BF16,
		hardware.BF16: hardware.BF16, hardware.FP8: hardware.FP8} {
		key := plain
		key.Weights, key.KV = format, hardware.INT8
		if got := sixteen(key); got.Weights != want || got.KV != hardware.INT8 {
			t.Errorf("%s: %+v", format, got)
		}
		key.Weights, key.KV = hardware.INT8, format
		if got := sixteen(key); got.KV != want || got.Weights != hardware.INT8 {
			t.Errorf("%s: %+v", format, got)
		}
	}
	known := measured()[0].Key
	known.Weights, known.KV = hardware.BF16, hardware.BF16
	if len(errorsOf(known)) == 0 {
		t.Errorf("%+v has no errors though the other format of 16 bits has", known)
	}
}

// A sentence counts rows and accelerators, writes shares with two digits, and names a bias beyond
// 15 % to either side.
func TestSentencesCount(t *testing.T) {
	e := Error{Key: plain, Quantity: "TPOT", Rows: 1, LeftOut: 0.0123}
	one := held([]Error{e}, "")
	two := e
	two.Quantity, two.Rows, two.LeftOut = "TTFT", 2, 0.257
	two.Tensor, two.Pipeline, two.Data = 2, 3, 5
	more := held([]Error{two, e}, "")
	for words, want := range map[string]string{
		one: "with one measurement of m (bf16) under e-1 on a, the predicted TPOT is off by 1.2% (",
		more: "with 2 measurements of m (bf16) under e-1 on 30 × a, the predicted TTFT is off by " +
			"26% and the TPOT is off by 1.2% (",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("%q lacks %q", words, want)
		}
	}
	for times, want := range map[float64]string{1.14: "", 1.16: "1.2", 2: "2", 0.88: "",
		0.86: "0.86", 1: ""} {
		e.Range.Bias = math.Log(times)
		words, named := strings.CutPrefix(held([]Error{e}, ""), one)
		if !named || want == "" && words != "" || want != "" &&
			words != " Measured TPOTs are "+want+" times the predicted ones, typically." {
			t.Errorf("%g times: %q", times, words)
		}
	}
	for share, want := range map[float64]string{0.1: "10", 0.099: "9.9", 0.5: "50",
		0.0049: "0.49"} {
		if got := percent(share); got != want {
			t.Errorf("%g is %s%%, want %s", share, got, want)
		}
	}
}

// Versions are each named once, from the first to the last; a version without a patch is any of
// its patches.
func TestVersionsInWords(t *testing.T) {
	list := []Error{{Versions: versions{"0.9", "0.10"}}, {Versions: versions{"0.10", "0.8"}}}
	if got := versionsOf(list); !slices.Equal(got, []string{"0.10", "0.8", "0.9"}) {
		t.Errorf("%v", got)
	}
	for _, c := range []struct{ list, version, words string }{
		{"", "1", ""}, {"0.8", "", " 0.8"}, {"0.8", "0.8", " 0.8"},
		{"0.8", "0.9", " 0.8 (yours is 0.9)"}, {"0.8", "0.81", " 0.8 (yours is 0.81)"},
		{"0.8", "0.8.1", " 0.8"}, {"0.8.1", "0.8", " 0.8.1"}, {"0.8 0.8.1", "", " 0.8"},
		{"0.8 0.81", "", " 0.8–0.81"}, {"0.7 0.8 0.9", "0.8", " 0.7–0.9"},
	} {
		if got := under(strings.Fields(c.list), c.version); got != c.words {
			t.Errorf("%s for %s: %q, want %q", c.list, c.version, got, c.words)
		}
	}
}

// The distance to a measured server is the sum of what differs, each named; other engines and other
// methods of speculation are out of reach.
func TestDistancesInWords(t *testing.T) {
	for i, c := range []struct {
		change func(*deployment.Key)
		d      float64
		words  string
	}{
		{func(k *deployment.Key) { k.Model = "n" }, 1, "model n"},
		{func(k *deployment.Key) { k.Model = "llama-3.1-8b" }, 2.5,
			"model llama-3.1-8b, layers with softmax attention"},
		{func(k *deployment.Key) { k.Weights = "x" }, 1.5, "weights x"},
		{func(k *deployment.Key) { k.Weights, k.KV = hardware.FP16, hardware.FP16 }, 0, ""},
		{func(k *deployment.Key) { k.KV = "x" }, 0.5, "KV cache x"},
		{func(k *deployment.Key) { k.Tensor = 2 }, 0.5, "tensor parallelism 2"},
		{func(k *deployment.Key) { k.Pipeline = 2 }, 1, "pipeline parallelism 2"},
		{func(k *deployment.Key) { k.Data = 2 }, 1, "data parallelism 2"},
		{func(k *deployment.Key) { k.Batching, k.Memory = "x", "y" }, 2, "batching x, memory y"},
		{func(k *deployment.Key) { k.Engine = "e-2" }, math.Inf(1), ""},
		{func(k *deployment.Key) { k.Speculation = "x" }, math.Inf(1), ""},
		{func(k *deployment.Key) { k.Accelerator = "b" }, math.Inf(1), ""},
	} {
		other := plain
		c.change(&other)
		if d, words := distance(plain, other); d != c.d || strings.Join(words, ", ") != c.words {
			t.Errorf("change %d: %g, %q", i, d, words)
		}
	}
	a, b := plain, plain
	a.Accelerator, b.Accelerator = "h100-sxm", "h200-sxm"
	if d, words := distance(a, b); d != 1.5 ||
		!slices.Equal(words, []string{"accelerator h200-sxm"}) {
		t.Errorf("%g, %v between accelerators of one generation", d, words)
	}
	if sameGeneration("h100-sxm", "a100-80gb-sxm") || sameGeneration("h100-sxm", "a") ||
		sameGeneration("a", "h100-sxm") || !sameGeneration("a", "a") {
		t.Error("unlike accelerators are of one generation")
	}
}

// The nearest measured server is the one with the most similar layers, and of them the least far;
// nobody nearer is passed over, and nobody farther than a relative may be is taken.
func TestTheNearestIsNearest(t *testing.T) {
	for i, key := range servers() {
		if i%5 != 0 {
			continue
		}
		e := Without(key)
		best, kin := math.Inf(1), math.MaxInt
		for _, other := range servers() {
			d, _ := distance(key, other)
			if d > 4 || sameServer(key, other) {
				continue
			}
			if n := layerDifferences(key.Model, other.Model); n < kin || n == kin && d < best {
				best, kin = d, n
			}
		}
		if e.Nearest == nil {
			if !math.IsInf(best, 1) || e.Strangeness() != 0 || len(e.Errors) != 0 ||
				(e.Grade == Kernels) != kernelsMeasured(key) {
				t.Errorf("%+v has no relative, one is at %g: %s", key, best, e.Grade)
			}
			continue
		}
		if d, words := distance(key, *e.Nearest); d != best || e.Strangeness() != kin ||
			e.Grade != Relative || !slices.Equal(words, e.Differs) || len(e.Errors) == 0 ||
			e.Errors[0].Key != *e.Nearest && sixteen(e.Errors[0].Key) != sixteen(*e.Nearest) {
			t.Errorf("%+v: %+v at %g, one is at %g", key, e.Nearest, d, best)
		}
	}
	far := plain
	far.Accelerator = "h100-sxm"
	for _, k := range hardware.AllKernels() {
		far.Engine, far.Accelerator = k.Engine, k.Accelerator
		if !kernelsMeasured(far) {
			t.Errorf("no kernels of %s on %s", k.Engine, k.Accelerator)
		}
		far.Accelerator = "a"
		if kernelsMeasured(far) {
			t.Errorf("kernels of %s on an accelerator that nobody has", k.Engine)
		}
	}
	far.Engine = "vllm-v1"
	if engineMeasured("e-1") || !engineMeasured(servers()[0].Engine) {
		t.Error("engines that were measured are mixed up")
	}
}

// The kind of layers follows from the mixers and the experts; two models differ by one for each of
// the two.
func TestKindsOfLayers(t *testing.T) {
	for want, m := range map[string][]models.Mixer{
		"softmax attention": {&models.Softmax{}}, "latent attention": {&models.MLA{}},
		"sparse attention":   {&models.MLA{Indexer: &models.Indexer{}}},
		"linear attention":   {&models.Softmax{}, &models.Recurrent{}},
		"sparse attention ":  {&models.Compressed{}},
		"linear attention ":  {&models.ParallelMixers{}},
		"sparse attention  ": {&models.Softmax{Indexer: &models.Indexer{}}},
	} {
		var a models.Architecture
		for _, mixer := range m {
			a.Groups = append(a.Groups, models.Group{Mixer: mixer})
		}
		want = strings.TrimSpace(want)
		if got := familyOf(&a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		a.Groups[0].MLP = &models.MoE{}
		if got := familyOf(&a); got != want+" and experts" {
			t.Errorf("%q, want %q and experts", got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"llama-3.1-8b", "llama-2-7b", 0}, {"llama-3.1-8b", "mixtral-8x7b", 1},
		{"llama-3.1-8b", "deepseek-v3", 2}, {"deepseek-v3", "mixtral-8x7b", 1},
		{"nobody's", "llama-3.1-8b", 1}, {"nobody's", "nobody's", 0},
	} {
		there, back := layerDifferences(c.a, c.b), layerDifferences(c.b, c.a)
		if there != c.want || back != c.want {
			t.Errorf("%s and %s differ by %d and %d, want %d", c.a, c.b, there, back, c.want)
		}
	}
}

// Known deviations are told where they apply: beyond a node, over ranks within one, of blocks.
func TestKnownDeviations(t *testing.T) {
	measuredEngine := servers()[0].Engine
	const nodes, ranks = "exchanges of one layer between nodes",
		"experts spread over data-parallel ranks"
	for _, c := range []struct {
		accelerator  string
		tensor, data int
		want         string
	}{
		{"h100-sxm", 8, 1, ""}, {"h100-sxm", 16, 1, nodes}, {"h100-sxm", 4, 2, ranks},
		{"h100-sxm", 1, 9, nodes}, {"h100-sxm", 0, 0, ""}, {"h100-sxm", 1, 8, ranks},
		{"a", 8, 1, ""}, {"a", 9, 1, nodes}, {"a", 1, 1, ""}, {"h100-sxm", 0, 9, nodes},
		{"h100-sxm", 9, 0, nodes},
	} {
		key := plain
		key.Engine, key.Accelerator = measuredEngine, c.accelerator
		key.Tensor, key.Data = c.tensor, c.data
		if got := strings.Join(deviations(key), "; "); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	key := plain
	key.Engine, key.Weights = measuredEngine, hardware.FP8Block
	if list := deviations(key); len(list) != 1 || !strings.Contains(list[0], "each block") {
		t.Errorf("%q", list)
	}
	key = plain
	e := Of(key, true)
	if !strings.Contains(e.Sentence(),
		" Known to be off: the engine preset e-1, under which nothing") {
		t.Errorf("%q", e.Sentence())
	}
}

// A system is known no better than the server of which least is known, in any order.
func TestWeakest(t *testing.T) {
	all := Grades()
	for i, a := range all {
		for j, b := range all {
			want := all[max(i, j)]
			if got := Weakest([]Evidence{{Grade: a}, {Grade: b}}); got.Grade != want {
				t.Errorf("%s and %s: %s", a, b, got.Grade)
			}
		}
		if got := Weakest([]Evidence{{Grade: Here}, {Grade: a}}); got.Grade != a {
			t.Errorf("%s of a deployment's own and %s", got.Grade, a)
		}
	}
}

// A server with one phase is at best a relative, and what lies below that stays as it is.
func TestApart(t *testing.T) {
	for _, g := range append(Grades(), Here) {
		e := Evidence{Grade: g, Server: plain, Spread: Spread{TPOT: 9}}
		got := e.Apart()
		want, changed := g, g != Kernels && g != Formula
		if changed {
			want = Relative
		}
		if got.Grade != want || (len(got.Differs) == 1) != changed ||
			(got.Spread.TPOT == 9) == changed || len(e.Differs) != 0 {
			t.Errorf("%s becomes %+v", g, got)
		}
	}
}

// Errors of a deployment's own measurements count, but never below the noise of repeats; the
// sentence tells what is known of them.
func TestOwnMeasurements(t *testing.T) {
	e := Fitted(plain, Own{TPOT: 0.05, TTFT: 0.001, Measured: "2026-11-23", Expires: "2027-01-02"})
	if e.Grade != Here || e.Spread != (Spread{TPOT: 0.05, TTFT: 0.02}) || e.Server != plain {
		t.Errorf("%+v", e)
	}
	const want = "Fitted to measurements of this deployment of 2026-11-23: of the part that was " +
		"held out, TPOT was off by 5% and TTFT by 0.1%. Measure again by 2027-01-02."
	if got := e.Sentence(); got != want {
		t.Errorf("%q", got)
	}
	e = Fitted(plain, Own{TPOT: 0.001, TTFT: 0.3})
	if words := e.Sentence(); e.Spread != (Spread{TPOT: 0.02, TTFT: 0.3}) ||
		strings.Contains(words, "deployment of") || strings.Contains(words, "again") {
		t.Errorf("%+v, %q", e.Spread, words)
	}
}
