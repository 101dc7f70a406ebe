package engine

import (
	"time"

	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// Probe holds the memory that is read. It is used by one goroutine at a time.
type Probe struct {
	// Now reads the stopwatch; nil means wall time. With one thread it can be that thread's
	// processor time, see package cputime.
	Now func() time.Duration

	pool   *kernels.Pool
	set    *kernels.Set
	region *kernels.Region
	read   readTask
	mul    mulTask
}

// DefaultProbeBytes is larger than any cache in use: 512 MiB.
const DefaultProbeBytes = 512 << 20

// New returns a probe that uses all threads of the pool and reads the given number of bytes at a
// time.
func NewProbe(pool *kernels.Pool, set *kernels.Set, bytes int) (*Probe, error) {
	n := max(bytes/4/readFloats, 1) * readFloats
	region, err := kernels.NewRegion(kernels.RegionBytes[float32](n))
	if err != nil {
		return nil, err
	}
	p := &Probe{pool: pool, set: set, region: region}
	p.read = readTask{set: set, data: kernels.Take[float32](region, n),
		sums: make([]float32, pool.Threads())}
	p.mul.set = set
	for range pool.Threads() {
		p.mul.operands = append(p.mul.operands, newOperands(set.MaxRows()))
	}
	return p, nil
}

// Close frees the memory.
func (p *Probe) Close() error { return p.region.Close() }

// ReadBandwidth reads the memory once and returns the rate in B/s.
func (p *Probe) ReadBandwidth() float64 {
	return float64(4*len(p.read.data)) / p.timed(len(p.read.data)/readFloats, &p.read)
}

// timed runs a loop and returns the seconds that it took by the stopwatch.
func (p *Probe) timed(n int, t kernels.Task) float64 {
	if p.Now == nil {
		begin := time.Now()
		p.pool.Run(n, t)
		return time.Since(begin).Seconds()
	}
	begin := p.Now()
	p.pool.Run(n, t)
	return (p.Now() - begin).Seconds()
}

// readFloats is the number of floats that a worker reads at a time, 128 KiB.
const readFloats = 32 << 10

// readTask reads one piece of memory.
type readTask struct {
	set  *kernels.Set
	data []float32
	sums []float32 // by worker; so that reading has a result
}

func (t *readTask) Do(worker, i int) {
	t.sums[worker] += t.set.Read(t.data[i*readFloats:][:readFloats])
}

// MatrixRate multiplies small matrices in the caches for some milliseconds and returns the rate in
// FLOP/s.
func (p *Probe) MatrixRate() float64 {
	items := 32 * p.pool.Threads()
	seconds := p.timed(items, &p.mul)
	work := float64(items) * repeats * 2 * depth * kernels.PanelWidth * float64(p.set.MaxRows())
	return work / seconds
}

const (
	// depth is the length of the sums in a product: operands and results stay in the L1 cache.
	depth = 192
	// repeats is the number of products of one item, some 100 µs.
	repeats = 128
)

// operands are one worker's matrices.
type operands struct{ dst, a, b []float32 }

func newOperands(rows int) operands {
	return operands{
		dst: make([]float32, rows*kernels.PanelWidth), a: make([]float32, rows*depth),
		b: make([]float32, depth*kernels.PanelWidth),
	}
}

// mulTask multiplies a worker's matrices over and over.
type mulTask struct {
	set      *kernels.Set
	operands []operands
}

func (t *mulTask) Do(worker, _ int) {
	o := &t.operands[worker]
	for range repeats {
		t.set.MulPanel(o.dst, kernels.PanelWidth, o.a, depth, o.b, depth, t.set.MaxRows())
	}
}
