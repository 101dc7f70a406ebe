// Package cputime reads processor time. On a machine that is shared, the time that a thread ran
// says more about a computation than the time that passed: what others took of the processors is
// left out, though not what they took of caches and memory.
package cputime
