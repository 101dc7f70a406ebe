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

// hold keeps the lock of a file after the file is closed, until the function that it returns is
// called.
func hold(f *os.File) (release func()) {
	copied, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	return func() { unix.Close(copied) }
}
