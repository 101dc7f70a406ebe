package sim

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Rates are max-min fair: no wire carries more than it can, and each transfer passes a full wire on
// which none has more. Where all share one wire, and each has one of its own besides, they are the
// closed form: the least of its own and a level that all others have.
func TestRatesAreMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := flows{wires: rapid.SliceOfN(rapid.Float64Range(1, 1e12), 1, 8).Draw(t, "wires")}
		numbers := make([]int, len(f.wires))
		for i := range numbers {
			numbers[i] = i
		}
		for range rapid.IntRange(1, 12).Draw(t, "transfers") {
			order := rapid.Permutation(numbers).Draw(t, "order")
			n := rapid.IntRange(1, len(f.wires)).Draw(t, "passes")
			f.list = append(f.list, &flow{wires: order[:n], left: 1e9})
		}
		f.share()
		load, most := make([]float64, len(f.wires)), make([]float64, len(f.wires))
		for _, w := range f.list {
			for _, wire := range w.wires {
				load[wire] += w.rate
				most[wire] = max(most[wire], w.rate)
			}
		}
		for _, w := range f.list {
			if !slices.ContainsFunc(w.wires, func(i int) bool {
				return load[i] > f.wires[i]*(1-1e-9) && w.rate > most[i]*(1-1e-9)
			}) {
				t.Fatalf("a transfer over %v of %v has %g, and could have more", w.wires, f.wires,
					w.rate)
			}
		}
		for i := range load {
			if load[i] > f.wires[i]*(1+1e-9) {
				t.Fatalf("wire %d carries %g of %g", i, load[i], f.wires[i])
			}
		}
	})
}

// Over one shared wire, in 1,000 random cases, each transfer has its own bandwidth or an equal part
// of what slower ones leave.
func TestRatesEqualClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			ratesEqualClosedForm(t)
		}
	})
}

func ratesEqualClosedForm(t *rapid.T) {
	own := rapid.SliceOfN(rapid.Float64Range(1, 1e11), 1, 20).Draw(t, "own")
	shared := rapid.Float64Range(1, 1e12).Draw(t, "shared")
	f := flows{wires: append([]float64{shared}, own...)}
	for i := range own {
		f.list = append(f.list, &flow{wires: []int{0, i + 1}, left: 1})
	}
	f.share()
	sorted := slices.Sorted(slices.Values(own))
	level, left := math.Inf(1), shared
	for i, bandwidth := range sorted {
		if share := left / float64(len(sorted)-i); bandwidth > share {
			level = share
			break
		}
		left -= bandwidth
	}
	for i, w := range f.list {
		if want := min(own[i], level); math.Abs(w.rate-want) > 1e-9*want {
			t.Fatalf("transfer %d has %g, want %g: %v share %g", i, w.rate, want, own, shared)
		}
	}
}

// Transfers over one wire end when a wire that serves each for an equal part of the time would have
// sent them, and none before its bytes over the bandwidth.
func TestTransfersShareAWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bandwidth := rapid.Float64Range(1e3, 1e12).Draw(t, "bandwidth")
		type sent struct {
			begin Time
			bytes int64
		}
		var list []sent
		at := Time(0)
		for range rapid.IntRange(1, 15).Draw(t, "transfers") {
			at += Time(rapid.Int64Range(0, 1e11).Draw(t, "later"))
			list = append(list, sent{at, rapid.Int64Range(1, 1e9).Draw(t, "bytes")})
		}
		// What each has of the wire by a time, in the plainest form.
		left := make([]float64, len(list))
		want := make([]float64, len(list))
		for i := range list {
			left[i] = float64(list[i].bytes)
		}
		now, next := 0.0, 0
		for open := len(list); open > 0; {
			var active []int
			for i := range next {
				if want[i] == 0 {
					active = append(active, i)
				}
			}
			until := math.Inf(1)
			if next < len(list) {
				until = list[next].begin.Seconds()
			}
			first, soonest := -1, math.Inf(1)
			for _, i := range active {
				if end := now + left[i]*float64(len(active))/bandwidth; end < soonest {
					first, soonest = i, end
				}
			}
			step := min(until, soonest)
			for _, i := range active {
				left[i] = max(0, left[i]-(step-now)*bandwidth/float64(len(active)))
			}
			if now = step; soonest <= until {
				want[first] = now
				open--
			} else {
				next++
			}
		}
		f := flows{wires: []float64{bandwidth}}
		ends := make([]Time, len(list))
		numbers := map[*flow]int{}
		finish := func(now Time) {
			for _, w := range f.finish(now) {
				ends[numbers[w]] = now
			}
		}
		for i, s := range list {
			for f.next() <= s.begin {
				finish(f.next())
			}
			w := &flow{wires: []int{0}}
			numbers[w] = i
			f.begin(s.begin, s.bytes, w)
		}
		for len(f.list) > 0 {
			finish(f.next())
		}
		for i, s := range list {
			if d := math.Abs(ends[i].Seconds() - want[i]); d > 1e-9*(want[i]+1) {
				t.Fatalf("transfer %d ends at %v, want %gs", i, ends[i], want[i])
			}
			// Times of days have more picoseconds than a float64 has digits.
			if (ends[i] - s.begin).Seconds() < float64(s.bytes)/bandwidth*(1-1e-14) {
				t.Fatalf("transfer %d of %d bytes takes %v at %g byte/s", i, s.bytes,
					ends[i]-s.begin, bandwidth)
			}
		}
	})
}
