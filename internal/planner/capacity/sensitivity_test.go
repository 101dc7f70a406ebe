package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Of many options that may win with other inputs, some of each shape are tried again, the answer
// among them, so that settings of one accelerator do not leave out the others.
func TestContendersAreOfAllShapes(t *testing.T) {
	var settings []string
	for k := range 60 {
		settings = append(settings, fmt.Sprintf("{token-budget: %d}", 1024+64*k))
	}
	s, _ := prepared(t, `
model: llama-3.1-8b
workload: {rate: 1/s, prompt: 200, output: 20}
slo: {ttft: 1s}
menu:
  hardware: [h100-sxm, a100-80gb-sxm]
  tensor: [1]
  batching: [`+strings.Join(settings, ", ")+"]\n")
	s.outcomes = make([]outcome, len(s.options))
	s.best = 59 // the last with an H100, which is dearer
	s.outcomes[s.best] = outcome{kind: chosen, replicas: 1}
	list, more := (&cheapestGoal{fleetGoal{s}}).contenders(contender)
	shapes := map[string]int{}
	for _, i := range list {
		shapes[s.options[i].Shape()]++
	}
	if !more || !slices.Contains(list, s.best) || len(shapes) != 2 {
		t.Fatalf("%d options of %v, others left out: %v", len(list), shapes, more)
	}
	for shape, n := range shapes {
		if n < mostAlike || n > mostAlike+1 {
			t.Errorf("%d of %s, want %d beside the answer", n, shape, mostAlike)
		}
	}
}
