// Package nearest finds the names that a misspelt one may have meant, for error messages.
package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// most is the largest number of names offered at once.
const most = 3

// longest bounds the names that are compared, in bytes. Known names are shorter.
const longest = 200

// Names returns up to three known names that are near the given one, the nearest first: names that
// begin with it, names in which at most a third of its letters (and at least one) have to change,
// and names that contain it. A name of more than 200 bytes has no near name.
func Names(name string, known []string) []string {
	if len(name) > longest {
		return nil
	}
	type candidate struct {
		name  string
		edits int
	}
	folded := strings.ToLower(name)
	limit := max(1, len(name)/3)
	var near []candidate
	for _, k := range known {
		edits := distance(folded, strings.ToLower(k))
		if len(name) > 2 && strings.HasPrefix(strings.ToLower(k), folded) {
			edits = 0
		}
		if edits <= limit || len(name) > 1 && strings.Contains(strings.ToLower(k), folded) {
			near = append(near, candidate{k, edits})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.edits - b.edits })
	names := make([]string, 0, most)
	for _, c := range near[:min(most, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// Unknown says that a name is not among those known: the kind of name, the name, and the near ones
// or else the whole list.
func Unknown(kind, name string, known []string) string {
	if len(name) > longest {
		return fmt.Sprintf("unknown %s %q…; known: %s", kind, name[:longest],
			strings.Join(known, ", "))
	}
	near := Names(name, known)
	if len(near) == 0 {
		return fmt.Sprintf("unknown %s %q; known: %s", kind, name, strings.Join(known, ", "))
	}
	return fmt.Sprintf("unknown %s %q; did you mean %s?", kind, name, strings.Join(near, " or "))
}

// distance is the number of bytes inserted, deleted, replaced or swapped with the next one that
// turn a into b (the "optimal string alignment" distance).
func distance(a, b string) int {
	var before []int
	above := make([]int, len(b)+1)
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
