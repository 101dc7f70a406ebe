// Package evidence says what the predictions for a server rest on, and how wrong they may be.
// Either such a server was measured, or a similar one, or only its kernels, or nothing.
package evidence

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

//go:embed errors.csv
var table string

// Error says how far predictions of a metric are from measurements of one server.
type Error struct {
	deployment.Key
	// Quantity is one of Metrics.
	Quantity string `json:"quantity" csv:"quantity"`
	// Rows is the number of measured rows. LeftOut is the median of their absolute relative errors
	// in predictions whose constants were fitted without any row of the engine, accelerator and
	// model: 0.02 is 2 %. It is 0 if no such fit was made. Median is the median with the shipped
	// constants, which may have been fitted to the rows.
	Rows    int     `json:"rows" csv:"rows"`
	Median  float64 `json:"-" csv:"median_error" format:"%.3f"`
	LeftOut float64 `json:"left_out_error,omitempty" csv:"left_out_error,optional" format:"%.3f"`
	// Range says where measured values lie: Bias and Within are logarithms. Predicted ranges are
	// wider, since the shipped constants were fitted to the rows.
	Range ErrorRange `json:"off"`
	// Versions are the releases of the engine that were measured, as far as they are known.
	Versions versions `json:"versions,omitempty" csv:"versions"`
	// Residuals are the rows themselves.
	Residuals Residuals `json:"-" csv:"residuals"`
}

// Residual is a measured row of a server: the release of the engine, or "", the load, and Off, the
// logarithm of the measured over the predicted time.
type Residual struct {
	Version string
	Load    Load
	Off     float64
}

// Residuals are rows as the table has them, separated by spaces, each as
// VERSION:USERS:PROMPT:ANSWER:OFF. They are read when a range asks for them.
type Residuals string

// ResidualsOf writes rows, lengths with two significant digits: the table is sent to browsers, and
// rows that differ by less say the same of each other.
func ResidualsOf(rows []Residual) Residuals {
	words := make([]string, len(rows))
	for i, r := range rows {
		words[i] = fmt.Sprintf("%s:%.3g:%.0f:%.0f:%.2f", r.Version, r.Load.Users,
			twoDigits(r.Load.Prompt), twoDigits(r.Load.Output), r.Off)
	}
	return Residuals(strings.Join(words, " "))
}

// twoDigits rounds a length of one token or more to two significant digits.
func twoDigits(length float64) float64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(max(1, length)))-1))
	return unit * math.Round(length/unit)
}

// Rows reads the rows, which are part of the program: they are right, or a test fails.
func (l Residuals) Rows() []Residual {
	var list []Residual
	for word := range strings.FieldsSeq(string(l)) {
		version, rest, _ := strings.Cut(word, ":")
		r := Residual{Version: version}
		for _, x := range []*float64{&r.Load.Users, &r.Load.Prompt, &r.Load.Output, &r.Off} {
			var number string
			number, rest, _ = strings.Cut(rest, ":")
			var err error
			if *x, err = strconv.ParseFloat(number, 64); err != nil {
				panic("evidence: errors.csv: " + err.Error())
			}
		}
		list = append(list, r)
	}
	return list
}

// versions are separated by spaces in the table.
type versions []string

// String returns the versions as the table has them.
func (v versions) String() string { return strings.Join(v, " ") }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *versions) UnmarshalText(text []byte) error {
	*v = strings.Fields(string(text))
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: in JSON the versions are a list.
func (v *versions) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, (*[]string)(v))
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
	return list
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
		biased += e.biasInWords()
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

// percent writes a share with two digits.
func percent(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f", 100*share)
	}
	return units.Significant(100*share, 2)
}
