package capacity

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/testkit"
)

var pairs = flag.Int("pairs", 4, "how many pairs of plans are compared")

// question is what a plan of one model asks, in figures that make it harder as they grow, but for
// the limits.
type question struct {
	rate           float64
	prompt, output int
	ttft, tpot     int // ms
}

func (q question) text() string {
	return fmt.Sprintf(`
model: llama-3.1-8b
workload: {rate: %.4g/s, prompt: {distribution: exponential, mean: %d, max: 6000}, output: {distribution: exponential, mean: %d, max: 2000}}
slo: {ttft: %dms, tpot: %dms}
menu: {hardware: [h100-sxm, a100-80gb-sxm, l40s], tensor: [1]}
`, q.rate, q.prompt, q.output, q.ttft, q.tpot)
}

// hourly returns what the cheapest fleet costs, and false where none keeps the SLO.
func hourly(t *testing.T, q *queue.Queue, drawn question) (float64, bool) {
	f, err := asked.Parse("drawn", []byte(drawn.text()))
	testkit.OK(t, err)
	s, err := newSearch(t.Context(), f, q, Options{})
	testkit.OK(t, err)
	testkit.OK(t, s.answer(context.Background()))
	if s.best < 0 {
		return 0, false
	}
	return s.cost(), true
}

// More load, longer prompts or answers, or a tighter SLO never cost less. The pairs are some of
// ten, or all where as many are asked for.
func TestHarderNeverCostsLess(t *testing.T) {
	if testing.Short() {
		t.Skip("answers eight plans")
	}
	testkit.Dear(t)
	work := testQueue(t)
	var all []int
	for pair := range max(10, *pairs) {
		all = append(all, pair)
	}
	for _, pair := range testkit.DrawCases(t, *pairs, all) {
		easyAndHard(t, work, pair)
	}
}

// drawPair makes up a question and a harder one.
func drawPair() *rapid.Generator[[2]question] {
	return rapid.Custom(func(t *rapid.T) [2]question {
		q := question{
			rate: rapid.Float64Range(5, 60).Draw(t, "rate"), prompt: rapid.IntRange(100,
				2000).Draw(t, "prompt"),
			output: rapid.IntRange(50, 500).Draw(t, "output"), ttft: rapid.IntRange(300,
				3000).Draw(t, "ttft"), tpot: rapid.IntRange(20, 120).Draw(t, "tpot"),
		}
		harder, more := q, rapid.Float64Range(1.02, 1.4).Draw(t, "more")
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			harder.rate *= more
		case 1:
			harder.prompt = int(float64(q.prompt)*more) + 1
		case 2:
			harder.output = int(float64(q.output)*more) + 1
		case 3:
			harder.ttft = int(float64(q.ttft) / more)
		case 4:
			harder.tpot = int(float64(q.tpot) / more)
		}
		return [2]question{q, harder}
	})
}

func easyAndHard(t *testing.T, work *queue.Queue, pair int) {
	t.Helper()
	q := drawPair().Example(pair)
	easy, possible := hourly(t, work, q[0])
	hard, stillPossible := hourly(t, work, q[1])
	if !possible && stillPossible || possible && stillPossible && hard < easy-1e-9 {
		t.Errorf("%+v costs $%.2f/h (possible: %v), %+v costs $%.2f/h (possible: %v)", q[0], easy,
			possible, q[1], hard, stillPossible)
	}
}
