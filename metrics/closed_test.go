package metrics

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// The mean is exact for sums beyond 64 bits too.
func TestMeanOfHugeSums(t *testing.T) {
	d, err := NewDistribution(0.01)
	testkit.OK(t, err)
	if d.Mean() != 0 || d.Std() != 0 || d.Quantile(0.5) != 0 || d.within(1) != 1 {
		t.Errorf("without spans: %g, %g, %g, %g", d.Mean(), d.Std(), d.Quantile(0.5), d.within(1))
	}
	const span = 1 << 50
	d.AddRepeated(span, 1<<20) // 2^70
	d.AddRepeated(3*span, 1<<20)
	if got := d.Mean(); got != 2*span {
		t.Errorf("mean %g, want %d", got, 2*span)
	}
	if got := d.Std(); math.Abs(got/span-1) > 1e-12 {
		t.Errorf("deviation %g, want %d", got, span)
	}
}

// Whether few or many spans are different, mean, deviation, quantiles and shares are those of all
// spans, sorted, to the accuracy asked for; exactly so if at most 256 are different.
func TestDistributionAgainstAllSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		accuracy := rapid.SampledFrom([]float64{0.001, 0.05}).Draw(t, "accuracy")
		d, err := NewDistribution(accuracy)
		testkit.OK(t, err)
		different := rapid.SampledFrom([]int64{3, 255, 256, 257, 900}).Draw(t, "different")
		scale := rapid.SampledFrom([]int64{1, 1000, 1e9}).Draw(t, "scale")
		from := rapid.Int64Range(0, 5).Draw(t, "from")
		var all []float64
		sum := 0.0
		for k := range different {
			at := (k * 7919) % different // in no order
			times := 1 + at%3
			d.AddRepeated(sim.Time((from+at)*scale), times)
			for range times {
				all = append(all, float64((from+at)*scale))
				sum += float64((from + at) * scale)
			}
		}
		tolerance := accuracy
		if different <= 256 {
			tolerance = 1e-12
		}
		slices.Sort(all)
		n := len(all)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		rank := q * float64(n-1)
		below, above := all[int(rank)], all[min(int(rank)+1, n-1)]
		want := below + (rank-math.Floor(rank))*(above-below)
		if got := d.Quantile(q); math.Abs(got-want) > tolerance*want+1e-9 {
			t.Fatalf("quantile %g of %d spans: %g, want %g", q, different, got, want)
		}
		mean := sum / float64(n)
		if got := d.Mean(); math.Abs(got-mean) > 1e-12*mean || d.Count() != int64(n) {
			t.Fatalf("mean %g of %d, want %g of %d", got, d.Count(), mean, n)
		}
		squares := 0.0
		for _, x := range all {
			squares += (x - mean) * (x - mean)
		}
		deviation := math.Sqrt(squares / float64(n))
		if got := d.Std(); math.Abs(got-deviation) > tolerance*(deviation+mean)+1e-9 {
			t.Fatalf("deviation %g, want %g", got, deviation)
		}
		if different <= 256 {
			kept := 0
			for _, x := range all {
				if x <= below {
					kept++
				}
			}
			if got := d.within(sim.Time(below)); got != float64(kept)/float64(n) {
				t.Fatalf("%g are within %g, want %d of %d", got, below, kept, n)
			}
		}
		none := slices.IndexFunc(all, func(x float64) bool { return x > 0 })
		if got := d.within(0); none >= 0 && got != float64(none)/float64(n) {
			t.Fatalf("%g are 0, want %d of %d", got, none, n)
		}
		if got := d.within(sim.Never); got != 1 {
			t.Fatalf("%g of the spans end", got)
		}
		bins := rapid.IntRange(1, 40).Draw(t, "bins")
		h := d.Histogram(bins)
		inside, top := 0.0, d.Quantile(0.99)
		for _, x := range h.Counts {
			inside += x
		}
		counted := 0.0
		for span, k := range d.each {
			if span <= top {
				counted += k
			}
		}
		if inside != counted || len(h.Counts) > bins || h.High != top/float64(sim.Second) ||
			h.Low != d.Quantile(0)/float64(sim.Second) {
			t.Fatalf("%d bins from %g to %g hold %g spans, want %g", len(h.Counts), h.Low, h.High,
				inside, counted)
		}
	})
}

