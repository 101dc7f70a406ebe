package scenarios_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// withUsers reads a scenario whose load is users.
func withUsers(load string, overrides ...string) (*scenarios.File, error) {
	return scenarios.Parse("users.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload:\n  "+strings.ReplaceAll(load, "; ", "\n  ")+"\n  prompt: 1000\n"+
		"  output: 250\n"), overrides...)
}

// visits keeps arrivals and the ends of requests.
type visits struct {
	sim.NopObserver
	list [][2]sim.Time
}

func (v *visits) Finished(s *sim.Sequence) {
	v.list = append(v.list, [2]sim.Time{s.Arrival, s.Arrival + s.E2E()})
}

// By the interactive response time law (Denning and Buzen, "The Operational Analysis of Queueing
// Network Models", 1978), c users who wait R for an answer and think for Z send X = c/(R+Z)
// requests a second, whatever the distribution of Z and the number of replicas.
func TestUsersKeepTheInteractiveLaw(t *testing.T) {
	for _, c := range []struct {
		users, replicas int
		think           string
		mean            float64
	}{
		{1, 1, "2s", 2}, {20, 1, "5s", 5}, {200, 1, "10s", 10}, {200, 2, "10s", 10},
		{100, 1, "{distribution: lognormal, mean: 4s, cv: 1}", 4}, {64, 1, "0s", 0},
	} {
		f, err := withUsers(fmt.Sprintf("users: %d; think: %s; requests: %d", c.users, c.think,
			40*c.users+2000), fmt.Sprintf("replicas=%d", c.replicas))
		testkit.OK(t, err)
		seen := &visits{}
		_, err = f.Run(context.Background(), policies.Default(), seen)
		testkit.OK(t, err)
		slices.SortFunc(seen.list, func(a, b [2]sim.Time) int { return int(a[0] - b[0]) })
		n := len(seen.list)
		window, sum := seen.list[n/5:4*n/5], 0.0
		for _, v := range window {
			sum += (v[1] - v[0]).Seconds()
		}
		span := (window[len(window)-1][0] - window[0][0]).Seconds()
		rate, law := float64(len(window)-1)/span, float64(c.users)/(sum/float64(len(window))+c.mean)
		if math.Abs(rate/law-1) > 0.05 {
			t.Errorf("%d users, %d replicas, thinking %s: %.4g/s, the law says %.4g/s", c.users,
				c.replicas, c.think, rate, law)
		}
	}
}

// One user who thinks for a constant time sends each request that time after the answer before.
func TestOneUserIsClosedForm(t *testing.T) {
	f, err := withUsers("users: 1; think: {distribution: constant, mean: 3s}; requests: 50")
	testkit.OK(t, err)
	seen := &visits{}
	_, err = f.Run(context.Background(), policies.Default(), seen)
	testkit.OK(t, err)
	for i, v := range seen.list[1:] {
		if gap := v[0] - seen.list[i][1]; gap != 3*sim.Second {
			t.Fatalf("request %d comes %v after the answer before, want 3 s", i+1, gap)
		}
	}
}

// Users who do not think are a closed loop, byte for byte.
func TestUsersAreAClosedLoop(t *testing.T) {
	var texts, results []string
	for _, load := range []string{"users: 50", "users: 50; think: 0s",
		"arrivals: {process: closed-loop, users: 50}"} {
		f, err := withUsers(load + "; requests: 500")
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		text, err := s.Explain()
		testkit.OK(t, err)
		testkit.OK(t, s.Source.Close())
		r, err := f.Run(context.Background(), policies.Default())
		testkit.OK(t, err)
		result, err := json.Marshal(r)
		testkit.OK(t, err)
		texts = append(texts, strings.ReplaceAll(string(text), " # default", ""))
		results = append(results, string(result))
	}
	for i := range texts {
		if texts[i] != texts[2] || results[i] != results[2] {
			t.Errorf("load %d differs from the closed loop: %s", i, texts[i])
		}
	}
}

// Users contradict a rate and arrivals, and thinking needs users: the line is named.
func TestUsersContradict(t *testing.T) {
	for load, want := range map[string]string{
		"users: 9; rate: 2/s": "users.yaml:5: workload.rate: has no meaning beside users",
		"users: 9; arrivals: poisson": "users.yaml:5: workload.arrivals: has no meaning beside " +
			"users",
		"rate: 9/s; think: 2s":         "users.yaml:5: workload.think: applies only to users",
		"users: 0":                     "users.yaml:4: workload.users",
		"user: 9":                      "did you mean users?",
		"users: 9; think: {mean: -1s}": "workload.think.mean",
		"users: 9; think: {mean: 1s, distribution: gama}": "gamma",
		"users: 9; classes: [{name: a, rate: 2/s, prompt: 9, output: 9}]": "" +
			"users.yaml:5: workload.classes.0.rate",
	} {
		f, err := withUsers(load)
		if err == nil {
			_, err = f.Build(policies.Default())
		}
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Count(err.Error(), "workload.rate:") > 1 {
			t.Errorf("%s: got %v, want %q", load, err, want)
		}
	}
}

// A scenario with users also runs again without its drafts: the speed-up by them is known.
func TestUsersRunWithoutDrafts(t *testing.T) {
	f, err := scenarios.Parse("users.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"speculation: {draft: llama-3.2-1b, acceptance: 0.6}\n"+
		"workload: {users: 4, think: 1s, requests: 30}\n"))
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	if r.Speedup == nil {
		t.Errorf("the speed-up is unknown: %v", r.Warnings)
	}
}
