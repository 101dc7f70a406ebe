// Package steptime predicts how long a step takes: the physics between a model's FLOPs and bytes
// and a server's milliseconds.
//
// A step is the sum of its operators (matrix products, attention, collectives, sampling), each the
// larger of compute and memory time at the efficiencies fitted to measurements of the accelerator,
// plus a fixed time a kernel; an engine preset adds what the host costs. docs/physics.md gives each
// formula with its source.
//
// A Clock implements sim.LeapClock. Costs that depend on a count (tokens, sampled rows, sequences)
// are computed once for each count and kept as integer ticks, so that predicting a step takes
// nanoseconds and allocates nothing.
package steptime
