package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The same question gives the same bytes whether or not the compiler fuses products with sums: with
// GOAMD64=v3, and on arm64 where Debian's qemu-user runs it. The emulator takes many times as long,
// so that it answers the first question and two drawn ones.
func TestSameBytesOnAnyMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program for other machines")
	}
	testkit.Dear(t)
	plain := program(t)
	var fused, emulated func(args ...string) *exec.Cmd
	if runtime.GOARCH == "amd64" && cpu.X86.HasFMA && cpu.X86.HasAVX2 {
		built := crossBuild(t, "GOAMD64=v3")
		fused = func(args ...string) *exec.Cmd { return testkit.Command(t, built, args...) }
	}
	if qemu, err := exec.LookPath("qemu-aarch64"); err == nil {
		built := crossBuild(t, "GOARCH=arm64", "CGO_ENABLED=0")
		emulated = func(args ...string) *exec.Cmd {
			return testkit.Command(t, qemu, append([]string{built}, args...)...)
		}
	}
	if fused == nil && emulated == nil {
		t.Skip("this machine runs no other build")
	}
	const few = " --set workload.requests=100"
	const brief = " --no-tune --set effort.requests=100 --set effort.most-requests=200"
	questions := []string{
		"scenario chat" + few, "scenario deepseek-v3-ep" + few, "scenario two-models" + few,
		"scenario disaggregated" + few, "scenario speculation-on" + few,
		"scenario autoscaling --set workload.duration=3m",
		"scenario tenants" + few, "scenario papers/sarathi" + few,
		"plan many-users --set menu.hardware=[l4,h100-sxm]" + brief,
		`plan disaggregated --set menu.tensor=[1] --set menu.batching=[{"token-budget":2048}] ` +
			`--set menu.disaggregated=[{"prefill":1,"decode":1}] --set workload.rate=2/s` + brief,
	}
	slow := append(testkit.DrawCases(t, 2, questions[1:]), questions[0])
	for _, asked := range questions {
		args := append(strings.Fields(asked), "--format", "json")
		want := output(t, testkit.Command(t, plain, args...))
		if fused != nil && !bytes.Equal(output(t, fused(args...)), want) {
			t.Errorf("%s: with GOAMD64=v3 it prints other bytes", asked)
		}
		if emulated != nil && slices.Contains(slow, asked) &&
			!bytes.Equal(output(t, emulated(args...)), want) {
			t.Errorf("%s: on arm64 it prints other bytes", asked)
		}
	}
}

// crossBuild builds the program with further variables of the environment.
func crossBuild(t *testing.T, env ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "llmsim")
	// The tests themselves have no version of the repository either.
	build := testkit.Command(t, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", env, err, out)
	}
	return program
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return out
}
