package evidence

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Spread says how far predictions may be from measurements: the logarithm of the measured over the
// predicted time is taken as normally distributed around 0, with these standard deviations.
type Spread struct {
	TPOT float64 `json:"tpot"`
	TTFT float64 `json:"ttft"`
}

// Width80 is the number of standard deviations within which 80 of 100 values of a normal
// distribution lie, to each side.
const Width80 = 1.2816

// Rule says how the spread of a grade follows from the median errors of the server, or of the
// nearest that was measured: 80 of 100 rows lie within Times the larger of the median and Floor.
// Without such errors Floor alone counts.
type Rule struct {
	// Rows is the number of measured rows from which Times was taken.
	Rows int
	// Floor is the least error that is believed, as a share.
	Floor, Times float64
}

// spread returns the standard deviation that a rule gives for the median error of a quantity.
func (r Rule) spread(median float64) float64 { return r.Times * max(median, r.Floor) / Width80 }

//go:embed spread.csv
var spreads string

// SpreadHeader is the first line of the table of rules.
const SpreadHeader = "grade,quantity,rows,floor,times"

// ruled is what a rule is for.
type ruled struct {
	grade    Grade
	quantity string
}

// rules reads the table, which is part of the program: it is right, or a test fails.
var rules = sync.OnceValue(func() map[ruled]Rule {
	rows, err := csv.NewReader(strings.NewReader(spreads)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("spread.csv: %v", err))
	}
	table := map[ruled]Rule{}
	for i, row := range rows[1:] {
		n, err1 := strconv.Atoi(row[2])
		floor, err2 := strconv.ParseFloat(row[3], 64)
		times, err3 := strconv.ParseFloat(row[4], 64)
		if err1 != nil || err2 != nil || err3 != nil {
			panic(fmt.Sprintf("spread.csv:%d: %v", i+2, row))
		}
		table[ruled{Grade(row[0]), row[1]}] = Rule{n, floor, times}
	}
	return table
})

// FormulaFloor is the least error that is believed where nothing of the kind was measured, and
// constants are those of another generation of accelerators: the largest median error of decode
// steps between generations (hardware/fitted/relatives.yaml). The rows behind the rule of that
// grade are of few servers.
const FormulaFloor = 0.25

// RuleOf returns the rule of a grade for "TPOT" or "TTFT".
func RuleOf(g Grade, quantity string) Rule { return rules()[ruled{g, quantity}] }

// spread returns the spread of a grade, given the errors that it rests on.
func spread(g Grade, errors []Error) Spread {
	return Spread{TPOT: RuleOf(g, "TPOT").spread(medianOf(errors, "TPOT")),
		TTFT: RuleOf(g, "TTFT").spread(medianOf(errors, "TTFT"))}
}

// medianOf returns the median error of a quantity, or 0 where there is none.
func medianOf(errors []Error, quantity string) float64 {
	for _, e := range errors {
		if e.Quantity == quantity {
			return e.Median
		}
	}
	return 0
}
