package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file for this process, as long as it is open.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
