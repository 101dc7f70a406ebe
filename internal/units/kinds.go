package units

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

var byteRate = kind{
	name:    "a byte rate",
	example: "2039GB/s",
	units: []unit{
		{"B/s", 1, 1}, {"kB/s", 1e3, 1}, {"MB/s", 1e6, 1}, {"GB/s", 1e9, 1}, {"TB/s", 1e12, 1},
		{"PB/s", 1e15, 1},
		{"KiB/s", 1 << 10, 1}, {"MiB/s", 1 << 20, 1}, {"GiB/s", 1 << 30, 1}, {"TiB/s", 1 << 40, 1},
		{"b/s", 1, 8}, {"kb/s", 1e3, 8}, {"Mb/s", 1e6, 8}, {"Gb/s", 1e9, 8}, {"Tb/s", 1e12, 8},
		{"bps", 1, 8}, {"kbps", 1e3, 8}, {"Mbps", 1e6, 8}, {"Gbps", 1e9, 8}, {"Tbps", 1e12, 8},
	},
	display: []unit{{"B/s", 1, 1}, {"kB/s", 1e3, 1}, {"MB/s", 1e6, 1}, {"GB/s", 1e9, 1},
		{"TB/s", 1e12, 1}, {"PB/s", 1e15, 1}},
}

var byteAmount = kind{
	name:    "an amount of bytes",
	example: "80GiB",
	units: []unit{
		{"B", 1, 1}, {"kB", 1e3, 1}, {"MB", 1e6, 1}, {"GB", 1e9, 1}, {"TB", 1e12, 1},
		{"PB", 1e15, 1},
		{"KiB", 1 << 10, 1}, {"MiB", 1 << 20, 1}, {"GiB", 1 << 30, 1}, {"TiB", 1 << 40, 1},
		{"PiB", 1 << 50, 1},
	},
	display: []unit{{"B", 1, 1}, {"kB", 1e3, 1}, {"MB", 1e6, 1}, {"GB", 1e9, 1}, {"TB", 1e12, 1},
		{"PB", 1e15, 1}},
}

// binaryBytes only prints: byteAmount reads both families.
var binaryBytes = kind{
	display: []unit{{"B", 1, 1}, {"KiB", 1 << 10, 1}, {"MiB", 1 << 20, 1}, {"GiB", 1 << 30, 1},
		{"TiB", 1 << 40, 1}, {"PiB", 1 << 50, 1}},
}

