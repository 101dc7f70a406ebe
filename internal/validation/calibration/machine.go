package calibration

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
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

// Rates are what the machine reaches at a moment: reading memory, in B/s, and multiplying in the
// caches, in FLOP/s.
type Rates struct {
	Bandwidth float64 `json:"bandwidth"`
	FLOPRate  float64 `json:"flop_rate"`
}

// rates measures both, for a tenth of a second or less.
func (m *Machine) rates() Rates { return Rates{m.probe.ReadBandwidth(), m.probe.MatrixRate()} }

// Noise is how much the machine changed while something was measured.
type Noise struct {
	// Rates are medians over the whole time, Before and After over its first and second half.
	Rates  Rates `json:"rates"`
	Before Rates `json:"first_half"`
	After  Rates `json:"second_half"`
	// Others is the share of the processors' time that other programs used, Stolen the share that a
	// hypervisor gave to others; 0 where the system does not say.
	Others float64 `json:"others"`
	Stolen float64 `json:"stolen"`
}

// The levels above which a measurement does not count.
const (
	// MostDrift is by how much the rates may change from the first half to the second.
	MostDrift = 0.05
	// MostOthers is the largest share of the processors that other programs may use, where the
	// stopwatch reads wall time.
	MostOthers = 0.03
	// MostStolen is the largest share that a hypervisor may take.
	MostStolen = 0.02
)

// Drift returns the larger change of the two rates, as a share.
func (n Noise) Drift() float64 {
	change := func(a, b float64) float64 { return math.Abs(math.Log(b / a)) }
	return max(change(n.Before.Bandwidth, n.After.Bandwidth),
		change(n.Before.FLOPRate, n.After.FLOPRate))
}

// Watch follows the rates of the machine until Stop.
type Watch struct {
	machine *Machine
	samples []Rates
	begun   int // how many samples are older than the last call of Begin
	wall    time.Time
	used    time.Duration // processor time of this process at the beginning
	system  ticks
}

// ends is how often the rates are measured when a watch begins and when it stops.
const ends = 3

// Watch begins to look for noise.
func (m *Machine) Watch() *Watch {
	w := &Watch{machine: m, wall: time.Now(), system: systemTicks()}
	w.used = processTime(w.wall)
	for range ends {
		w.Sample()
	}
	return w
}

// Sample measures the rates.
func (w *Watch) Sample() { w.samples = append(w.samples, w.machine.rates()) }

// Begin starts a part of the watch.
func (w *Watch) Begin() { w.begun = len(w.samples) }

// Rates returns the medians since Begin, of one sample at least.
func (w *Watch) Rates() Rates { return medians(w.samples[w.begun:]) }

// Stop returns what happened since the watch began.
func (w *Watch) Stop() Noise {
	for range ends {
		w.Sample()
	}
	own := (processTime(w.wall) - w.used).Seconds() / time.Since(w.wall).Seconds() / float64(
		runtime.NumCPU())
	stolen, used := systemTicks().since(w.system)
	half := len(w.samples) / 2
	return Noise{
		Rates: medians(w.samples), Before: medians(w.samples[:half]),
		After:  medians(w.samples[half:]),
		Others: max(0, used-own), Stolen: stolen,
	}
}

// processTime returns the processor time of this process. If no clock gives it, it returns the
// wall-clock time since a fixed moment, as if one processor had been busy.
func processTime(since time.Time) time.Duration {
	if used, ok := engine.ProcessTime(); ok {
		return used
	}
	return time.Since(since)
}

func medians(samples []Rates) Rates {
	bandwidths, rates := make([]float64, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		bandwidths[i], rates[i] = s.Bandwidth, s.FLOPRate
	}
	return Rates{Median(bandwidths), Median(rates)}
}

// Median returns the median of at least one number.
func Median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// ticks is processor time of the whole system, in units of its own: of any kind, idle, and what a
// hypervisor gave to others while this system wanted it.
type ticks struct{ all, idle, stolen float64 }

// systemTicks reads what the system counts; zeros where it does not say.
func systemTicks() ticks {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat: "cpu", then user, nice, system, idle, iowait, irq,
// softirq and steal (proc_stat(5)). What follows is part of those.
func parseTicks(text string) ticks {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return ticks{}
	}
	var t ticks
	for i, field := range fields[1:9] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return ticks{}
		}
		t.all += n
		switch i {
		case 3, 4: // waiting for input and output is idle, too
			t.idle += n
		case 7:
			t.stolen = n
		}
	}
	return t
}

// since returns the shares of processor time that were stolen since before, and that programs used.
func (t ticks) since(before ticks) (stolen, used float64) {
	all := t.all - before.all
	if all <= 0 {
		return 0, 0
	}
	stolen = (t.stolen - before.stolen) / all
	return stolen, 1 - stolen - (t.idle-before.idle)/all
}
