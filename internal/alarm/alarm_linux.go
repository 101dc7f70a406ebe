package alarm

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleeper waits in ppoll, which takes nanoseconds, for an eventfd.
type sleeper struct{ fd int }

func (s *sleeper) open() (err error) {
	s.fd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return err
}

func (s *sleeper) close() error { return unix.Close(s.fd) }

func (s *sleeper) sleep(until time.Time) {
	var timeout *unix.Timespec
	if !until.IsZero() {
		left := time.Until(until)
		if left <= 0 {
			return
		}
		t := unix.NsecToTimespec(int64(left))
		timeout = &t
	}
	watched := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	// A signal may interrupt the wait; callers look at the clock anyway.
	if n, err := unix.Ppoll(watched, timeout, nil); err == nil && n > 0 {
		var count [8]byte
		_, _ = unix.Read(s.fd, count[:])
	}
}

func (s *sleeper) interrupt() {
	one := [8]byte{0: 1, 7: 0}
	_, _ = unix.Write(s.fd, one[:])
}
