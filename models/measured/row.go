package measured

import (
	"fmt"
	"strconv"
)

// Row is a row of a table. It keeps the first error that a method finds.
type Row struct {
	columns map[string]int
	fields  []string
	err     error
}

// Err returns the first error that a method of the row found.
func (r *Row) Err() error { return r.err }

// Text returns the field of a column, or "" if there is no such column.
func (r *Row) Text(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.fields) {
		return r.fields[i]
	}
	return ""
}

// Number returns the number in a column, which must be finite and at least least.
func (r *Row) Number(column string, least float64) float64 {
	v, err := strconv.ParseFloat(r.Text(column), 64)
	if r.err == nil && (err != nil || !(v >= least) || v > 1e15) {
		r.err = fmt.Errorf("column %s is %q, want a number of at least %g", column, r.Text(column),
			least)
	}
	return v
}

// Count returns the number in a column, which must be whole and at least 1.
func (r *Row) Count(column string) int {
	v := r.Number(column, 1)
	if r.err == nil && v != float64(int(v)) {
		r.err = fmt.Errorf("column %s is %q, want a whole number", column, r.Text(column))
	}
	return int(v)
}
