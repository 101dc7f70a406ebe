// Package audit has tests alone: they draw whole scenarios from the schema of scenario files, run
// them as users do, and hold everything that is printed against what must be true of all runs.
package audit
