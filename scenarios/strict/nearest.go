package strict

import (
	"fmt"
	"strings"
)

// Unknown says that a name is not among those known: the kind of name, the name, and the nearest one or the whole list.
func Unknown(kind, name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %s; did you mean %q?", kind, quote(name), near)
	}
	return fmt.Sprintf("unknown %s %s; known: %s", kind, quote(name), strings.Join(known, ", "))
}

// Nearest returns the name that needs the fewest edits to become the given one, or "" if none is near: more than a third of
// the letters (and more than one) would have to change.
func Nearest(name string, known []string) string {
	best, bestEdits := "", max(1, len(name)/3)+1
	for _, k := range known {
		if e := edits(strings.ToLower(name), strings.ToLower(k)); e < bestEdits {
			best, bestEdits = k, e
		}
	}
	return best
}

// edits is the number of letters inserted, deleted, replaced or swapped with the next one (the "optimal string alignment"
// distance).
func edits(a, b string) int {
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(above[j]+change, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
