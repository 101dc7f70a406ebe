package measured

import "fmt"

// Limits on what is read from outside. The largest that ai-dynamo/aiconfigurator publishes: 626
// tables in one folder; 2 MB and 2.5 MB unpacked; 257,597 rows; 29 columns, 7.5 million values in
// all; 81 bytes in a field.
const (
	// maxEntries bounds the files and folders that are looked at in search of tables, so that a
	// folder such as / is soon refused.
	maxEntries = 1 << 16
	// maxFiles bounds the tables of a folder, of all accelerators.
	maxFiles = 4096
	// maxBytes bounds a file, and maxUnpacked the pages of a Parquet file together, once they are
	// unpacked.
	maxBytes, maxUnpacked = 64 << 20, 64 << 20
	// maxRows bounds the rows of a table.
	maxRows = 1 << 20
	// maxColumns bounds its columns.
	maxColumns = 100
	// maxValues bounds its rows times columns: Parquet can say a million equal values in a few
	// bytes, and each costs time.
	maxValues = 1 << 24
	// maxField bounds the bytes of a value, which Parquet can repeat without storing it again.
	maxField = 1 << 10
	// maxLine bounds the bytes of a line of CSV.
	maxLine = 64 << 10
	// maxFooter bounds the description of a Parquet file, which takes up to a thousand times its
	// size in memory; the published ones have up to 16 KiB.
	maxFooter = 128 << 10
)

// atMost returns an error if a file has more of something than is read.
func atMost(found, most int64, what string) error {
	if found >= 0 && found <= most {
		return nil
	}
	return fmt.Errorf("found %d %s, allowed: at most %d", found, what, most)
}
