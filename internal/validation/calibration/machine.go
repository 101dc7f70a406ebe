package calibration

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/files"
)

// Machine runs models on a number of this computer's threads, and times them.
//
// With one thread, the stopwatch reads the processor time of that thread. It leaves out what other
// programs took of the processor, so that steps can be timed on a machine that is shared; what they
// took of caches and of memory bandwidth remains. Several threads wait for each other while
// spinning, so that processor time says nothing about them: there the stopwatch reads wall time,
// and only a machine without other load gives times that count.
//
// A Machine is used by the goroutine that made it, which stays on its
// thread until Close.
type Machine struct {
	pool   *kernels.Pool
	set    *kernels.Set
	probe  *engine.Probe
	models map[loaded]*gpt2.Model
	begin  time.Time
}

// loaded names a model in memory.
type loaded struct {
	config gpt2.Config
	format kernels.Format
}

// NewMachine readies a machine that computes on the given number of threads, at least 1. Its rates
// are measured by reading a number of bytes at a time. Only engine.DefaultProbeBytes are sure to
// come from memory; fewer take less time.
func NewMachine(threads, probeBytes int) (*Machine, error) {
	runtime.LockOSThread()
	m := &Machine{pool: kernels.NewPool(threads), set: kernels.Best(),
		models: map[loaded]*gpt2.Model{}, begin: time.Now()}
	var err error
	if m.probe, err = engine.NewProbe(m.pool, m.set, probeBytes); err != nil {
		return nil, err
	}
	m.probe.Now = m.Now
	return m, nil
}

// Close frees all models and the threads.
func (m *Machine) Close() error {
	err := m.probe.Close()
	for _, model := range m.models {
		err = errors.Join(err, model.Close())
	}
	m.pool.Close()
	runtime.UnlockOSThread()
	return err
}

// Threads returns the number of threads that compute.
func (m *Machine) Threads() int { return m.pool.Threads() }

// Kernels returns the kernels that compute.
func (m *Machine) Kernels() *kernels.Set { return m.set }

// Pool returns the threads.
func (m *Machine) Pool() *kernels.Pool { return m.pool }

// Now reads the stopwatch.
func (m *Machine) Now() time.Duration {
	if used, ok := engine.ThreadTime(); ok && m.pool.Threads() == 1 {
		return used
	}
	return time.Since(m.begin)
}

// Model returns a model of that shape with random weights, which take as long as trained ones. It
// belongs to the machine. It is not made where ctx is done meanwhile.
func (m *Machine) Model(ctx context.Context, c gpt2.Config, format kernels.Format) (
	*gpt2.Model, error) {
	if model := m.models[loaded{c, format}]; model != nil {
		return model, nil
	}
	folder, err := files.NewTemporary("llmsim-weights")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := gpt2.WriteRandom(ctx, folder.Path, c, 1); err != nil {
		return nil, err
	}
	model, err := gpt2.Load(folder.Path, gpt2.Options{Format: format})
	if err != nil {
		return nil, err
	}
	m.models[loaded{c, format}] = model
	return model, nil
}

// Engine returns an engine for the model with a KV cache of a number of blocks, scattered as after
// long service. The caller closes it.
func (m *Machine) Engine(model *gpt2.Model, blocks int) (*engine.Engine, error) {
	return engine.New(model, engine.Options{Blocks: blocks, Pool: m.pool, Kernels: m.set,
		PrefixCaching: true, Scattered: true})
}

// Clock returns a clock that executes steps on e, timed by the machine's stopwatch.
func (m *Machine) Clock(e *engine.Engine) *engine.Clock {
	c := engine.NewClock(e)
	c.Now = m.Now
	return c
}

// Machines keeps a Machine for each number of threads. Only one computes at a time.
type Machines struct {
	// ProbeBytes is what a probe reads at a time, see New; 0 means probe.DefaultProbeBytes.
	ProbeBytes int
	known      map[int]*Machine
}

// With returns the machine that computes on the given number of threads.
func (m *Machines) With(threads int) (*Machine, error) {
	if host := m.known[threads]; host != nil {
		return host, nil
	}
	host, err := NewMachine(threads, cmp.Or(m.ProbeBytes, engine.DefaultProbeBytes))
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

// Processor returns the name of the processor as the system has it, or the name of its instruction
// set.
func Processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
