// Package validation says how wrong llmsim is: it reads tables of measurements of real servers and
// GPUs, simulates each row as it was measured, and compares.
//
// Read finds the tables that it knows in a folder, by file name and columns; each kind has a file
// here (table_*.go) that says how its rows were measured. Data.Compare predicts them under a
// Physics, and a Report sums up the errors by table and by group of engine, GPU, model and tensor
// parallelism.
package validation
