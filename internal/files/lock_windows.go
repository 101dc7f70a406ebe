package files

import (
	"os"

	"golang.org/x/sys/windows"
)

// locks reports whether Lock keeps others out.
const locks = true

// Lock takes a file for this process, as long as it is open. It fails at once where another process
// has it.
func Lock(f *os.File) error {
	// What is locked cannot be read: so it is a byte that no file has.
	const wholly = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), wholly, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 1 << 30})
}

// hold keeps no lock: a file that is closed is not locked here.
func hold(*os.File) (release func()) { return func() {} }
