package machine

import (
	"cmp"
	"errors"

	"github.com/llmsim/llmsim/internal/engine/bench"
)

// Machines keeps a Machine for each number of threads. Only one computes at a time.
type Machines struct {
	// ProbeBytes is what a probe reads at a time, see New; 0 means probe.DefaultBytes.
	ProbeBytes int
	known      map[int]*Machine
}

// With returns the machine that computes on the given number of threads.
func (m *Machines) With(threads int) (*Machine, error) {
	if host := m.known[threads]; host != nil {
		return host, nil
	}
	host, err := New(threads, cmp.Or(m.ProbeBytes, bench.DefaultBytes))
	if err != nil {
		return nil, err
	}
	if m.known == nil {
		m.known = map[int]*Machine{}
	}
	m.known[threads] = host
	return host, nil
}

// Close closes all.
func (m *Machines) Close() error {
	var err error
	for _, host := range m.known {
		err = errors.Join(err, host.Close())
	}
	return err
}
