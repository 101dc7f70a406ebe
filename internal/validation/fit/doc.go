// Package fit refits the constants of hardware/fitted and of the engine presets to measurements.
//
// Each constant has a range that physics and data sheets allow (constants.go). The fit finds the
// most probable constants given that range and the measured rows, under a robust loss: Gauss–Newton
// steps on the whole simulator, whose linear problem gonum/optimize solves (solve.go). It then
// leaves out each model, and each GPU, to see how wrong predictions are of what was not measured
// (leaveout.go). A constant on which the rows say nothing keeps its value.
package fit
