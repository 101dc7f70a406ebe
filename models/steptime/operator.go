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
	// Tiles is arithmetic of which most goes into tiles and multiprocessors that the rows of a
	// product do not fill.
	Tiles   Bound = "unfilled tiles"
	Unknown Bound = "unknown" // step times that are given
)

// Operator is a part of a step: all runs of one kind of kernel on one accelerator of the slowest
// pipeline stage, or a time that the engine adds.
type Operator struct {
	Name string
	// Count is the number of runs; 0 for a time that the engine adds.
	Count float64
	// FLOPs and Bytes are the operations and the bytes moved of all runs together.
	FLOPs, Bytes float64
	Time         sim.Time
	// Bound is the largest part of Time: compute, unfilled tiles, memory traffic, or fixed times.
	Bound Bound
	// Computing is the time that the arithmetic alone would take.
	Computing sim.Time
}

// kernel returns the operator of count kernels that compute and move so much each, with the given
// seconds of compute, memory traffic, both overlapped, and fixed time.
func kernel(name string, count, flops, bytes, compute, memory, both, fixed float64) Operator {
	return Operator{Name: name, Count: count, FLOPs: count * flops, Bytes: count * bytes,
		Time: times(count, both+fixed), Bound: largest(compute, memory, fixed),
		Computing: times(count, compute)}
}

// Binding returns what the largest part of the time of operators is bound by.
func Binding(ops []Operator) Bound {
	times := map[Bound]sim.Time{}
	var most Bound
	for i := range ops {
		b := ops[i].Bound
		if times[b] += ops[i].Time; times[b] > times[most] {
			most = b
		}
	}
	return most
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
