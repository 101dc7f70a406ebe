package steptime

import "github.com/llmsim/llmsim/sim"

// Bound says what limits an operator.
type Bound string

// What an operator can be bound by.
const (
	Compute Bound = "compute"
	Memory  Bound = "memory"
	Latency Bound = "latency"
	Network Bound = "network"
	Host    Bound = "host"
	// Tiles is arithmetic that goes mostly into tiles and multiprocessors that the rows of a
	// product do not fill.
	Tiles Bound = "unfilled tiles"
	// Drafts is the time in which a drafter works; the model's ledger knows no more of it.
	Drafts  Bound = "drafting"
	Unknown Bound = "unknown" // step times that are given
)

// Operator is a part of a step: all runs of one kind of kernel on one accelerator, or a time that
// the engine adds.
type Operator struct {
	Name string
	// Count is the number of runs; 0 for a time that the engine adds.
	Count float64
	// FLOPs is the number of operations of all runs together.
	FLOPs float64
	// Traffic is the bytes that all runs together move to and from the accelerator's memory.
	Traffic
	// Beside is the part of Traffic that attention moves beside the cache that it reads.
	Beside float64
	// Written is the part of KV that is written: the keys and values of new tokens.
	Written float64
	// Sent is the number of bytes that all runs send to other accelerators.
	Sent float64
	Time sim.Time
	// Parts is Time by what it is spent on.
	Parts Parts
	// Bound is the largest part of Time: compute, unfilled tiles, memory traffic, or fixed times.
	Bound Bound
	// Computing is the time that the arithmetic alone would take.
	Computing sim.Time
}

// Traffic counts the bytes that kernels read from memory and write to it. What a matrix product
// reads and writes beside weights counts with the kernels before and after it; it mostly stays in
// caches.
type Traffic struct{ Weights, KV, Scores, Activations float64 }

// Bytes returns the bytes of all kinds.
func (t *Traffic) Bytes() float64 { return t.Weights + t.KV + t.Scores + t.Activations }

// Intensity returns the number of FLOP for each byte of memory traffic, 0 if nothing is moved.
func (o *Operator) Intensity() float64 {
	if bytes := o.Bytes(); bytes > 0 {
		return o.FLOPs / bytes
	}
	return 0
}

// kernel returns the operator of count kernels that compute and move so much each, with the given
// seconds of compute, memory traffic, both overlapped, and fixed time. It has no Parts yet.
func kernel(name string, count, flops float64, moved Traffic, compute, memory, both,
	fixed float64) Operator {
	moved = Traffic{count * moved.Weights, count * moved.KV, count * moved.Scores,
		count * moved.Activations}
	return Operator{Name: name, Count: count, FLOPs: count * flops, Traffic: moved,
		Time: times(count, both+fixed), Bound: largest(compute, memory, fixed),
		Computing: times(count, compute)}
}

// filling returns the operator with its bound as Tiles, if arithmetic binds it and the arithmetic
// that its rows need takes the given seconds, which are less than half.
func (o Operator) filling(count, needed float64) Operator {
	if o.Bound == Compute && times(2*count, needed) < o.Computing {
		o.Bound = Tiles
	}
	return o
}

// largest returns what the largest of the seconds of arithmetic, of memory traffic and of fixed
// times binds to.
func largest(compute, memory, fixed float64) Bound {
	switch {
	case fixed >= compute && fixed >= memory:
		return Latency
	case compute > memory:
		return Compute
	default:
		return Memory
	}
}

// undivided returns an operator whose time is spent on one thing.
func undivided(name string, t sim.Time, b Bound) Operator {
	o := Operator{Name: name, Bound: b}
	o.setTime(t)
	return o
}
