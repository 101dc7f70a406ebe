package capacity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
)

// userPlan answers a plan for users.
func userPlan(t *testing.T, load string) *answer.Answers {
	t.Helper()
	f, err := asked.Parse("users.yaml", []byte("model: llama-3.1-8b\nworkload: {"+load+
		", prompt: 1000, output: 250}\nslo: {percentile: 95, ttft: 500ms, tpot: 40ms}\n"+
		"menu: {hardware: [h100-sxm], tensor: [1]}\n"), untuned)
	testkit.OK(t, err)
	answers, err := Solve(context.Background(), f, Options{})
	testkit.OK(t, err)
	return answers
}

// A plan for users says first how many they are and what they send, which is c/(R+Z) of the fleet
// that it names. Users who think for longer send less, and never need more replicas.
func TestPlansForUsers(t *testing.T) {
	replicas := math.MaxInt
	for _, think := range []float64{0, 10, 40} {
		answers := userPlan(t, fmt.Sprintf("users: 200, think: %gs", think))
		a := answers.Models[0]
		d := a.Chosen
		if d == nil {
			t.Fatalf("thinking %g s: nothing is found, nearest %+v", think, a.Nearest)
		}
		if d.Replicas > replicas {
			t.Errorf("thinking %g s: %d replicas, %d for users who think less", think, d.Replicas,
				replicas)
		}
		replicas = d.Replicas
		r := rerun(t, a)
		if law := 200 / (r.MeanE2EL/1000 + think); math.Abs(d.Sent/law-1) > 0.05 {
			t.Errorf("thinking %g s: %g/s are sent, the law says %g/s", think, d.Sent, law)
		}
		var page bytes.Buffer
		testkit.OK(t, answers.Write(&page, answer.Brief))
		first := strings.Join(strings.Fields(page.String()), " ")
		if want := fmt.Sprintf("for 200 users who send %s requests a second",
			units.Figure(d.Sent)); !strings.HasPrefix(first, "Answer: ") ||
			!strings.Contains(first[:200], want) {
			t.Errorf("the page begins %.200q, want %q", first, want)
		}
	}
}

// A plan for users who do not think is the plan for a closed loop, byte for byte.
func TestUsersPlanAsAClosedLoop(t *testing.T) {
	users, err := json.Marshal(userPlan(t, "users: 40").Models[0])
	testkit.OK(t, err)
	loop, err := json.Marshal(userPlan(t, "arrivals: {process: closed-loop, users: 40}").Models[0])
	testkit.OK(t, err)
	if !bytes.Equal(users, loop) {
		t.Errorf("%s\n%s", users, loop)
	}
}
