package papers

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Every claim that is not met is explained on the page of deviations, and no other.
func TestClaimsNotMetAreDeviations(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates every claim")
	}
	page := testkit.Read(t, "deviations.md")
	papers, err := Read(Shipped())
	testkit.OK(t, err)
	r, err := Check(context.Background(), papers)
	testkit.OK(t, err)
	for _, p := range r.Papers {
		for _, v := range p.Verdicts {
			explained := strings.Contains(string(page), "`"+v.Name+"`")
			if v.Met && explained {
				t.Errorf("%s is met now (%s): take it off the page of deviations", v.Name, v.ours())
			}
			if !v.Met && !explained {
				t.Errorf("%s is not met (%s, published %s), and not among the deviations", v.Name,
					v.ours(), v.published())
			}
		}
	}
	checkText(t, r)
}

// checkText reports a claim of which the text for people lacks the words, the figure or the
// verdict, and lines beyond 80 columns.
func checkText(t *testing.T, r *Report) {
	t.Helper()
	var text bytes.Buffer
	testkit.OK(t, r.WriteText(&text))
	met := 0
	for _, p := range r.Papers {
		for _, v := range p.Verdicts {
			if v.Met {
				met++
			}
			first := fmt.Sprintf("  %-9s %s", v.Where, wrap(v.Says, claimColumns)[0])
			line := lineWith(text.String(), first, v.published()+" "+v.ours()+"  "+v.verdict())
			if line == "" {
				t.Errorf("no line says %q, %s, %s, %s", first, v.published(), v.ours(), v.verdict())
			}
		}
	}
	summary := fmt.Sprintf("%d of %d claims are met;", met, r.Claims)
	if met != r.Met || !strings.Contains(text.String(), summary) {
		t.Errorf("%q is not in\n%s", summary, &text)
	}
	for line := range strings.Lines(text.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
}

// lineWith returns the first line of a text that begins with some words and ends with others,
// spaces aside, "" where there is none.
func lineWith(text, first, last string) string {
	spaces := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, first) && strings.HasSuffix(spaces(line), spaces(last)) {
			return line
		}
	}
	return ""
}

// What is wrong with a file of claims is said with its line and what would be right.
func TestReadRefuses(t *testing.T) {
	const run = "paper: p\nruns: [{name: r, scenario: chat}]\nclaims:\n"
	for _, c := range []struct{ text, want string }{
		{run + "- {name: a, where: w, says: s, figre: 1}",
			`x.yaml:4: claims.0: unknown key "figre"`},
		{run + "- {name: a, where: w, says: s, figure: 1, percent: 5}",
			"published goes with percent"},
		{run + "- {name: a, where: w, says: s, figure: 1, published: 2}",
			"published goes with percent"},
		{run + "- {name: a, where: w, says: s, figure: 1, published: 2, points: 1, percent: 5}",
			"exclude each other"},
		{run + "- {name: a, where: w, says: s, figure: 1, between: [3, 2]}", "the smaller first"},
		{run + "- {name: a, where: w, says: s, figure: r.x}\n- {name: a, where: w, says: s, " +
			"figure: r.x}", `x.yaml:5: claims.1.name: there is a claim "a" already`},
	} {
		_, err := Read(fstest.MapFS{"x.yaml": {Data: []byte(c.text)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// A claim about what the runs do not have, or that is no figure, is an error with the name of the
// claim.
func TestCheckRefuses(t *testing.T) {
	small := Run{Name: "r", Scenario: "chat", Set: []string{"workload.duration=1s"}}
	for _, c := range []struct {
		run    Run
		figure string
		want   string
	}{
		{small, "r.completted", "claim a"},
		{small, "r.name", "neither a number nor a condition"},
		{Run{Name: "r", Scenario: "chatt"}, "r.completed", "chatt"},
		{Run{Name: "r", Scenario: "chat", Set: small.Set,
			Capacity: &Capacity{From: 1, To: 2, While: "completed < 0"}}, "r.rate",
			"does not hold at the lowest rate"},
		{Run{Name: "r", Scenario: "chat", Set: small.Set,
			Capacity: &Capacity{From: 1, To: 2, While: "completed > 0"}}, "r.rate",
			"holds at the highest rate"},
		{Run{Name: "r", Scenario: "chat", Set: small.Set,
			Capacity: &Capacity{From: 1, To: 2, While: "completed"}}, "r.rate", "no condition"},
	} {
		_, err := Check(context.Background(),
			[]Paper{{Runs: []Run{c.run}, Claims: []Claim{{Name: "a", Figure: c.figure}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.run, err, c.want)
		}
	}
}

// The verdict is on the edge of what is allowed, on both sides.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		ours  float64
		want  bool
	}{
		{Claim{Published: 10, Percent: 20}, 12, true},
		{Claim{Published: 10, Percent: 20}, 12.1, false},
		{Claim{Published: 10, Percent: 20}, 7.9, false},
		{Claim{Published: 96, Points: 5}, 91, true},
		{Claim{Published: 96, Points: 5}, 101.1, false},
		{Claim{Between: []float64{1.7, 2.7}}, 1.7, true},
		{Claim{Between: []float64{1.7, 2.7}}, 2.71, false},
		{Claim{Published: 36.9, AtLeast: 10}, 10, true},
		{Claim{Published: 36.9, AtLeast: 10}, 9.9, false},
	} {
		if got := c.claim.holds(c.ours); got != c.want {
			t.Errorf("%+v with %v: %t", c.claim, c.ours, got)
		}
	}
}

// A run of several draws has the medians of what each seed gives, and its command repeats the
// first.
func TestDrawsAreMedians(t *testing.T) {
	ctx := context.Background()
	r := Run{Name: "r", Scenario: "chat", Set: []string{"workload.duration=20s"}, Draws: 3}
	got, err := r.do(ctx)
	testkit.OK(t, err)
	var each []float64
	for _, seed := range []string{"seed=0", "seed=1", "seed=2"} {
		f, err := simulate(ctx, r.Scenario, append(slices.Clip(r.Set), seed))
		testkit.OK(t, err)
		each = append(each, f["mean_ttft_ms"].(float64))
	}
	if slices.Sort(each); got["mean_ttft_ms"] != each[1] || each[0] == each[2] {
		t.Errorf("%v of draws %v", got["mean_ttft_ms"], each)
	}
	if line := r.command(got); !strings.HasSuffix(line, "--set seed=0") {
		t.Errorf("command %q", line)
	}
}

// The search ends at the highest rate at which the condition holds, to its accuracy.
func TestCapacityIsFound(t *testing.T) {
	c := Capacity{From: 0.1, To: 50, While: "latency <= 7"}
	f, err := c.search(func(rate scenarios.PerSecond) (figures, error) {
		return figures{"latency": float64(rate) * 2}, nil
	})
	testkit.OK(t, err)
	if rate := f["rate"].(float64); rate > 3.5 || rate < 3.5/accuracy {
		t.Errorf("capacity %v, want 3.5", rate)
	}
}
