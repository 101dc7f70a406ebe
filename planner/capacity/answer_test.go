package capacity

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

func solve(t *testing.T, name string, overrides ...string) *Answer {
	t.Helper()
	f, err := Load(name, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Solve(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func shapeOf(t *testing.T, a *Answer, name string) *Shape {
	t.Helper()
	for i := range a.Shapes {
		if a.Shapes[i].Shape == name {
			return &a.Shapes[i]
		}
	}
	t.Fatalf("no shape %s", name)
	return nil
}

// Two A100-80GB hold Llama-2-70B and leave little memory for requests; each of four sustains far more.
func TestFourA100ServeWellWhatTwoHold(t *testing.T) {
	a := solve(t, "llama2-70b-chat")
	one, two, four := shapeOf(t, a, "1 × a100-80gb-sxm"), shapeOf(t, a, "2 × a100-80gb-sxm"), shapeOf(t, a, "4 × a100-80gb-sxm")
	if one.Rate > 0 || !strings.Contains(one.Limit, "does not fit") {
		t.Errorf("one: %+v", one)
	}
	if two.Rate <= 0 || four.KVTokens < 5*two.KVTokens || four.Rate/4 < 1.3*two.Rate/2 {
		t.Errorf("two hold %d tokens and sustain %g/s, four %d and %g/s", two.KVTokens, two.Rate, four.KVTokens, four.Rate)
	}
	if a.Chosen == nil || a.Chosen.Kept < 0.99 || a.Chosen.KeptWithoutSpares < 0.99 {
		t.Errorf("the chosen fleet: %+v", a.Chosen)
	}
}

// One user is served cheapest by a desktop processor, many by GPUs.
func TestACPUForOneGPUsForMany(t *testing.T) {
	if a := solve(t, "one-user"); a.Chosen == nil || a.Chosen.Label != "1 × desktop-50gbs" {
		t.Errorf("for one user: %+v", a.Chosen)
	}
	a := solve(t, "many-users")
	if a.Chosen == nil || strings.Contains(a.Chosen.Label, "desktop") || shapeOf(t, a, "1 × desktop-50gbs").Rate > 0 {
		t.Errorf("for many users: %+v", a.Chosen)
	}
}

// Answers to a shipped plan are scenarios that run, and the same bytes each time.
func TestShippedPlans(t *testing.T) {
	for _, name := range Shipped() {
		if strings.Contains(name, "heavy") && testing.Short() {
			continue
		}
		first, second := solve(t, name), solve(t, name)
		x, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		y, err := json.Marshal(second)
		if err != nil {
			t.Fatal(err)
		}
		if string(x) != string(y) {
			t.Errorf("%s: two answers differ", name)
		}
		if first.Chosen == nil {
			t.Errorf("%s: no answer", name)
			continue
		}
		f, err := scenarios.Parse("answer.yaml", []byte(first.Chosen.Scenario))
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Build(policies.Default())
		if err != nil {
			t.Fatal(err)
		}
		if s.Accelerators() != first.Chosen.Accelerators {
			t.Errorf("%s: the scenario has %d accelerators, the answer %d", name, s.Accelerators(), first.Chosen.Accelerators)
		}
		s.Source.Close()
	}
}

// A promise out of reach names the option that comes nearest.
func TestNearest(t *testing.T) {
	a := solve(t, "llama2-70b-chat", "slo.tpot=5ms")
	if a.Chosen != nil || a.Nearest == nil || !strings.Contains(a.Nearest.Limit, "a token") {
		t.Errorf("nearest: %+v", a.Nearest)
	}
}

// More requests never cost less, and spares cost what they cost.
func TestCostGrowsWithTheRate(t *testing.T) {
	last := 0.0
	for _, rate := range []string{"5/s", "10/s", "20/s", "40/s"} {
		f, err := Load("llama2-70b-chat", "workload.rate="+rate)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.newSearch(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s.best < 0 || s.cost() < last {
			t.Errorf("%s costs less than a lower rate", rate)
		}
		last = s.cost()
	}
}
