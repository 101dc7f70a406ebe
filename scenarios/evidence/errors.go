// Package evidence says what the predictions for a server rest on, and how wrong they may be.
// Either such a server was measured, or a similar one, or only its kernels, or nothing.
package evidence

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

//go:embed errors.csv
var table string

// Error says how far predictions of a latency are from measurements of one server.
type Error struct {
	deployment.Key
	// Quantity is "TTFT" or "TPOT".
	Quantity string `json:"quantity" csv:"quantity"`
	// Rows is the number of measured rows. LeftOut is the median of their absolute relative errors
	// in predictions whose constants were fitted without any row of the engine, accelerator and
	// model: 0.02 is 2 %. It is 0 if no such fit was made. Median is the median with the shipped
	// constants, which may have been fitted to the rows.
	Rows    int     `json:"rows" csv:"rows"`
	LeftOut float64 `json:"left_out_error,omitempty"`
	Median  float64 `json:"-" csv:"median_error"`
	// Range says where measured values lie, as ranges take it: Bias and Within are logarithms. The
	// Within of a server's evidence is at least what leastWithin returns.
	Range ErrorRange `json:"off"`
	// Versions are the releases of the engine that were measured, as far as they are known.
	Versions versions `json:"versions,omitempty" csv:"versions"`
}

// versions are separated by spaces in the table.
type versions []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *versions) UnmarshalText(text []byte) error {
	*v = strings.Fields(string(text))
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: in JSON the versions are a list.
func (v *versions) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*[]string)(v))
}

// Header is the first line of the table.
const Header = "engine,gpu,model,weights,kv_cache,tensor,pipeline,expert,data,link," +
	"batching,memory,speculation," +
	"quantity,rows,median_error,bias,within,versions"

// Record returns the error as a line of the table.
func (e *Error) Record() string {
	return fmt.Sprintf("%s,%s,%s,%s,%s,%d,%d,%d,%d,%s,%s,%s,%s,%s,%d,%.3f,%.3f,%.3f,%s",
		e.Engine, e.Accelerator, e.Model, e.Weights, e.KV, e.Tensor, e.Pipeline, e.Expert, e.Data,
		e.Link, e.Batching, e.Memory, e.Speculation, e.Quantity, e.Rows, e.Median, e.Range.Bias,
		e.Range.Within, strings.Join(e.Versions, " "))
}

// errorsOf returns the errors measured for a server, or for the same in the other format of 16
// bits; an empty list where no such server was measured.
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
	if len(list) == 0 {
		list = alike
	}
	for i := range list {
		e := &list[i]
		without := leftOutOf(e.Key, e.Quantity)
		if without != nil {
			e.LeftOut = without.Median
		}
		e.Range.Within = max(e.Range.Within, leastWithin(e.Key, e.Quantity, without))
	}
	return list
}

// leftOutOf returns the errors of a server in predictions that were fitted without it; nil where no
// such fit was made.
func leftOutOf(key deployment.Key, quantity string) *Error {
	for i := range LeftOut() {
		if e := &LeftOut()[i]; e.Key == key && e.Quantity == quantity {
			return e
		}
	}
	return nil
}

// fewRows is the number of measured rows below which no row is the 80 % point of the next: of n
// rows, that is the row of rank 0.8·(n+1).
const fewRows = 4

// leastWithin returns the least distance to each side of a range of 80 % for a server that was
// measured: the distance that 80 % of its rows do not exceed in predictions that were fitted
// without them, joined with the noise of repeats. The constants of shipped predictions were fitted
// to its rows, so that their errors there say too little of the next rows. Where such a fit was not
// made, or was compared with fewer than fewRows rows, the distance is at least that for a server
// that was not measured.
func leastWithin(key deployment.Key, quantity string, without *Error) float64 {
	known, noise := 0.0, leastOwn*Width80
	if without != nil {
		known = without.Range.Reach()
	}
	least := math.Sqrt(float64(known*known) + float64(noise*noise))
	if without == nil || without.Rows < fewRows {
		least = max(least, Unmeasured(key, quantity).Within)
	}
	return least
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

// measured returns the rows of the table, which is part of the program: it is right, or a test
// fails.
var measured = sync.OnceValue(func() []Error {
	return files.MustReadTable[Error]("errors.csv", table)
})

// held returns the errors of one server in words, or "" without errors: the errors of predictions
// that were fitted without it, and the versions that were measured beside the one that is
// predicted.
func held(list []Error, version string) string {
	if len(list) == 0 {
		return ""
	}
	var parts []string
	rows, biased := 0, ""
	for i := range list {
		e := &list[i]
		if e.LeftOut > 0 {
			parts = append(parts, fmt.Sprintf("%s is off by %s%%", e.Quantity, percent(e.LeftOut)))
		}
		rows = max(rows, e.Rows)
		if times := math.Exp(e.Range.Bias); times > much || times < 1/much {
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
	words := fmt.Sprintf("Compared with %s of %s (%s) under %s%s on %s", counted, k.Model,
		k.Weights, k.Engine, under(versionsOf(list), version), on)
	if len(parts) > 0 {
		words += fmt.Sprintf(", the predicted %s (median, with constants that were fitted without "+
			"such servers).", strings.Join(parts, " and the "))
	} else {
		words += ". How far off predictions are that were fitted without it is not known."
	}
	return words + biased
}

// under says which versions were measured, and which one is predicted if it is not among them.
func under(versions []string, version string) string {
	if len(versions) == 0 {
		return ""
	}
	words := " " + span(versions)
	if version != "" && !among(versions, version) {
		words += fmt.Sprintf(" (yours is %s)", version)
	}
	return words
}

// versionsOf returns the versions that were measured, in the order of their text.
func versionsOf(list []Error) []string {
	var versions []string
	for i := range list {
		for _, v := range list[i].Versions {
			if !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	slices.Sort(versions)
	return versions
}

// span names the first and the last version of a list that is not empty.
func span(versions []string) string {
	first, last := versions[0], versions[len(versions)-1]
	if first == last || strings.HasPrefix(last, first+".") {
		return first
	}
	return first + "–" + last
}

// among reports whether a version is one of a list, where some name no patch.
func among(versions []string, version string) bool {
	return slices.ContainsFunc(versions, func(v string) bool {
		return v == version || strings.HasPrefix(v, version+".") ||
			strings.HasPrefix(version, v+".")
	})
}

// much is the factor between measured and predicted times from which on a sentence names the bias.
const much = 1.15

// percent writes a share with two digits.
func percent(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f", 100*share)
	}
	return units.Significant(100*share, 2)
}
