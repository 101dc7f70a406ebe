package workload

import "fmt"

// Escalation sends requests of a class on when they have ended, as requests of a further class with
// the same prompt and the same length of answer: a small model answers first, and hard questions go
// to a large one. Whether a request is sent on does not depend on others.
type Escalation struct {
	// Name appears in messages and reports.
	Name string
	// From is the number of the class whose requests are sent on: one of Config.Classes, or of the
	// escalations before this one, which have the numbers after these.
	From int
	// Share is the probability that a request is sent on, from 0 to 1.
	Share float64
	// Traits are the traits of the requests that are sent on.
	Traits
}

// check refuses parameters out of range; class is the number of the class that the requests have.
func (e *Escalation) check(class int) error {
	switch {
	case e.From < 0 || e.From >= class:
		return fmt.Errorf("escalation %q: from: found class %d, allowed: 0 to %d", e.Name, e.From,
			class-1)
	case !(e.Share >= 0 && e.Share <= 1):
		return fmt.Errorf("escalation %q: share: found %v, allowed: 0 to 1", e.Name, e.Share)
	}
	return e.Traits.check()
}
