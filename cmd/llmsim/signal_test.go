//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/planner/queue/queuetest"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Ctrl-C and SIGTERM end a command soon, whatever it is at: computing, waiting for a file that
// nobody writes, or for work.
func TestSignalsEndEveryCommand(t *testing.T) {
	llmsim, dir := program(t), t.TempDir()
	pipe := filepath.Join(dir, "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	const endless = "workload.requests=1000000000"
	nats, signals := queuetest.Serve(t), []os.Signal{os.Interrupt, syscall.SIGTERM}
	if testing.Short() {
		signals = testkit.DrawCases(t, 1, signals)
	}
	for name, args := range map[string][]string{
		"scenario that waits for a file": {"scenario", pipe},
		"scenario that runs":             {"scenario", "speed", "--set", endless},
		"100000 replicas": {"scenario", "chat", "--set", "replicas=100000", "--set",
			endless},
		"scenario with files": {"scenario", "speed", "--set", endless, "--out",
			filepath.Join(dir, "out")},
		"sweep": {"sweep", "speed", "--set", endless, "--vary",
			"seed=1,2,3"},
		"sweep without workers": {"sweep", "speed", "--vary", "seed=1,2", "--nats", nats,
			"--workers", "0"},
		"plan": {"plan", "many-users", "--set",
			"effort.requests=100000000"},
		"worker without a queue": {"worker", "--nats", queuetest.Serve(t)},
		"calibrate":              {"calibrate", "--out", filepath.Join(dir, "host.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, signal := range signals {
				p := start(t, llmsim, args...)
				p.interrupt(t, signal)
			}
		})
	}
}

// A server that gets SIGTERM completes the answers in progress, for longer than other commands may
// take to tidy up, and then ends.
func TestServeEndsItsAnswers(t *testing.T) {
	server := start(t, program(t), "serve", "chat", "--listen", "127.0.0.1:0", "--record",
		filepath.Join(t.TempDir(), "requests.jsonl"))
	url := server.address(t)
	response, err := http.Post(url+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"x","max_tokens":300,"ignore_eos":true,"stream":true}`))
	testkit.OK(t, err)
	defer response.Body.Close()
	if _, err := io.ReadFull(response.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	testkit.OK(t, server.Process.Signal(syscall.SIGTERM))
	begin := time.Now()
	rest, err := io.ReadAll(response.Body)
	if err != nil || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Errorf("the answer was cut short after %v: %v", time.Since(begin), err)
	}
	if time.Since(begin) < defaultGrace {
		t.Errorf("the answer ended after %v, which shows nothing", time.Since(begin))
	}
	if !server.endsWithin(t, patience) {
		t.Error("the server goes on")
	}
}

// address waits until a server says at which address it answers.
func (p *process) address(t *testing.T) string {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(10 * time.Millisecond) {
		if _, rest, ok := strings.Cut(p.stdout.String(), " at "); ok {
			if url, _, whole := strings.Cut(rest, "\n"); whole {
				return url
			}
		}
	}
	t.Fatalf("%v does not say where it answers: %s", p.Args, p.stderr.String())
	return ""
}

// A worker that is interrupted gives back what it has in hand, and another goes on with it.
func TestAnInterruptedWorkerGivesBack(t *testing.T) {
	llmsim, nats := program(t), queuetest.Serve(t)
	planner := start(t, llmsim, "sweep", "speed", "--set", "workload.requests=300000", "--vary",
		"seed=1,2,3", "--nats", nats, "--workers", "0")
	first := start(t, llmsim, "worker", "--nats", nats, "--workers", "1")
	time.Sleep(500 * time.Millisecond) // in hand or not, it ends
	first.interrupt(t, os.Interrupt)
	second := start(t, llmsim, "worker", "--nats", nats, "--workers", "1")
	if !planner.endsWithin(t, patience) {
		t.Errorf("the sweep does not end: %s", second.stderr.String())
	}
	second.kill(t)
}

// interrupt signals a process that has begun, and checks that it ends soon. The bound is a second,
// and what a busy machine adds.
func (p *process) interrupt(t *testing.T, signal os.Signal) {
	t.Helper()
	time.Sleep(300 * time.Millisecond)
	testkit.OK(t, p.Process.Signal(signal))
	begin := time.Now()
	select {
	case <-p.ended:
		t.Logf("%v after %v: %v", p.Args[1:], signal, time.Since(begin).Round(time.Millisecond))
	case <-time.After(20 * time.Second):
		p.Process.Kill()
		t.Errorf("%v goes on after %v", p.Args[1:], signal)
	}
	if text := p.stderr.String(); strings.Contains(text, "panic") {
		t.Errorf("%v: %s", p.Args[1:], text)
	}
}
