package accuracy

// Report is predictions beside measurements, row by row.
type Report struct {
	Tables []Table
	// Ignored says of each file that was not read why.
	Ignored []string
}

// Table is the rows of all files of one kind.
type Table struct {
	Name  string
	Files []string
	Rows  []Comparison
	// Sources are what the tables name as such.
	Sources []string
	// Problems are malformed rows, by file and line. Skipped counts rows that are left out, by
	// reason.
	Problems []string
	Skipped  map[string]int
}

// Rows returns the rows that a filter chooses.
func (r *Report) Rows(chooses func(*Comparison) bool) []Comparison {
	var list []Comparison
	for i := range r.Tables {
		for j := range r.Tables[i].Rows {
			if c := &r.Tables[i].Rows[j]; chooses(c) {
				list = append(list, *c)
			}
		}
	}
	return list
}
