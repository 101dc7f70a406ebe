package capacity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A server that keeps the SLO only while it stands idle is no alternative: its time to the first
// token of long prompts leaves no room to wait.
func TestIdleServersAreNoAlternative(t *testing.T) {
	testkit.Dear(t)
	file := filepath.Join(t.TempDir(), "plan.yaml")
	text := "model: llama-3.1-8b\nworkload: {rate: 5/s, prompt: {distribution: lognormal, " +
		"mean: 2700, cv: 1, max: 34000}, output: {distribution: lognormal, mean: 250, cv: 0.8, " +
		"max: 1500}}\nslo: {ttft: 830ms, tpot: 50ms}\n" +
		"menu: {hardware: [h100-sxm, a100-80gb-sxm], tensor: [1, 2], tune: none}\n" +
		"effort: {requests: 500, most-requests: 2000}\n"
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
	a := solveAll(t, file).Models[0]
	for i := range a.Shapes {
		s := &a.Shapes[i]
		if s.Hourly > 20*a.Chosen.Hourly {
			t.Errorf("%s: $%g, %s", s.Shape, s.Hourly, s.Limit)
		}
	}
}

// A fleet that there are too few accelerators for has no price, even where one more would do.
func TestTooFewAcceleratorsHaveNoPrice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.yaml")
	text := "model: llama-3.1-8b\nworkload: {rate: 165/s, prompt: 400, output: 40}\n" +
		"slo: {ttft: 800ms, tpot: 40ms}\nmenu: {hardware: [{accelerator: h100-sxm, count: 2, " +
		"price: $2/h}, {accelerator: h100-sxm, price: $3/h}], tensor: [1], tune: none}\n" +
		"effort: {requests: 100, most-requests: 200}\n"
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
	a := solveAll(t, file).Models[0]
	for i := range a.Shapes {
		if s := &a.Shapes[i]; (s.Replicas == 0) != strings.Contains(s.Limit, "there are 2") ||
			s.Replicas > 0 && s.Hourly < a.Chosen.Hourly {
			t.Errorf("%d of %s for $%g: %s", s.Replicas, s.Label, s.Hourly, s.Limit)
		}
	}
}

// The next best options of a recorded load have a price, or where that is far from the answer's, a
// bound.
func TestRunnersUpOfTracesHaveAPrice(t *testing.T) {
	dir := t.TempDir()
	trace, file := filepath.Join(dir, "t.csv"), filepath.Join(dir, "plan.yaml")
	rows := "arrival_s,prompt_tokens,output_tokens\n"
	for i := range 400 {
		rows += fmt.Sprintf("%g,700,100\n", float64(i)/8)
	}
	text := "model: llama-3.1-8b\nworkload: {trace: " + trace + "}\nslo: {ttft: 1s, tpot: " +
		"50ms}\nmenu: {hardware: [a100-80gb-sxm, h100-sxm], tensor: [1, 2], tune: none}\n"
	for name, data := range map[string]string{trace: rows, file: text} {
		testkit.OK(t, os.WriteFile(name, []byte(data), 0o600))
	}
	a := solveAll(t, file).Models[0]
	for i := range a.Shapes {
		if s := &a.Shapes[i]; s.Replicas == 0 && s.AtLeast < contender*a.Chosen.Hourly {
			t.Errorf("%s has no price: %s", s.Shape, s.Limit)
		}
	}
}
