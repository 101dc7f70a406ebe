package probe_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/serve/servetest"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/probe"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// measure measures the host of a server of a model on an H100.
func measure(t *testing.T, url, model string, speed float64) (*probe.Result, error) {
	t.Helper()
	return probe.Run(t.Context(), probe.Config{URL: url, Speed: speed, Tell: func(string) {},
		Load: func(sets ...string) (*scenarios.File, error) {
			return scenarios.Describe(model, "h100-sxm", sets...)
		}})
}

// serve serves qwen2.5-0.5b on a machine with a host, and returns the address.
func serve(t *testing.T, host, speed float64) string {
	t.Helper()
	file, err := scenarios.Describe("qwen2.5-0.5b", "h100-sxm",
		fmt.Sprintf("hardware.host=%g", host), "workload={rate: 1/s, prompt: 64, output: 64}")
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	return servetest.At(t, simulation, speed)
}

// The host of a server is found over the network, and it is what its result says for scenarios.
func TestTheHostIsFound(t *testing.T) {
	const host, speed = 3.0, 2
	r, err := measure(t, serve(t, host, speed)+"/v1", "qwen2.5-0.5b", speed)
	testkit.OK(t, err)
	if math.Abs(r.Value/host-1) > 0.04 || !(r.Deviation > 0 && r.Deviation < 0.1) {
		t.Errorf("found host %.4g ± %.3g of %g", r.Value, r.Deviation, host)
	}
	var text strings.Builder
	testkit.OK(t, r.WriteText(&text))
	line := fmt.Sprintf("\nhardware: {accelerator: h100-sxm, host: %.3g}\n", r.Value)
	if !strings.HasSuffix(text.String(), line) {
		t.Errorf("found %s, want at its end %s", &text, line)
	}
}

// A host that the accelerator hides is bounded from above, and not told.
func TestAFastHostIsHidden(t *testing.T) {
	_, err := measure(t, serve(t, 0.7, 1), "qwen2.5-0.5b", 1)
	if !errors.Is(err, fit.ErrNoHost) || !strings.Contains(err.Error(), "the host is at most 1.") {
		t.Errorf("found %v, want that the accelerator decides", err)
	}
}

// server answers with pieces of text, so many at once, and a pause after them. It lists the model
// of the given name, and says that it counted so many tokens.
type server struct {
	name                string
	pieces, bunch, says int
	pause               time.Duration
	status              int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"data":[{"id":%q}]}`, s.name)
		return
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
		fmt.Fprint(w, `{"error":{"message":"the key is \u001b[31mwrong"}}`)
		return
	}
	for i := range s.pieces {
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\"x\"}]}\n\n")
		if (i+1)%s.bunch == 0 {
			w.(http.Flusher).Flush()
			time.Sleep(s.pause)
		}
	}
	fmt.Fprintf(w, "data: {\"usage\":{\"prompt_tokens\":64,\"completion_tokens\":%d}}\n\n"+
		"data: [DONE]\n\n", s.says)
}

// What tells no host is said, with the reason.
func TestRefusals(t *testing.T) {
	for want, c := range map[string]struct {
		model string
		*server
		none bool
	}{
		"the accelerator, and not the host, decides": {"llama-3.1-8b", &server{}, true},
		"that the accelerator takes alone: is the model": {"qwen2.5-0.5b", &server{
			pieces: 128, bunch: 1, says: 128, pause: 100 * time.Microsecond}, true},
		"tokens in bunches": {"qwen2.5-0.5b", &server{pieces: 128, bunch: 16, says: 128,
			pause: 2 * time.Millisecond}, false},
		"found 0 answers of at least 64 tokens": {"qwen2.5-0.5b", &server{pieces: 9, bunch: 1,
			says: 9}, false},
		"an answer of 1000000000 tokens": {"qwen2.5-0.5b", &server{pieces: 9, bunch: 1,
			says: 1e9}, false},
		`want 1: "401 Unauthorized: the key is \x1b[31mwrong"`: {"qwen2.5-0.5b",
			&server{status: 401}, false},
		"found model Qwen/Qwen3-0.6B, want the scenario's qwen2.5-0.5b": {"qwen2.5-0.5b",
			&server{name: "Qwen/Qwen3-0.6B", pieces: 128, bunch: 1, says: 128}, false},
	} {
		if c.name == "" {
			c.name = "Qwen/Qwen2.5-0.5B"
		}
		at := httptest.NewServer(c.server)
		_, err := measure(t, at.URL, c.model, 1)
		at.Close()
		if err == nil || !strings.Contains(err.Error(), want) ||
			errors.Is(err, fit.ErrNoHost) != c.none {
			t.Errorf("found %v, want %q", err, want)
		}
	}
}
