// Package evidence says what the predictions for a server rest on, and how wrong they may be.
// Either such a server was measured, or a similar one, or only its kernels, or nothing.
package evidence

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

//go:embed errors.csv
var table string

// Error says how far predictions of a latency are from measurements of one server.
type Error struct {
	deployment.Key
	// Quantity is "TTFT" or "TPOT".
	Quantity string `json:"quantity"`
	// Rows is the number of measured rows, and Median the median of their absolute relative errors:
	// 0.02 is 2 %.
	Rows   int     `json:"rows"`
	Median float64 `json:"median_error"`
	// Off says where measured values lie, as ranges take it: Bias and Within are logarithms.
	Off Off `json:"off"`
}

// Header is the first line of the table.
const Header = "engine,gpu,model,weights,kv_cache,tensor,pipeline,expert,data,link," +
	"batching,memory,speculation," +
	"quantity,rows,median_error,bias,within"

// Record returns the error as a line of the table.
func (e *Error) Record() string {
	return fmt.Sprintf("%s,%s,%s,%s,%s,%d,%d,%d,%d,%s,%s,%s,%s,%s,%d,%.3f,%.3f,%.3f",
		e.Engine, e.Accelerator, e.Model, e.Weights, e.KV, e.Tensor, e.Pipeline, e.Expert, e.Data,
		e.Link, e.Batching, e.Memory, e.Speculation, e.Quantity, e.Rows, e.Median, e.Off.Bias,
		e.Off.Within)
}

// errorsOf returns the errors measured for a server, or for the same in the other format of 16
// bits; none where no such server was measured.
func errorsOf(key deployment.Key) []Error {
	var list, alike []Error
	for _, e := range measured() {
		switch {
		case e.Key == key:
			list = append(list, e)
		case sixteen(e.Key) == sixteen(key):
			alike = append(alike, e)
		}
	}
	if len(list) > 0 {
		return list
	}
	return alike
}

// sixteen returns the key with BF16 for FP16, which has the same bytes and the same rates on every
// accelerator that was measured.
func sixteen(k deployment.Key) deployment.Key {
	for _, format := range []*hardware.DType{&k.Weights, &k.KV} {
		if *format == hardware.FP16 {
			*format = hardware.BF16
		}
	}
	return k
}

// OfRelatives reports whether other servers of the same engine on the same accelerator were
// measured, for example with another model.
func OfRelatives(key deployment.Key) bool {
	return slices.ContainsFunc(measured(), func(e Error) bool {
		return e.Key != key && e.Engine == key.Engine && e.Accelerator == key.Accelerator
	})
}

// measured returns the rows of the table, which is part of the program: it is right, or a test
// fails.
var measured = sync.OnceValue(func() []Error {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("errors.csv: %v", err))
	}
	var list []Error
	for i, row := range rows[1:] {
		e, err := parse(row)
		if err != nil {
			panic(fmt.Sprintf("errors.csv:%d: %v", i+2, err))
		}
		list = append(list, e)
	}
	return list
})

func parse(row []string) (Error, error) {
	e := Error{
		Key: deployment.Key{
			Engine: row[0], Accelerator: row[1], Model: row[2],
			Weights: hardware.DType(row[3]), KV: hardware.DType(row[4]),
			Link: row[9], Batching: row[10], Memory: row[11], Speculation: row[12],
		},
		Quantity: row[13],
	}
	var failures []error
	for column, number := range map[int]*int{5: &e.Tensor, 6: &e.Pipeline, 7: &e.Expert, 8: &e.Data,
		14: &e.Rows} {
		var err error
		*number, err = strconv.Atoi(row[column])
		failures = append(failures, err)
	}
	for column, number := range map[int]*float64{15: &e.Median, 16: &e.Off.Bias,
		17: &e.Off.Within} {
		var err error
		*number, err = strconv.ParseFloat(row[column], 64)
		failures = append(failures, err)
	}
	return e, errors.Join(failures...)
}

// held returns the errors of one server in words, or "" if there are none.
func held(list []Error) string {
	if len(list) == 0 {
		return ""
	}
	var parts []string
	rows, biased := 0, ""
	for i := range list {
		e := &list[i]
		parts = append(parts, fmt.Sprintf("%s is off by %s%%", e.Quantity, percent(e.Median)))
		rows = max(rows, e.Rows)
		if times := math.Exp(e.Off.Bias); times > much || times < 1/much {
			biased += fmt.Sprintf(" Measured %ss are %.2g times the predicted ones, typically.",
				e.Quantity, times)
		}
	}
	k := &list[0].Key
	on := k.Accelerator
	if n := k.Tensor * k.Pipeline * k.Data; n > 1 {
		on = fmt.Sprintf("%d × %s", n, on)
	}
	counted := "one measurement"
	if rows > 1 {
		counted = fmt.Sprintf("%d measurements", rows)
	}
	return fmt.Sprintf("Compared with %s of %s (%s) under %s on %s, the predicted %s "+
		"(median). Constants may have been fitted to some of them.%s",
		counted, k.Model, k.Weights, k.Engine, on, strings.Join(parts, " and the "), biased)
}

// much is the factor between measured and predicted times from which on a sentence names the bias.
const much = 1.15

// percent writes a share with two digits.
func percent(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f", 100*share)
	}
	return fmt.Sprintf("%.2g", 100*share)
}
