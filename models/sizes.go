package models

import "fmt"

// size is a figure of an architecture with its range.
type size struct {
	name               string
	value, least, most int
}

func checkSizes(ss []size) error {
	for _, s := range ss {
		if s.value < s.least || s.value > s.most {
			return fmt.Errorf("%s: found %d, want %d to %d", s.name, s.value, s.least, s.most)
		}
	}
	return nil
}
