// Package batching holds the policies that decide what each step of a replica does: which sequences
// decode, whose prompts are computed, and which sequences give way. Most policies are a Continuous
// with limits, an order of the waiting sequences, and a rule for giving way.
package batching
