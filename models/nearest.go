package models

import (
	"slices"
	"strings"
)

// nearest returns at most n of the known names that look like name, the likest first: names that
// begin with it, and names that a few edits make of it (a third of its length at most). Case does
// not count.
func nearest(name string, known []string, n int) []string {
	type candidate struct {
		name  string
		edits int
	}
	var near []candidate
	name = strings.ToLower(name)
	for _, k := range known {
		low := strings.ToLower(k)
		if len(name) > 2 && strings.HasPrefix(low, name) {
			near = append(near, candidate{k, 0})
		} else if edits := editDistance(name, low); edits <= max(1, len(name)/3) {
			near = append(near, candidate{k, edits})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		if a.edits != b.edits {
			return a.edits - b.edits
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, c := range near[:min(n, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance returns the least number of bytes to insert, delete or replace to make b of a
// (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
