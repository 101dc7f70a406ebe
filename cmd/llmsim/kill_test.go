//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
)

// tree returns the contents of all files in a folder, by their names.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}

// finished leaves out what is marked as unfinished, and what workers keep.
func finished(all map[string]string) map[string]string {
	kept := map[string]string{}
	for name, data := range all {
		if !strings.Contains(name, ".unfinished-") && !strings.HasPrefix(name, "queue/") &&
			name != "journal.jsonl" {
			kept[name] = data
		}
	}
	return kept
}

// Killed at any moment, a command leaves no file half-written: each is there with the bytes of an
// undisturbed run, or not at all. Run again, it comes to the same bytes, and what the killed ones
// began is gone. What a living command writes into the same folder stays.
func TestKilledCommandsLeaveNothingHalfWritten(t *testing.T) {
	llmsim := program(t)
	commands := [][]string{
		{"scenario", "speed", "--set", "workload.requests=50000"},
		smallPlan,
		{"sweep", "speed", "--set", "workload.requests=2000", "--vary", "seed=1,2,3,4",
			"--no-plots"},
	}
	if testing.Short() {
		commands = testkit.DrawCases(t, 1, commands)
	}
	for _, args := range commands {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			calm, killed := filepath.Join(dir, "calm"), filepath.Join(dir, "killed")
			begin := time.Now()
			if !start(t, llmsim, append(args, "--out", calm)...).endsWithin(t, patience) {
				t.Fatal("the undisturbed run does not end")
			}
			want, whole := finished(tree(t, calm)), time.Since(begin)
			kills := 6
			if testing.Short() {
				kills = 3
			}
			living := start(t, llmsim, "scenario", "speed", "--set", "workload.requests=1000000000",
				"--out", killed)
			var lives []string
			for begin := time.Now(); len(lives) == 0 && !living.endsWithin(t, time.Millisecond); {
				lives, _ = filepath.Glob(filepath.Join(killed, ".unfinished-*", "*requests.csv"))
				if time.Since(begin) > time.Minute { // it would write until the disk is full
					t.Fatal("the living run has not begun to write requests.csv")
				}
			}
			testkit.OK(t, living.Process.Signal(syscall.SIGSTOP)) // alive, and takes no time
			for range kills {
				p := start(t, llmsim, append(args, "--out", killed)...)
				time.Sleep(time.Duration(rand.Int64N(int64(whole))))
				p.kill(t)
				for name, data := range finished(tree(t, killed)) {
					if data != want[name] {
						t.Errorf(
							"after a kill %s has %d bytes that are not the %d of an "+
								"undisturbed run", name, len(data), len(want[name]))
					}
				}
			}
			if !start(t, llmsim, append(args, "--out", killed)...).endsWithin(t, patience) {
				t.Fatal("the run after does not end")
			}
			got := tree(t, killed)
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s differs", name)
				}
			}
			for name := range got {
				name = filepath.Join(killed, name)
				if strings.Contains(name, ".unfinished-") && name != lives[0] &&
					!strings.HasPrefix(filepath.Dir(lives[0]), name) {
					t.Errorf("%s is left behind", name)
				}
			}
			if _, err := os.Stat(lives[0]); err != nil {
				t.Errorf("what a living command writes is gone: %v", err)
			}
			living.kill(t)
		})
	}
}

// On a disk that is full a command fails with a message, and what was there before is still there.
// Once there is room the same command goes on, and comes to the bytes of an undisturbed run. A
// limit on the size of files stands for the disk.
func TestFullDisks(t *testing.T) {
	llmsim := program(t)
	commands := [][]string{
		{"scenario", "speed", "--set", "workload.requests=50000"},
		smallPlan,
		{"sweep", "speed", "--set", "workload.requests=500", "--vary", "seed=1..60:60",
			"--no-plots"},
	}
	if testing.Short() {
		commands = testkit.DrawCases(t, 1, commands)
	}
	for _, args := range commands {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			calm, full := filepath.Join(dir, "calm"), filepath.Join(dir, "full")
			if !start(t, llmsim, append(args, "--out", calm)...).endsWithin(t, patience) {
				t.Fatal("the undisturbed run does not end")
			}
			want := finished(tree(t, calm))
			testkit.OK(t, os.Mkdir(full, 0o777))
			testkit.OK(t, os.WriteFile(filepath.Join(full, "before.txt"), []byte("before"),
				0o666))
			for _, blocks := range []int{1, 4, 16} { // of 512 or 1024 bytes
				line := fmt.Sprintf("ulimit -f %d; exec \"$0\" \"$@\"", blocks)
				out, err := testkit.Command(t, "sh",
					append([]string{"-c", line, llmsim},
						append(args, "--out", full)...)...).CombinedOutput()
				if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != exitFailed ||
					!strings.Contains(string(out), "file too large") {
					t.Errorf("with %d blocks: %v\n%.1000s", blocks, err, out)
				}
				for name, data := range finished(tree(t, full)) {
					if data != want[name] && name != "before.txt" {
						t.Errorf("with %d blocks %s is half-written", blocks, name)
					}
				}
			}
			if !start(t, llmsim, append(args, "--out", full)...).endsWithin(t, patience) {
				t.Fatal("the run after does not end")
			}
			want["before.txt"] = "before"
			got := finished(tree(t, full))
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s differs", name)
				}
			}
		})
	}
}

// Where nothing can be written to standard output, each command says so and fails.
func TestFullStandardOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, line := range []string{"help", "scenario --help", "version", "completion bash",
		"list models", "memory gpt2 l4", "roofline gpt2 l4", "explain gpt2 l4", "support gpt2",
		"scenario speed --set workload.requests=20",
		"scenario speed --set workload.requests=20 --format json"} {
		var said strings.Builder
		code := execute(t.Context(), strings.Fields(line), full, &said)
		if code != exitFailed || !strings.Contains(said.String(), "no space left") {
			t.Errorf("%s: exit code %d, %q", line, code, said.String())
		}
	}
}
