package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// listening runs a service with a port for each replica until the test ends, and returns the
// addresses: of the whole, then of the replicas.
func listening(t *testing.T, scenario string, replicas int, speed float64) []string {
	t.Helper()
	file, err := scenarios.Parse("test.yaml", []byte(scenario))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	s, err := Open(Options{Simulation: simulation.Config(), Models: simulation.Models(),
		Lengths: []int{5}, Speed: speed, Dialect: "vllm"})
	testkit.OK(t, err)
	listeners, err := Listen("127.0.0.1:0", replicas)
	testkit.OK(t, err)
	var urls []string
	for _, l := range listeners {
		urls = append(urls, "http://"+l.Addr().String())
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listeners) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return urls
}

// get returns the status and the body at an address; 0 if nobody answers.
func get(url string) (int, string, error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begin := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal(what)
		}
	}
}

// A replica that was killed is gone: its port refuses connections, answers in progress there are
// cut off, and its metrics vanish, until it is back. The whole is healthy as long as any is left.
func TestKilledReplicasAreGone(t *testing.T) {
	urls := listening(t, strings.Replace(small, "workload:", "replicas: 2\nworkload:", 1), 2, 1)
	fault := func(body string) {
		t.Helper()
		response, err := http.Post(urls[0]+"/llmsim/faults", "", strings.NewReader(body))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(body, response, err)
		}
		response.Body.Close()
	}
	metrics := func(replica int) bool {
		_, text, err := get(urls[0] + "/metrics")
		testkit.OK(t, err)
		return strings.Contains(text, fmt.Sprintf(`num_requests_running{engine="%d"`, replica))
	}
	stream, err := http.Post(urls[1]+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"x","max_tokens":3000,"ignore_eos":true,"stream":true}`))
	testkit.OK(t, err)
	defer stream.Body.Close()
	if _, err := io.ReadFull(stream.Body, make([]byte, 200)); err != nil {
		t.Fatal(err)
	}
	fault(`{"kind":"kill","replica":0,"for":"4s"}`)
	if rest, err := io.ReadAll(stream.Body); err == nil {
		t.Errorf("the stream ended as if nothing had happened: %.300s",
			rest[max(0, len(rest)-300):])
	}
	if _, _, err := get(urls[1] + "/health"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the killed replica's port answers with %v", err)
	}
	eventually(t, "the killed replica still has metrics", func() bool { return !metrics(0) })
	for _, url := range []string{urls[0], urls[2]} {
		if status, _, err := get(url + "/health"); status != http.StatusOK {
			t.Errorf("%s is ill: %d, %v", url, status, err)
		}
	}
	if !metrics(1) {
		t.Error("the other replica has no metrics")
	}
	eventually(t, "the replica does not come back", func() bool {
		status, _, _ := get(urls[1] + "/health")
		return status == http.StatusOK && metrics(0)
	})
	fault(`{"kind":"kill","replica":0}`)
	fault(`{"kind":"kill","replica":1}`)
	eventually(t, "nobody is left, and the whole is healthy", func() bool {
		status, _, _ := get(urls[0] + "/health")
		return status == http.StatusServiceUnavailable
	})
}
