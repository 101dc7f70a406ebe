// Package planner answers questions about many simulations at once: which of two scenarios is
// better (compare), how results change over a grid of scenarios (sweep), and which fleet meets an
// SLO at least cost (capacity), what would help a system that misses its SLO (TryRemedies), and
// which accelerators can serve a model (Support). Its results are plain structs.
package planner
