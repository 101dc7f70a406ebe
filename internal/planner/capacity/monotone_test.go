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
	// h100 is the price of one an hour, count how many of each accelerator there are, and spare how
	// many replicas may be down.
	h100         float64
	count, spare int
}

func (q question) text() string {
	return fmt.Sprintf(`
model: llama-3.1-8b
workload: {rate: %.4g/s, prompt: {distribution: exponential, mean: %d, max: 6000}, output: {distribution: exponential, mean: %d, max: 2000}}
slo: {ttft: %dms, tpot: %dms}
menu:
  hardware:
    - {accelerator: h100-sxm, price: $%.3g/h, count: %d}
    - {accelerator: a100-80gb-sxm, price: $1.8/h, count: %[7]d}
    - {accelerator: l40s, price: $0.9/h, count: %[7]d}
  tensor: [1]
fleet: {spare: %[8]d}
`, q.rate, q.prompt, q.output, q.ttft, q.tpot, q.h100, q.count, q.spare)
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

// More load, longer prompts or answers, a tighter SLO, a higher price, fewer accelerators, or one
// more spare never cost less. The pairs are some of twenty, or all where as many are asked for.
func TestHarderNeverCostsLess(t *testing.T) {
	if testing.Short() {
		t.Skip("answers eight plans")
	}
	testkit.Dear(t)
	work := testQueue(t)
	var all []int
	for pair := range max(20, *pairs) {
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
			h100: rapid.Float64Range(1, 4).Draw(t, "price"), count: rapid.IntRange(4,
				40).Draw(t, "count"), spare: rapid.IntRange(0, 1).Draw(t, "spare"),
		}
		harder, more := q, rapid.Float64Range(1.02, 1.4).Draw(t, "more")
		switch rapid.IntRange(0, 7).Draw(t, "what") {
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
		case 5:
			harder.h100 *= more
		case 6:
			harder.count = q.count/2 + 1
		case 7:
			harder.spare++
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
