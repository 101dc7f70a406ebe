// Package sim is the discrete-event core of llmsim: an integer clock, requests and their
// lives, replicas that form steps under a scheduler and a KV-cache budget, and a cluster of
// replicas behind a router.
//
// The package does no I/O, reads no wall clock, draws no random numbers and keeps no package-level
// state. It defines the interfaces that others implement: Source (who arrives when), Router (to
// which replica), Scheduler (who runs next), Memory (where the KV cache goes), StepClock (what a
// step costs) and Observer (what came out).
//
// Steady stretches are jumped: while neither the batch nor the decision changes, the duration of a
// decode step is affine in the total context, so that many steps are taken in one leap with an
// exact closed form. Leaping and stepping give bit-identical results.
//
// What happens at one instant happens in this order: the requests of the source arrive, then those
// that were pushed from outside; then what is on the agenda takes place, first noted first
// (timeouts, cancellations, hand-overs, outages, scaling); then replicas, the one with the lowest
// index first, end steps and begin others; at last the state is sampled. Every effect on another
// replica, on a user or on the fleet comes at least a tick of the clock later than its cause.
package sim
