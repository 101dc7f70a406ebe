package fit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

const smallServer = `
model: qwen2.5-0.5b
hardware: {accelerator: h100-sxm}
engine: vllm
workload: {rate: 4/s, prompt: 256, output: 64, requests: 200}
`

const largeServer = `
model: llama-3.1-70b
hardware: {accelerator: h100-sxm}
parallelism: {tensor: 4}
engine: vllm
workload: {rate: 1/s, prompt: 256, output: 64, requests: 50}
`

// on returns a server of the scenario on a machine whose host takes that many times the time of an
// H100's.
func on(text string, host float64) fit.Server {
	return fit.Server{Load: func(more ...string) (*scenarios.File, error) {
		return scenarios.Parse("test", []byte(text),
			append([]string{fmt.Sprintf("hardware.host=%g", host)}, more...)...)
	}}
}

// meanTPOT returns the predicted mean TPOT of a server in milliseconds.
func meanTPOT(t *testing.T, s fit.Server) float64 {
	t.Helper()
	file, err := s.Load()
	testkit.OK(t, err)
	built, err := file.Build(policies.Default())
	testkit.OK(t, err)
	r, err := built.Run(context.Background())
	testkit.OK(t, err)
	return r.MeanTPOT
}

// A small model on a fast accelerator measures its machine's host: the factor of steps that is
// fitted to it is hardware.host, with which a large model is predicted there. A host faster than
// the typical one shows less, because the accelerator then decides the step.
func TestASmallModelMeasuresTheHost(t *testing.T) {
	for _, host := range []float64{1.25, 1.6, 2.4} {
		r := observed.Run{Name: "small"}
		for i := range 200 {
			r.Requests = append(r.Requests, observed.Request{Arrival: float64(i) / 4,
				Prompt: 200 + i, Output: 64, TTFT: 1, E2E: 1})
		}
		machine := on(smallServer, host)
		pairs, err := machine.Compare(context.Background(), scenarios.Factors{}, &r)
		testkit.OK(t, err)
		for i := range pairs {
			r.Requests[i].TTFT, r.Requests[i].E2E = pairs[i].TTFT[1], pairs[i].E2E[1]
		}
		found, err := fit.Run(context.Background(),
			fit.Config{Server: server(smallServer), Runs: []observed.Run{r}})
		testkit.OK(t, err)
		for _, f := range found.Factors {
			if f.Name != "step" {
				continue
			}
			if !f.Learnt || math.Abs(f.Value/host-1) > 0.05 {
				t.Errorf("the host is %.3f ± %.3f, want %g", f.Value, f.Deviation, host)
			}
			got, want := meanTPOT(t, on(largeServer, f.Value)), meanTPOT(t, on(largeServer, host))
			if math.Abs(got/want-1) > 0.01 {
				t.Errorf("host %g: TPOT of the large model is %g ms, want %g ms", host, got, want)
			}
		}
	}
}

// What is not known of a host matters where steps are short: over one deviation of hosts, the TPOT
// of a model of 0.5B parameters on an H100 moves by more than four times as much as a 70B's.
func TestHostsMoveSmallModelsMost(t *testing.T) {
	moves := func(text string) float64 {
		slow := math.Exp(hardware.Hosts().Deviation)
		return math.Log(meanTPOT(t, on(text, slow)) / meanTPOT(t, on(text, 1/slow)))
	}
	small, large := moves(smallServer), moves(largeServer)
	if small < 4*large || small <= 0 || large < 0 {
		t.Errorf("hosts move TPOT by %.3f and by %.3f, want the first to be four times as large",
			small, large)
	}
}

// A slow host is found from times a token alone. One that the accelerator hides is not, nor one
// that would take less time than the accelerator, or more than any host.
func TestHostsAreFoundFromTPOT(t *testing.T) {
	simulated := func(host, scale float64) *observed.Run {
		r := &observed.Run{Name: "one by one", Load: observed.Load{Concurrency: 1}}
		for range 10 {
			r.Requests = append(r.Requests, observed.Request{Prompt: 64, Output: 128, TTFT: 1,
				E2E: 2})
		}
		machine := on(smallServer, host)
		pairs, err := machine.Compare(t.Context(), scenarios.Factors{}, r)
		testkit.OK(t, err)
		for i := range pairs {
			r.Requests[i].TTFT, r.Requests[i].E2E = scale*pairs[i].TTFT[1], scale*pairs[i].E2E[1]
		}
		return r
	}
	small := server(smallServer)
	for _, host := range []float64{1.25, 2.03, 6} {
		found, err := small.FindHost(t.Context(), simulated(host, 1))
		testkit.OK(t, err)
		if math.Abs(found.Value/host-1) > 1e-3 || !(found.Deviation > 0.0149) ||
			found.Deviation > 0.1 {
			t.Errorf("found host %.4g ± %.3g of %g", found.Value, found.Deviation, host)
		}
	}
	for want, r := range map[string]*observed.Run{"the accelerator decides": simulated(0.5, 1),
		"takes alone": simulated(0.5, 0.8), "want at most": simulated(100, 1.1)} {
		_, err := small.FindHost(t.Context(), r)
		if !errors.Is(err, fit.ErrNoHost) || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q", err, want)
		}
	}
	restless := simulated(3, 1)
	for i := range restless.Requests {
		restless.Requests[i].E2E *= float64(1 + 3*(i%2))
	}
	if _, err := small.FindHost(t.Context(), restless); !errors.Is(err, fit.ErrNoHost) {
		t.Errorf("times that differ fourfold: found %v, want no host", err)
	}
	large := server(largeServer)
	if err := large.ShowsHost(t.Context(), simulated(1, 1)); !errors.Is(err, fit.ErrNoHost) {
		t.Errorf("a large model: found %v, want that it tells no host", err)
	}
	testkit.OK(t, small.ShowsHost(t.Context(), simulated(1, 1)))
}
