// Package fit refits the constants of hardware/fitted and of the engine presets to measurements.
//
// Each constant has a range that physics and data sheets allow (constants.go). The fit finds the
// most probable constants given that range and the measured rows, under a robust loss: Gauss–Newton
// steps on the whole simulator, whose linear problem gonum/optimize solves (solve.go). For the
// slopes, a sample of 24 steps of a server's run is timed again; each round ends with a simulation.
// Tables of kernels are thinned to about 40 rows a GPU, and benchmarks to every third or fourth
// row; errors in the fit are over all rows. A constant on which the rows say nothing keeps its
// value.
//
// The fit then leaves out each model, and each GPU, to see how wrong predictions are of what was
// not measured (leaveout.go): one step from the solution for all rows, with its slopes.
package fit
