// Package batching holds the policies that decide what each step of a replica does: who decodes,
// whose prompt is computed, and who has to give way. Most are Continuous with limits, an order of
// the waiting sequences, and a way to give way of their own.
package batching
