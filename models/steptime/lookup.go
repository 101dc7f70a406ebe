package steptime

// lookup reads measured tables for one clock, and records for which counts they do not reach.
// Tables is nil without measurements.
type lookup struct {
	*Tables
	outside outside
}

// measured returns the seconds that a table has for a count, and records counts outside the table.
func (l *lookup) measured(table curve, operator, unit string, count float64) (seconds float64,
	ok bool) {
	seconds, ok = table.at(count)
	if !ok && len(table) > 0 {
		l.record(operator, unit, count)
	}
	return seconds, ok
}

// record records a count outside the table of an operator.
func (l *lookup) record(operator, unit string, count float64) {
	if l.outside == nil {
		l.outside = outside{}
	}
	l.outside.add([2]string{operator, unit}, extent{count, count})
}

// contextTokens is the unit in which tables of the attention of decode count.
const contextTokens = "tokens of context"

// outside holds the counts for which tables were used outside their range, by operator and the unit
// of its counts.
type outside map[[2]string]extent

// extent is the least and the most of something.
type extent struct{ least, most float64 }

// add adds counts of an operator.
func (o outside) add(key [2]string, e extent) {
	if known, ok := o[key]; ok {
		e = extent{min(known.least, e.least), max(known.most, e.most)}
	}
	o[key] = e
}
