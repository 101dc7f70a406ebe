package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// cutting is a source of which some answers are cut.
type cutting struct {
	Source
	answered map[[2]int64]int
}

func (c *cutting) Done(r *sim.Request, at sim.Time) {
	key := [2]int64{r.Session, int64(r.Call.Number)}
	r.Answered = 1 + int(content.Hash(uint64(r.Session*100+key[1]))%uint64(r.Output))
	c.answered[key] = r.Answered
	c.Source.Done(r, at)
}

// A session whose answers are cut has the same calls at the same times as one whose answers are
// whole, with the same messages and names of texts. Its prompts are shorter by what did not come
// out of the answers that they repeat.
func TestSessionsGoOnFromCutAnswers(top *testing.T) {
	rapid.Check(top, func(t *rapid.T) {
		turns := &Turns{Count: must(lengths.Uniform(1, 5)),
			Think: arrivals.Delay{Mean: sim.Second, Shape: arrivals.Exponential{}}}
		c := Config{Requests: 60, Arrivals: poisson(1), Seed: rapid.Uint64().Draw(t, "seed"),
			Classes: []Class{{Weight: 1, Prompt: must(lengths.Uniform(1, 50)),
				Output: must(lengths.Uniform(1, 90)), Turns: turns}}}
		if rapid.Bool().Draw(t, "tools") {
			turns.Tools = &Tools{Share: 0.5, Result: fixed(30), Retries: 0.2}
		}
		run := func(keep bool) (server, map[[2]int64]int) {
			c.KeepCut = keep
			s, err := Open(c)
			if err != nil {
				t.Fatal(err)
			}
			cut := &cutting{s, map[[2]int64]int{}}
			return serve(top, cut, 1000, func() sim.Time { return sim.Second }), cut.answered
		}
		planned, _ := run(false)
		kept, answered := run(true)
		if len(kept.sent) != len(planned.sent) {
			t.Fatalf("%d calls, want %d", len(kept.sent), len(planned.sent))
		}
		short := 0
		for i, r := range kept.sent {
			p := &planned.sent[i]
			missing, tokens, repeated := p.Prompt-r.Prompt, 0, map[uint64]int{}
			for k, segment := range r.Content {
				tokens += segment.Tokens
				if p.Content[k].ID != segment.ID {
					t.Fatalf("%+v, want the texts of %+v", r, *p)
				}
				repeated[segment.ID] = segment.Tokens
			}
			for _, before := range kept.sent[:i] {
				if n, is := repeated[before.Answer]; is && before.Session == r.Session {
					had := answered[[2]int64{before.Session, int64(before.Call.Number)}]
					if missing -= before.Output - had; n != had {
						t.Fatalf("%d tokens of an answer of which %d came out", n, had)
					}
					short++
				}
			}
			if missing != 0 || tokens != r.Prompt {
				t.Fatalf("%d tokens missing: %+v, whole %+v", missing, r, *p)
			}
			r.Prompt, r.Content = p.Prompt, p.Content
			if d := cmp.Diff(*p, r); d != "" {
				t.Fatal(d)
			}
		}
		if short == 0 && slices.ContainsFunc(kept.sent, func(r sim.Request) bool {
			return r.Call.Turn > 0
		}) {
			t.Fatal("no prompt repeats an answer")
		}
	})
}

// Where prompts do not repeat thinking, a cut answer has as little of it as came out, and a prompt
// has the tokens of its texts.
func TestCutThinkingIsNotRepeated(t *testing.T) {
	c := Config{Requests: 200, Arrivals: poisson(1), KeepCut: true, Classes: []Class{{Weight: 1,
		Prompt: fixed(20), Output: must(lengths.Uniform(1, 90)), Turns: &Turns{Count: fixed(5),
			Thinking: Thinking{Share: 0.6, Keep: KeepNone}}}}}
	cut := &cutting{open(t, c), map[[2]int64]int{}}
	for _, r := range serve(t, cut, 1000, func() sim.Time { return sim.Second }).sent {
		tokens := 0
		for _, segment := range r.Content {
			tokens += segment.Tokens
		}
		if tokens != r.Prompt || r.Call.Turn == 0 && tokens != 20 {
			t.Fatalf("texts of %d tokens: %+v", tokens, r)
		}
	}
}

// Patience that is drawn has the mean and the deviation that were asked for, changes nothing else
// of a workload, and belongs to a request of a session, however fast answers come.
func TestPatienceIsDrawn(t *testing.T) {
	c := Config{Requests: 20_000, Arrivals: poisson(9), Seed: 4, Classes: []Class{
		{Weight: 1, Prompt: fixed(9), Output: must(lengths.Uniform(1, 9)),
			Traits: Traits{Patience: 2 * sim.Second}},
		{Weight: 1, Prompt: fixed(8), Output: fixed(7), Turns: &Turns{Count: fixed(3)},
			Traits: Traits{Patience: sim.Second, AfterFirst: true}}}}
	run := func(latency sim.Time) []sim.Request {
		return serve(t, open(t, c), 1e6, func() sim.Time { return latency }).sent
	}
	same := run(sim.Second)
	for i := range c.Classes {
		c.Classes[i].PatienceShape = arrivals.LogNormal{CV: 0.8}
	}
	drawn, slow := run(sim.Second), run(3*sim.Second)
	var sums [2][3]float64
	bySession := map[[2]int64]sim.Time{}
	for i, r := range drawn {
		x, of := r.Patience.Seconds(), &sums[r.Class]
		of[0], of[1], of[2] = of[0]+1, of[1]+x, of[2]+x*x
		bySession[[2]int64{r.Session, int64(r.Call.Number)}] = r.Patience
		r.Patience = c.Classes[r.Class].Patience
		if d := cmp.Diff(same[i], r); d != "" {
			t.Fatal(d)
		}
	}
	for k, sum := range sums {
		mean := sum[1] / sum[0]
		cv := math.Sqrt(sum[2]/sum[0]-mean*mean) / mean
		if want := c.Classes[k].Patience.Seconds(); math.Abs(mean/want-1) > 0.03 ||
			math.Abs(cv-0.8) > 0.06 {
			t.Errorf("class %d: mean %.3g s, want %.3g, cv %.3g, want 0.8", k, mean, want, cv)
		}
	}
	for _, r := range slow {
		key := [2]int64{r.Session, int64(r.Call.Number)}
		if before, is := bySession[key]; is && r.Session != 0 && r.Patience != before {
			t.Fatalf("patience %v where answers are slow, else %v: %+v", r.Patience, before, r)
		}
	}
}
