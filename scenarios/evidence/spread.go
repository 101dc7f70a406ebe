package evidence

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Spread says how far predictions are from measurements that the constants were not fitted to: the logarithm of the measured over
// the predicted time, taken as normally distributed.
type Spread struct {
	// Rows is the number of measured rows that it was taken from.
	Rows int `json:"rows"`
	// TPOT and TTFT are standard deviations, such that 80 % of the rows lie within 1.28 of them; bias is the median.
	TPOT     float64 `json:"tpot"`
	TPOTBias float64 `json:"tpot_bias"`
	TTFT     float64 `json:"ttft"`
}

//go:embed spread.csv
var spreads string

// SpreadHeader is the first line of the table of spreads.
const SpreadHeader = "grade,rows,tpot,tpot_bias,ttft"

// spreadOf returns the spread of a grade.
func spreadOf(g Grade) Spread { return spreadTable()[g] }

// spreadTable reads the table, which is part of the program: it is right, or a test fails.
var spreadTable = sync.OnceValue(func() map[Grade]Spread {
	rows, err := csv.NewReader(strings.NewReader(spreads)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("spread.csv: %v", err))
	}
	table := map[Grade]Spread{}
	for i, row := range rows[1:] {
		var s Spread
		var err error
		if s.Rows, err = strconv.Atoi(row[1]); err != nil {
			panic(fmt.Sprintf("spread.csv:%d: %v", i+2, err))
		}
		for column, x := range map[int]*float64{2: &s.TPOT, 3: &s.TPOTBias, 4: &s.TTFT} {
			if *x, err = strconv.ParseFloat(row[column], 64); err != nil {
				panic(fmt.Sprintf("spread.csv:%d: %v", i+2, err))
			}
		}
		table[Grade(row[0])] = s
	}
	return table
})
