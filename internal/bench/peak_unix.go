//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// peak returns the most memory that an ended process had at once, in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // which counts bytes; others count KiB
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
