// Package measured reads tables of single kernels as ai-dynamo/aiconfigurator publishes them:
// CSV files GPU/FAMILY/ENGINE/VERSION/NAME.csv, or GPU__NAME.csv. It finds the tables and reads
// their rows, and does not interpret them. The published files are Parquet; the module
// tests/kernels converts a folder of them.
//
// The files come from outside. A Folder reads no more of them than its limits allow, and an error
// in a file names the file.
package measured
