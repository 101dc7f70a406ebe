package sim

import "math"

// stretch is a run of decode steps of the same n sequences, whose durations are affine in the total
// context: step i (from 0) takes form.At(context + n·i).
type stretch struct {
	form    Affine    // its zero value if known is set
	context int64     // tokens attended to in the first step, at most form.Through
	n       int64     // sequences, at least 1
	known   *forecast // gives the durations of steps with drafts; nil if form does
}

// duration returns the exact length of the first k steps: k·A + B·(k·C + n·k(k−1)/2).
func (d *stretch) duration(k int64) Time {
	if d.known != nil {
		return d.known.duration(k)
	}
	return d.form.Base*Time(k) + d.form.PerToken*Time(d.contexts(k))
}

// contexts returns the sum of the contexts of the first k steps.
func (d *stretch) contexts(k int64) int64 { return k*d.context + d.n*(k*(k-1)/2) }

// step returns the length of step i.
func (d *stretch) step(i int64) Time {
	if d.known != nil {
		return d.known.duration(i+1) - d.known.duration(i)
	}
	return d.form.At(d.context + d.n*i)
}

// through returns how many steps stay inside the validity of the affine form; at least 1.
func (d *stretch) through() int64 {
	if d.form.Through == math.MaxInt64 {
		return Forever
	}
	return 1 + max(0, (d.form.Through-d.context)/d.n)
}

// within returns a number of steps, at most k, that end within span; 0 if not even one does. It
// halves k until a bound on their length fits, because an exact sum might overflow, and a shorter
// leap gives the same result.
func (d *stretch) within(k int64, span Time) int64 {
	for ; k > 0; k /= 2 {
		last := float64(d.form.PerToken) * (float64(d.context) + float64(d.n)*float64(k))
		if float64(k)*(float64(d.form.Base)+last) < float64(span) {
			break
		}
	}
	return k
}

// ending returns the least k ≥ 1 whose first k steps last at least span.
func (d *stretch) ending(span Time) int64 {
	if d.known != nil {
		return d.known.ending(span)
	}
	if span <= d.step(0) {
		return 1
	}
	// Solve a·k² + b·k = span in floating point, then put the integer right.
	a := float64(d.form.PerToken) * float64(d.n) / 2
	b := float64(d.form.Base) + float64(d.form.PerToken)*(float64(d.context)-float64(d.n)/2)
	k := int64(2 * float64(span) / (b + math.Sqrt(b*b+4*a*float64(span))))
	k = max(k, 1)
	for d.duration(k) < span {
		k++
	}
	for k > 1 && d.duration(k-1) >= span {
		k--
	}
	return k
}

// completed returns the number of steps that end within span: the greatest k ≥ 0 with duration(k) ≤
// span.
func (d *stretch) completed(span Time) int64 {
	if span < d.step(0) {
		return 0
	}
	k := d.ending(span)
	if d.duration(k) > span {
		k--
	}
	return k
}

// flight is the leap that a batch has under way. While it is active,
//
//	start < end, 0 <= stored <= steps, steps >= 1
//
// launch begins a flight, setSteps and pipeline set its steps and its end, and land and abort end
// it. An arrival can only shorten it, to the end of a step that has not ended.
type flight struct {
	active  bool
	start   Time
	end     Time
	padding int   // complete sequences of a static batch that keep their place in the step
	steps   int64 // of the flight; 1 unless leaping
	stored  int64 // steps whose decodes have their memory, the running one included
	lost    int64 // steps that a failure cut off and whose decodes still have their memory: 0 or 1
	cutOff  int64 // steps with drafts that a failure cut off: 0 or 1
	// drafting is the part of the first step that drafts take.
	drafting       Time
	leaping        bool    // run gives the lengths of the steps, which end one after another
	run            stretch // if leaping
	ignoreArrivals bool    // an arrival does not shorten it
}

// begun returns the number of steps that have begun by the time at. Their tokens have memory.
func (f *flight) begun(at Time) int {
	switch {
	case !f.active:
		return 0
	case !f.leaping:
		return 1
	}
	return int(min(f.run.completed(at-f.start)+1, f.steps))
}

// firstEnd returns when the first step ends.
func (f *flight) firstEnd() Time {
	if f.leaping {
		return f.start + f.run.step(0)
	}
	return f.end
}

// after returns the time at which so many steps as long as the flight have passed since it began.
func (f *flight) after(steps float64) Time {
	return f.start + Time(steps*float64(f.end-f.start))
}
