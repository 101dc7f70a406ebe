package testkit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// isolate gives a command a process group of its own, which its context kills as a whole.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// setChildSubreaper is PR_SET_CHILD_SUBREAPER of linux/prctl.h.
const setChildSubreaper = 36

// adoptOrphans makes this process the parent of descendants whose own parent ends, so that children
// lists them (prctl(2), PR_SET_CHILD_SUBREAPER).
func adoptOrphans() {
	// On kernels that refuse, only direct children are found.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// children lists the processes whose parent is this process and that have not ended: the number and
// the command line of each, from /proc (proc(5)).
func children() (list []string) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	parent := strconv.Itoa(os.Getpid())
	for _, folder := range folders {
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name of the program, in parentheses, may contain spaces.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[1] != parent || strings.ContainsAny(fields[0], "ZX") {
			continue
		}
		line, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil {
			continue
		}
		list = append(list, fmt.Sprintf("%s %q", filepath.Base(folder),
			bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})))
	}
	return list
}
