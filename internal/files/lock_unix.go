//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// locks reports whether Lock keeps others out.
const locks = true

// Lock takes a file for this process, as long as it is open. It fails at once where another process
// has it.
func Lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