// The series ends with the moment that was sampled last. Means over time are the integrals over the
// window, and samples do not change them.
func TestSeriesHoldsTheLastMoment(t *testing.T) {
	c, err := New(Config{})
	testkit.OK(t, err)
	for at := range sim.Time(3) {
		for replica := range 2 {
			k := int(at)
			c.Sampled(at, replica, sim.State{Up: replica == 0, Waiting: k, Running: 2 * k,
				Decoding: k, Used: int64(k + replica), Capacity: 10,
				Slots: func() sim.Slots { return sim.Slots{Tokens: 1, Reserved: 2, External: 1} }})
		}
	}
	points := c.Series()
	if len(points) != 3 {
		t.Fatalf("%d points, want 3", len(points))
	}
	for _, p := range points { // few replicas are all counted, from the first moment on
		if p.Slots != (sim.Slots{Tokens: 2, Reserved: 4, External: 2}) {
			t.Errorf("at %d: %+v", p.At, p.Slots)
		}
	}
	last := points[2]
	if last.At != 2 || last.Waiting != 4 || last.Running != 8 || last.Decoding != 4 ||
		last.Up != 1 || last.KVUsage != 5./20 {
		t.Errorf("last point %+v", last)
	}
	s := c.Summary(&sim.Result{End: 8, Load: sim.Load{
		Waiting: sim.Level{Integral: sim.Sum{Low: 4}, Peak: 7},
		Running: sim.Level{Integral: sim.Sum{High: 1 << 8, Low: 12}, Peak: 3},
	}, Replicas: []sim.ReplicaResult{{KVCapacity: 10, KVIntegral: sim.Sum{Low: 14}},
		{KVCapacity: 4, KVPeak: 3, KVIntegral: sim.Sum{Low: 7}}}})
	if s.PeakKVUsage != 3./4 || s.KVUsage != 21./8/14 ||
		s.Occupancy != (Occupancy{1<<69 + 1.5, 0.5, 3, 7}) ||
		s.KVShares != (KVShares{Tokens: 0.25, Reserved: 0.5, External: 0.25}) {
		t.Errorf("%+v", s)
	}
}

// Of the missed limits that binds of which most is used, or of all if none is missed, and of equal
// ones the first. A request that takes exactly a limit keeps it.
func TestLimitsBindAndAreKept(t *testing.T) {
	l := func(measured float64, met bool) LimitResult {
		return LimitResult{Measured: measured, Limit: 10, Met: met}
	}
	for want, limits := range map[int][]LimitResult{
		-1: {}, 0: {l(5, true), l(5, true)}, 1: {l(5, true), l(6, true), l(6, true)},
		2: {l(30, true), l(11, false), l(12, false)}, 3: {l(1, true), l(2, true), l(3, true),
			l(0, false)},
	} {
		if got := binding(limits); got != want {
			t.Errorf("%+v: %d binds, want %d", limits, got, want)
		}
	}
	q := finished(0, 0, 10, 19, 99, 100, 9) // TTFT 20, TPOT 10, E2E 100
	for _, c := range []struct {
		slo  SLO
		kept bool
	}{
		{SLO{}, true}, {SLO{TTFT: q.TTFT(), TPOT: q.TPOT(), E2E: q.E2E()}, true},
		{SLO{TTFT: q.TTFT() - 1}, false}, {SLO{TPOT: q.TPOT() - 1}, false},
		{SLO{E2E: q.E2E() - 1}, false},
	} {
		if c.slo.Kept(q, q.E2E()) != c.kept {
			t.Errorf("%+v: kept %v", c.slo, !c.kept)
		}
	}
}

// An answer of two tokens has one gap, and one of a token, or one that comes at once, has none.
func TestShortAnswersHaveNoTimePerToken(t *testing.T) {
	for _, c := range []struct {
		last   float64
		output int
		want   float64
	}{{99, 2, 80}, {99, 1, 0}, {19, 5, 0}, {99, 3, 40}} {
		m, err := New(Config{})
		testkit.OK(t, err)
		m.Finished(finished(0, 0, 10, 19, c.last, 100, c.output))
		got := m.Summary(&sim.Result{Replicas: make([]sim.ReplicaResult, 1)})
		if math.Abs(got.MeanTPOT-c.want) > 1e-9 || got.Phases == nil {
			t.Errorf("%d tokens: %g ms a token, want %g; phases %v", c.output, got.MeanTPOT,
				c.want, got.Phases)
		}
	}
}

// A quantile among longer spans is that of all spans together, or infinite where it falls among the
// longer ones.
func TestQuantileAmongLongerSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Int64Range(1, 1000), 1, 40).Draw(t, "spans")
		longer := rapid.Int64Range(0, 20).Draw(t, "longer")
		some, all := newTestDistribution(t, 0.01), newTestDistribution(t, 0.01)
		for _, s := range spans {
			some.Add(sim.Time(s))
			all.Add(sim.Time(s))
		}
		if longer > 0 {
			all.AddRepeated(1e15, longer)
		}
		q := float64(rapid.IntRange(0, 20).Draw(t, "twentieths")) / 20
		got, want := some.quantileAmong(q, longer), all.Quantile(q)
		if want > 1000 {
			want = math.Inf(1)
		}
		if got != want && math.Abs(got-want) > 1e-9*want {
			t.Fatalf("quantile %g of %v and %d longer: %g, want %g", q, spans, longer, got, want)
		}
	})
}
