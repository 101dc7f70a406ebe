package capacity

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The pages of loads of users, of traces, of fleets that follow a wave, and of jobs have pictures,
// which go through the answer.
func TestLoadsWithoutARateAreDrawn(t *testing.T) {
	var trace strings.Builder
	trace.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for i := range 400 {
		fmt.Fprintf(&trace, "2024-01-01 00:00:%09.6f,%d,%d\n", float64(i)/8, 100+i, 20+i%50)
	}
	dir := t.TempDir()
	recorded := filepath.Join(dir, "trace.csv")
	testkit.OK(t, os.WriteFile(recorded, []byte(trace.String()), 0o666))
	for name, c := range map[string]struct {
		load     string
		pictures int
		share    func(p answer.LoadPoint, d *answer.Deployment) bool // at the asked load
	}{
		"users": {"{users: 6, think: {distribution: exponential, mean: 5s}, prompt: 400, " +
			"output: 60}", 3, func(p answer.LoadPoint, d *answer.Deployment) bool {
			return p.Users == 6 && d.Users == 6
		}},
		"trace": {"{trace: " + recorded + "}", 2, whole},
		"wave": {"{rate: {pattern: wave, average: 6/s, swing: 0.8, period: 1m}, prompt: 400, " +
			"output: 60, duration: 2m}", 2, whole},
		"job": {"{prompt: 400, output: 60}", 1, nil},
	} {
		scaling := ""
		if name == "wave" {
			scaling = ", scaling: [{policy: outstanding, target: 16, min: 1}]"
		}
		text := "model: llama-3.1-8b\nmenu: {hardware: [l40s], tensor: [1], tune: none" +
			scaling + "}\neffort: {requests: 300, most-requests: 600}\nworkload: " + c.load +
			"\nslo: {ttft: 200ms, tpot: 30ms}\n"
		if name == "job" {
			text = strings.Replace(text, "slo: {ttft: 200ms, tpot: 30ms}",
				"job: {requests: 2000, within: 1h}", 1)
		}
		f, err := asked.Parse("plan.yaml", []byte(text))
		testkit.OK(t, err)
		all, err := Solve(t.Context(), f, Options{Curves: true})
		testkit.OK(t, err)
		var page bytes.Buffer
		testkit.OK(t, all.Page(&page))
		if n := strings.Count(page.String(), "<svg"); n != c.pictures {
			t.Errorf("%s: %d pictures, want %d", name, n, c.pictures)
		}
		a := all.Models[0]
		if c.share == nil {
			if j := a.Jobs[0]; j.Replicas != a.Chosen.Replicas || j.Dollars <= 0 {
				t.Errorf("%s: %+v is drawn for %d replicas", name, j, a.Chosen.Replicas)
			}
			continue
		}
		at := 0
		for i, p := range a.Chosen.Curve {
			if c.share(p, a.Chosen) {
				if at++; p.Kept != a.Chosen.Kept {
					t.Errorf("%s: %g keep the SLO at the load, the answer says %g", name, p.Kept,
						a.Chosen.Kept)
				}
			}
			if i > 0 && p.Users <= a.Chosen.Curve[i-1].Users &&
				p.Share <= a.Chosen.Curve[i-1].Share {
				t.Errorf("%s: the loads are %+v", name, a.Chosen.Curve)
			}
		}
		first, last := a.Chosen.Curve[0], a.Chosen.Curve[len(a.Chosen.Curve)-1]
		if last.TTFT <= first.TTFT || last.TPOT <= first.TPOT {
			t.Errorf("%s: %+v is no higher load than %+v", name, last, first)
		}
		if at != 1 {
			t.Errorf("%s: %d points at the load of %+v", name, at, a.Chosen.Curve)
		}
	}
}

func whole(p answer.LoadPoint, _ *answer.Deployment) bool { return p.Share == 1 }
