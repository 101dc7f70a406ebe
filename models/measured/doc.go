// Package measured reads tables of single kernels as ai-dynamo/aiconfigurator publishes them:
// Parquet files GPU/FAMILY/ENGINE/VERSION/NAME.parquet, or CSV files GPU__NAME.csv. It finds the
// tables and reads their rows, and does not interpret them.
//
// The files come from outside. A Folder reads no more of them than its limits allow, and an error
// in a file names the file.
package measured