var duration = kind{
	name:    "a duration",
	example: "50ms",
	units: []unit{
		{"ps", 1, 1e12}, {"ns", 1, 1e9}, {"us", 1, 1e6}, {microGreek, 1, 1e6}, {microSign, 1, 1e6},
		{"ms", 1, 1e3}, {"s", 1, 1},
		{"m", 60, 1}, {"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1},
	},
	display: []unit{
		{"ps", 1, 1e12}, {"ns", 1, 1e9}, {microSign, 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1},
		{"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1},
	},
}

var flopRate = kind{
	name:    "a compute rate",
	example: "312TFLOPS",
	units: []unit{
		{"FLOPS", 1, 1}, {"MFLOPS", 1e6, 1}, {"GFLOPS", 1e9, 1}, {"TFLOPS", 1e12, 1},
		{"PFLOPS", 1e15, 1}, {"EFLOPS", 1e18, 1},
		{"FLOP/s", 1, 1}, {"MFLOP/s", 1e6, 1}, {"GFLOP/s", 1e9, 1}, {"TFLOP/s", 1e12, 1},
		{"PFLOP/s", 1e15, 1}, {"EFLOP/s", 1e18, 1},
		{"OPS", 1, 1}, {"GOPS", 1e9, 1}, {"TOPS", 1e12, 1}, {"POPS", 1e15, 1},
	},
	display: []unit{
		{"FLOP/s", 1, 1}, {"MFLOP/s", 1e6, 1}, {"GFLOP/s", 1e9, 1}, {"TFLOP/s", 1e12, 1},
		{"PFLOP/s", 1e15, 1}, {"EFLOP/s", 1e18, 1},
	},
}

var power = kind{
	name:    "a power",
	example: "400W",
	units:   []unit{{"mW", 1, 1e3}, {"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}},
	display: []unit{{"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}},
}

var hourlyPrice = kind{
	name:    "a price an hour",
	example: "$1.79/h",
	units:   []unit{{"$/h", 1, 1}},
	display: []unit{{"$/h", 1, 1}},
}

var requestRate = kind{
	name:    "a request rate",
	example: "4/s",
	units:   []unit{{"/s", 1, 1}, {"/min", 1, 60}, {"/h", 1, 3600}, {"/d", 1, 86400}},
	display: []unit{{"/s", 1, 1}},
}

// kinds lists every kind, to recognise a unit of the wrong one.
func kinds() []kind {
	return []kind{byteAmount, byteRate, flopRate, duration, requestRate, power, hourlyPrice}
}

// ParseByteRate reads a rate in bytes ("2039GB/s", "3.35TB/s") or bits ("25Gbps", "200Gb/s"), and
// returns B/s.
func ParseByteRate(s string) (float64, error) { return byteRate.parse(s) }

// FormatByteRate prints B/s as "2.039 TB/s".
func FormatByteRate(v float64) string { return byteRate.format(v) }

// ParseBytes reads an amount of bytes such as "80GiB" (2^30 bytes each) or "80GB" (1e9 bytes each).
func ParseBytes(s string) (float64, error) { return byteAmount.parse(s) }

// FormatBytes prints bytes in both families of units, as "138 GB (128.5 GiB)"; below 1000 bytes as
// "512 B".
func FormatBytes(v float64) string {
	decimal, binary := byteAmount.format(v), binaryBytes.format(v)
	if decimal == binary {
		return decimal
	}
	return decimal + " (" + binary + ")"
}

// Two code points look like µ: the Greek letter and the micro sign. Both are read; the second is
// printed, as by package time.
const (
	microGreek = "\u03bcs"
	microSign  = "\u00b5s"
)

// ParseDuration reads a duration such as "33us", "50ms", "0.5s", "10m" (minutes, also "10min"),
// "1.5h" or "2d", and returns seconds.
func ParseDuration(s string) (float64, error) { return duration.parse(s) }

// FormatDuration prints seconds as "67.4 ms" or "1.5 h".
func FormatDuration(v float64) string { return duration.format(v) }

// ParseFLOPRate reads a rate of floating-point or integer operations ("312TFLOPS", "4.5PFLOP/s",
// "624TOPS"), and returns operations a second.
func ParseFLOPRate(s string) (float64, error) { return flopRate.parse(s) }

// FormatFLOPRate prints FLOP/s as "312 TFLOP/s".
func FormatFLOPRate(v float64) string { return flopRate.format(v) }

// ParsePower reads a power such as "400W" or "1.2kW", and returns watts.
func ParsePower(s string) (float64, error) { return power.parse(s) }

// FormatPower prints watts as "400 W".
func FormatPower(v float64) string { return power.format(v) }

// ParseRequestRate reads a rate of requests such as "4/s", "120/min" or "10/h", and returns
// requests a second.
func ParseRequestRate(s string) (float64, error) { return requestRate.parse(s) }

// FormatRequestRate prints requests a second as "4/s", and where they are few, as "20/h" or "1/d".
func FormatRequestRate(v float64) string {
	seconds, symbol := rateUnit(v)
	number, _ := requestRate.pick(v * seconds)
	return number + symbol
}

// FigureOfRate prints requests a second with three digits: "20,000/s", "5.56/h".
func FigureOfRate(v float64) string {
	seconds, symbol := rateUnit(v)
	return Figure(v*seconds) + symbol
}

// rateUnit returns the time, in seconds, by which a rate is told, and its symbol: an hour or a day
// where fewer than a twentieth of a request come in the next shorter one.
func rateUnit(v float64) (seconds float64, symbol string) {
	const few, hour, day = 0.05, 3600, 86400
	switch v = math.Abs(v); {
	case !(v < few) || v == 0:
		return 1, "/s"
	case v*hour >= few:
		return hour, "/h"
	}
	return day, "/d"
}

// ParsePrice reads a price an hour as "$1.79/h" or "1.79$/h", and returns US dollars an hour.
func ParsePrice(s string) (float64, error) {
	text := strings.TrimSpace(s)
	if amount, ok := strings.CutPrefix(text, "$"); ok {
		if number, isHourly := strings.CutSuffix(amount, "/h"); isHourly {
			text = number + "$/h"
		}
	}
	return hourlyPrice.parse(text)
}

// FormatPrice prints a price an hour as "$1.79/h".
func FormatPrice(v float64, c Currency) string {
	number, _ := hourlyPrice.pick(v)
	return c.Format(number) + "/h"
}

// share is only printed: a plain number may be read too, so it has a parser of its own.
var share = kind{display: []unit{{"%", 1, 100}}}

// ParseFraction reads a share of a whole as a percentage ("90%") or a number from 0 to 1 ("0.9"),
// and returns the number.
func ParseFraction(s string) (float64, error) {
	const want = `want a share such as "90%" or "0.9"`
	text := strings.TrimSpace(s)
	number, percent := strings.CutSuffix(text, "%")
	if percent {
		number = strings.TrimSuffix(number, " ")
	}
	exact, ok := decimal(number)
	if !ok {
		return 0, fmt.Errorf("%q is not a share; %s", s, want)
	}
	if percent {
		exact.Quo(exact, big.NewRat(100, 1))
	}
	if exact.Cmp(big.NewRat(1, 1)) > 0 {
		return 0, fmt.Errorf("%q is more than the whole (write percentages with %%); %s", s, want)
	}
	value, _ := exact.Float64()
	return value, nil
}

// FormatFraction prints a share of a whole as a percentage, "90%".
func FormatFraction(v float64) string {
	number, symbol := share.pick(v)
	return number + symbol
}
