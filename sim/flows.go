package sim

import (
	"math"
	"slices"
)

// flows are transfers that share wires max-min fairly: no transfer could have more without taking
// from one that has as much or less (Bertsekas and Gallager, Data Networks, 2nd edition, section
// 6.5.2). Whenever a transfer begins or ends, the others change their rates. Between calls, the
// rates of the transfers on a wire sum to at most its bandwidth, but for rounding.
type flows struct {
	wires []float64 // the bandwidth of each, in byte/s, above 0
	list  []*flow   // in the order in which they began
	at    Time      // to which the transfers have proceeded; never falls
	loads []wireLoad
}

// flow is a transfer under way. The methods of flows alone change it.
type flow struct {
	wires []int   // that it passes, one at least, each once
	bytes int64   // of the whole transfer, more than 0
	left  float64 // bytes to come at flows.at, 0 <= left <= bytes
	rate  float64 // byte/s, above 0
	fixed bool    // share has set the rate; means nothing outside of it
	// end is when it is through at this rate, and soonest the time that all bytes take on its
	// slowest wire alone: soonest <= end.
	end, soonest Time
	transfer
}

// transfer is the content of a flow: to the replica, what s wants of a store, or from the replica,
// what keep stores in the pool. Exactly one of s and keep is set. It does not change.
type transfer struct {
	from       store // of what s wants
	s          *Sequence
	life       uint32 // s.life when the transfer began: with another one, s has ended
	replica    int
	generation uint32 // of the replica at that time: with another one, it has failed or stopped
	keep       func()
}

// store is a slow store of KV caches.
type store uint8

const (
	onDisk store = iota
	inPool
	stores
)

// wireLoad is a wire while share fills it.
type wireLoad struct {
	left float64 // byte/s that no transfer has, at least 0
	n    int     // transfers that are to share it
}

// begin adds a transfer of the given number of bytes, more than 0, at the present time.
func (f *flows) begin(now Time, bytes int64, w *flow) {
	f.advance(now)
	w.bytes, w.left = bytes, float64(bytes)
	least := math.Inf(1)
	for _, wire := range w.wires {
		least = min(least, f.wires[wire])
	}
	w.soonest = later(now, ceiling(w.left/least))
	f.list = append(f.list, w)
	f.share()
}

// finish takes out the transfers that are through, and returns them in the order in which they
// began.
func (f *flows) finish(now Time) (done []*flow) {
	f.advance(now)
	rest := f.list[:0]
	for _, w := range f.list {
		if w.end <= now {
			done = append(done, w)
		} else {
			rest = append(rest, w)
		}
	}
	clear(f.list[len(rest):])
	f.list = rest
	f.share()
	return done
}

// stop takes out the transfer from a store for s, and returns it and the bytes that have come; nil
// without one.
func (f *flows) stop(now Time, s *Sequence, from store) (w *flow, bytes int64) {
	i := slices.IndexFunc(f.list, func(w *flow) bool { return w.s == s && w.from == from })
	if i < 0 {
		return nil, 0
	}
	f.advance(now)
	w = f.list[i]
	f.list = slices.Delete(f.list, i, i+1)
	f.share()
	return w, w.bytes - int64(math.Ceil(w.left))
}

// next returns when the next transfer is through, or Never.
func (f *flows) next() Time {
	next := Never
	for _, w := range f.list {
		next = min(next, w.end)
	}
	return next
}

// advance lets the transfers proceed.
func (f *flows) advance(now Time) {
	for _, w := range f.list {
		w.left = max(0, w.left-w.rate*(now-f.at).Seconds())
	}
	f.at = now
}

// share gives each transfer its rate, by filling: the wire that can give each of its transfers the
// least gives them that, and the others share the rest.
func (f *flows) share() {
	f.loads = f.loads[:0]
	for _, bandwidth := range f.wires {
		f.loads = append(f.loads, wireLoad{left: bandwidth})
	}
	for _, w := range f.list {
		w.fixed = false
		for _, wire := range w.wires {
			f.loads[wire].n++
		}
	}
	for fixed := 0; fixed < len(f.list); {
		tightest, rate := -1, math.Inf(1)
		for i, l := range f.loads {
			if l.n > 0 && l.left/float64(l.n) < rate {
				tightest, rate = i, l.left/float64(l.n)
			}
		}
		for _, w := range f.list {
			if w.fixed || !slices.Contains(w.wires, tightest) {
				continue
			}
			w.fixed, w.rate = true, rate
			w.end = max(w.soonest, later(f.at, ceiling(w.left/rate)))
			for _, wire := range w.wires {
				f.loads[wire].left = max(0, f.loads[wire].left-rate)
				f.loads[wire].n--
			}
			fixed++
		}
	}
}

// ceiling returns a span of seconds as a Time, rounded up.
func ceiling(seconds float64) Time {
	if t := Seconds(seconds); t == Never || t.Seconds() >= seconds {
		return t
	}
	return Seconds(seconds) + 1
}
