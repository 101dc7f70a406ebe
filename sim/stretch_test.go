package sim

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// What a stretch of steps says in closed forms is what its steps say one by one: how long the first
// of them take, which contexts they attend to, how many end within a span or reach it, and for how
// many the form holds.
func TestStretchIsItsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := stretch{n: rapid.Int64Range(1, 50).Draw(t, "n"),
			context: rapid.Int64Range(0, 3000).Draw(t, "context"),
			form: Affine{Base: Time(rapid.Int64Range(1, 900).Draw(t, "base")),
				PerToken: Time(rapid.Int64Range(0, 7).Draw(t, "token")),
				Through:  rapid.Int64Range(0, 5000).Draw(t, "through")}}
		holds := int64(1) // the first step is taken at any rate
		for d.context+d.n*holds <= d.form.Through {
			holds++
		}
		if got := d.through(); got != holds {
			t.Fatalf("%+v holds for %d steps, want %d", d, got, holds)
		}
		span := Time(rapid.Int64Range(0, 200_000).Draw(t, "span"))
		completed, ending := int64(0), int64(0)
		end, contexts := Time(0), int64(0)
		for k := int64(0); k < 300; k++ {
			if d.duration(k) != end || d.contexts(k) != contexts {
				t.Fatalf("%+v: %d steps take %d over contexts of %d, want %d and %d", d, k,
					d.duration(k), d.contexts(k), end, contexts)
			}
			context := d.context + d.n*k
			step := d.form.Base + d.form.PerToken*Time(context)
			within := d.within(k, span)
			if within > 0 && d.duration(within) > span || within < k && step*Time(k) < span {
				t.Fatalf("%+v: %d of %d steps are surely within %d", d, within, k, span)
			}
			if d.step(k) != step {
				t.Fatalf("%+v: step %d takes %d, want %d", d, k, d.step(k), step)
			}
			end, contexts = end+step, contexts+context
			if end <= span {
				completed = k + 1
			}
			if ending == 0 && end >= span {
				ending = k + 1
			}
		}
		if end <= span {
			return
		}
		if d.completed(span) != completed || d.ending(span) != ending {
			t.Fatalf("%+v: of the steps %d end within %d and %d reach it, want %d and %d", d,
				d.completed(span), span, d.ending(span), completed, ending)
		}
	})
	if d := (stretch{n: 1, form: Affine{Through: math.MaxInt64}}); d.through() != Forever {
		t.Errorf("a form without an end holds for %d steps", d.through())
	}
}
