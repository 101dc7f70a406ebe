// Package sim is the discrete-event core of llmsim: an integer clock, requests and their
// lives, replicas that form steps under a scheduler and a KV-cache budget, and a cluster of
// replicas behind a router.
//
// The package does no I/O, reads no wall clock, draws no random numbers and keeps no package-level
// state. It defines the interfaces that others implement: Source (the requests and their arrivals),
// Router (the replica of each request), Scheduler (the requests of the next step), Memory (the
// place of the KV cache), StepClock (the time of a step) and Observer (the results).
//
// The simulator leaps over steady stretches. While neither the batch nor the decision changes, the
// duration of a decode step is affine in the total context. So an exact closed form gives the time
// of many steps, and they are taken in one leap. Leaping and stepping give bit-identical results.
//
// The events of one instant have a fixed order. First the requests of the source arrive, and then
// the requests that were pushed from outside. Then the events of the agenda take place (timeouts,
// cancellations, hand-overs, outages, scaling), in the order in which they were noted. Then
// replicas end steps and begin others, the replica with the lowest index first. At last the state
// is sampled. Every effect on another replica, on a user or on the fleet comes at least one tick of
// the clock later than its cause.
package sim
