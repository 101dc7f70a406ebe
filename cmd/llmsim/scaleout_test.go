package main

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/planner/queue/queuetest"
	"github.com/llmsim/llmsim/internal/testkit"
)

// program returns the path of a llmsim to be started, and killed, by tests.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	testkit.OK(t, err)
	path := filepath.Join(t.TempDir(), "llmsim")
	if err := os.Symlink(self, path); err != nil {
		t.Skip(err)
	}
	return path
}

// process is a llmsim that runs.
type process struct {
	*exec.Cmd
	stdout, stderr printed
	ended          chan error
	done           chan struct{} // closed once it has ended
}

// printed is what a process has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// String returns the text.
func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// start starts a llmsim, which ends with the test at the latest.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, program, args...)
}

// startWith is start with more environment variables.
func startWith(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: testkit.Command(t, program, args...), ended: make(chan error, 1),
		done: make(chan struct{})}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	// where the queue's key is
	p.Env = slices.Concat(os.Environ(), []string{"XDG_CONFIG_HOME=" + program + ".config"}, env)
	testkit.OK(t, p.Start())
	go func() {
		p.ended <- p.Wait()
		close(p.done)
	}()
	t.Cleanup(func() { <-p.done })
	return p
}

// endsWithin reports whether the process ends by itself in time; that it fails, fails the test.
func (p *process) endsWithin(t *testing.T, d time.Duration) bool {
	t.Helper()
	select {
	case err := <-p.ended:
		if err != nil {
			t.Fatalf("%v: %v\n%s", p.Args, err, p.stderr.String())
		}
		return true
	case <-time.After(d):
		return false
	}
}

// hasDone waits until the journal in a folder has the given number of lines, and returns false if
// the process ends before.
func (p *process) hasDone(t *testing.T, dir string, lines int) bool {
	t.Helper()
	for !p.endsWithin(t, 5*time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
		if err == nil && bytes.Count(data, []byte("\n")) >= lines {
			return true
		}
	}
	return false
}

// kill is kill -9.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-p.ended
}

// patience is how long a test waits for a process on a busy machine.
const patience = 2 * time.Minute

// sameFiles checks that files of two folders have the same bytes.
func sameFiles(t *testing.T, a, b string, names ...string) {
	t.Helper()
	for _, name := range names {
		x := testkit.Read(t, filepath.Join(a, name))
		y := testkit.Read(t, filepath.Join(b, name))
		if !bytes.Equal(x, y) {
			t.Errorf("%s of %s and %s differ", name, a, b)
		}
	}
}

// smallPlan is a plan that takes about 60 simulations.
var smallPlan = []string{"plan", "many-users", "--no-tune", "--set", "menu.hardware=[l4, h100-sxm]"}

// questions are command lines whose answers must not depend on who computes them, and the files of
// the answers.
var questions = map[string]struct{ args, files []string }{
	"sweep": {
		[]string{"sweep", "llama2-70b", "--set", "workload.requests=3000", "--vary",
			"parallelism.tensor=1,2,4", "--vary", "workload.rate=1/s..8/s:15", "--no-plots"},
		[]string{"results.csv", "results.json"},
	},
	"plan": {
		smallPlan,
		[]string{"plan.json", "options.csv", "scenario.yaml"},
	},
}

// With 1 core, 2 cores, or 8 worker processes of which 3 are killed while the planner is killed and
// started again, the answer has the same bytes.
func TestKilledWorkersAndPlanners(t *testing.T) {
	llmsim, names := program(t), slices.Sorted(maps.Keys(questions))
	names = testkit.DrawCases(t, testkit.Cases(len(names)), names)
	for _, name := range names {
		q := questions[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			one, two, disturbed := filepath.Join(dir, "one"), filepath.Join(dir, "two"),
				filepath.Join(dir, "disturbed")
			alone := start(t, llmsim,
				slices.Concat(q.args, []string{"--workers", "1", "--out", one})...)
			both := start(t, llmsim,
				slices.Concat(q.args, []string{"--workers", "2", "--out", two})...)
			if !alone.endsWithin(t, patience) || !both.endsWithin(t, patience) {
				t.Fatal("the undisturbed run does not end")
			}
			nats := queuetest.Serve(t)
			rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
			var workers []*process
			for range 8 {
				workers = append(workers, start(t, llmsim, "worker", "--nats", nats, "--workers",
					"1"))
			}
			args := slices.Concat(q.args, []string{"--nats", nats, "--workers", "0", "--redeliver",
				"3s", "--out", disturbed})
			planner := start(t, llmsim, args...)
			// while some of the work is done and some is not
			for kills, lines := 0, 0; kills < 3; kills++ {
				lines += 1 + rng.IntN(8)
				if !planner.hasDone(t, disturbed, lines) {
					t.Fatalf("the work was done before the %d. kill", kills+1)
				}
				workers[kills].kill(t)
				planner.kill(t)
				planner = start(t, llmsim, args...)
			}
			if !planner.endsWithin(t, patience) {
				t.Fatalf("the disturbed run does not end: %s", planner.stderr.String())
			}
			for _, w := range workers[3:] {
				w.kill(t)
			}
			sameFiles(t, one, two, q.files...)
			sameFiles(t, one, disturbed, q.files...)
		})
	}
}

// A plan that is killed again and again comes to the answer of an undisturbed one, and the journal
// has each simulation once.
func TestAKilledPlanGoesOn(t *testing.T) {
	testkit.Dear(t) // TestKilledWorkersAndPlanners kills plans too, not as often
	t.Parallel()
	llmsim, dir := program(t), t.TempDir()
	calm, killed := filepath.Join(dir, "calm"), filepath.Join(dir, "killed")
	if !start(t, llmsim, "plan", "many-users", "--no-tune", "--out", calm).endsWithin(t, patience) {
		t.Fatal("the undisturbed plan does not end")
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	kills, stride := 0, len(sortedLines(t, calm))/6
	for lines := 1; ; lines += 1 + rng.IntN(stride) {
		p := start(t, llmsim, "plan", "many-users", "--no-tune", "--out", killed)
		if !p.hasDone(t, killed, lines) {
			break
		}
		p.kill(t)
		kills++
	}
	sameFiles(t, calm, killed, "plan.json", "options.csv", "scenario.yaml")
	if a, b := sortedLines(t, calm), sortedLines(t, killed); kills < 3 || !slices.Equal(a, b) {
		t.Errorf("after %d kills the journal has %d lines, that of an undisturbed plan %d", kills,
			len(b), len(a))
	}
}

// sortedLines returns the lines of the journal in a folder.
func sortedLines(t *testing.T, dir string) []string {
	t.Helper()
	data := testkit.Read(t, filepath.Join(dir, "journal.jsonl"))
	lines := strings.Split(string(data), "\n")
	slices.Sort(lines)
	return lines
}
