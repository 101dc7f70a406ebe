package measured

import "fmt"

// Limits on what is read from outside. ai-dynamo/aiconfigurator publishes up to 626 tables in one
// folder, and in one table 257,597 rows, 29 columns and 7.5 million values.
const (
	// maxEntries bounds the files and folders that are looked at in search of tables, so that a
	// folder such as / is soon refused.
	maxEntries = 1 << 16
	// maxFiles bounds the tables of a folder, of all accelerators.
	maxFiles = 4096
	// maxBytes bounds a file.
	maxBytes = 64 << 20
	// maxRows bounds the rows of a table.
	maxRows = 1 << 20
	// maxColumns bounds its columns.
	maxColumns = 100
	// maxValues bounds its rows times columns, since each value costs time.
	maxValues = 1 << 24
	// maxLine bounds the bytes of a line of CSV.
	maxLine = 64 << 10
)

// atMost returns an error if a file has more of something than is read.
func atMost(found, most int64, what string) error {
	if found >= 0 && found <= most {
		return nil
	}
	return fmt.Errorf("found %d %s, allowed: at most %d", found, what, most)
}
