// Package measured reads tables of single kernels as ai-dynamo/aiconfigurator publishes them:
// Parquet files GPU/FAMILY/ENGINE/VERSION/NAME.parquet, or CSV files GPU__NAME.csv. It knows where
// tables are and how to read their rows, and nothing of what is done with them.
//
// The files come from outside. A Folder reads no more of them than its limits say, and what is
// wrong with one is an error with its name.
package measured
