// Package workload makes the stream of requests that a simulation serves.
//
// Open makes a stream from a Config. Requests are drawn from classes, or come from a trace. They
// are sent at the times of an arrival process, by a fixed number of users who each wait for their
// answer, or at the recorded times. The parts are:
//
//	lengths    distributions of prompt and output lengths
//	arrivals   arrival processes, rates that change, thinking times
//	trace      recorded workloads and their formats
//
// Arrivals, bursts, choice of class, prompt lengths, output lengths, choice of shared prefix, turns
// and thinking draw from random streams of their own, and every length takes exactly one number. So
// changing one part of a workload leaves the others as they were, and two runs can be compared
// under common random numbers. The same Config gives the same stream on every machine, as far as
// the last digit of exp and log is the same there.
package workload
