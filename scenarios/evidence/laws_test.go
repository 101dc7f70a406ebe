package evidence

import (
	"math"
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
		for _, freedom := range []float64{4, 5} {
			want := distuv.StudentsT{Sigma: 1, Nu: freedom}.CDF(x)
			if got := below(x, freedom); !likely(got, want) {
				t.Errorf("%g is below %g with %g degrees, want %g", got, x, freedom, want)
			}
		}
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

// A sentence counts rows and accelerators, and writes shares with two digits.
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
		model, accelerator := false, false
		for _, other := range servers() {
			if !sameServer(key, other) {
				model = model || other.Model == key.Model
				accelerator = accelerator || other.Accelerator == key.Accelerator &&
					other.Engine == key.Engine && understood(other)
			}
		}
		want := map[bool]Grade{true: Relative, false: Distant}[model && accelerator]
		if d, words := distance(key, *e.Nearest); d != best || e.Strangeness() != kin ||
			e.Grade != want || !slices.Equal(words, e.Differs) || len(e.Errors) == 0 ||
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

// A server with one phase is at best distant, and what lies below that stays as it is.
func TestApart(t *testing.T) {
	for _, g := range append(Grades(), Here) {
		e := Evidence{Grade: g, Server: plain, Spread: Spread{TPOT: 9}}
		got := e.Apart(false)
		want, changed := g, g != Kernels && g != Formula
		if changed {
			want = Distant
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
	if e.Grade != Here || e.Spread != (Spread{TPOT: 0.05, TTFT: 0.02, Rate: 0.05}) ||
		e.Server != plain {
		t.Errorf("%+v", e)
	}
	const want = "Fitted to measurements of this deployment of 2026-11-23: of the part that was " +
		"held out, TPOT was off by 5% and TTFT by 0.1%. Measure again by 2027-01-02."
	if got := e.Sentence(); got != want {
		t.Errorf("%q", got)
	}
	e = Fitted(plain, Own{TPOT: 0.001, TTFT: 0.3})
	if words := e.Sentence(); e.Spread != (Spread{TPOT: 0.02, TTFT: 0.3, Rate: 0.02}) ||
		strings.Contains(words, "deployment of") || strings.Contains(words, "again") {
		t.Errorf("%+v, %q", e.Spread, words)
	}
}
