// Package training computes what it costs to train a language model: the memory of each
// accelerator line by line, the time of a step by part, and the days, dollars and energy of a run
// with its failures. Models, accelerators and links are those of the simulator of serving.
//
// A Job says what is trained on what, and Compute returns its Cost. Formulas are closed, since all
// accelerators do the same work at the same time; only the answers of reinforcement learning are
// simulated, by Rollout.
package training
