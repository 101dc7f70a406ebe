package units

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// codecs is every kind with its exported pair of functions.
var codecs = []struct {
	name   string
	parse  func(string) (float64, error)
	format func(float64) string
}{
	{"bytes", ParseBytes, FormatBytes},
	{"byte rate", ParseByteRate, FormatByteRate},
	{"FLOP rate", ParseFLOPRate, FormatFLOPRate},
	{"duration", ParseDuration, FormatDuration},
	{"request rate", ParseRequestRate, FormatRequestRate},
	{"power", ParsePower, FormatPower},
	{"price", ParsePrice, func(v float64) string { return FormatPrice(v, "") }},
	{"fraction", ParseFraction, FormatFraction},
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		parse func(string) (float64, error)
		in    string
		want  float64
	}{
		{ParseBytes, "80GiB", 85899345920},
		{ParseBytes, "80GB", 80e9},
		{ParseBytes, " 1.5 kB ", 1500},
		{ParseByteRate, "2039GB/s", 2.039e12},
		{ParseByteRate, "3.35TB/s", 3.35e12},
		{ParseByteRate, "25Gbps", 3.125e9},
		{ParseByteRate, "200Gb/s", 25e9},
		{ParseFLOPRate, "312TFLOPS", 312e12},
		{ParseFLOPRate, "312 TFLOP/s", 312e12},
		{ParseFLOPRate, "4.5PFLOPS", 4.5e15},
		{ParseFLOPRate, "624TOPS", 624e12},
		{ParseDuration, "50ms", 0.05},
		{ParseDuration, "33us", 33e-6},
		{ParseDuration, "33\u00b5s", 33e-6},
		{ParseDuration, "33\u03bcs", 33e-6},
		{ParseDuration, ".5s", 0.5},
		{ParseDuration, "1.1m", 66},
		{ParseDuration, "10min", 600},
		{ParseDuration, "1.15h", 4140},
		{ParseDuration, "2d", 172800},
		{ParseRequestRate, "4/s", 4},
		{ParseRequestRate, "120/min", 2},
		{ParseRequestRate, "10/h", 10. / 3600},
		{ParsePower, "1.2kW", 1200},
		{ParsePrice, "1.79$/h", 1.79},
		{ParsePrice, "$1.79/h", 1.79},
		{ParseFraction, "90%", 0.9},
		{ParseFraction, "0.9", 0.9},
		{ParseFraction, "1", 1},
	} {
		got, err := test.parse(test.in)
		if err != nil || got != test.want {
			t.Errorf("%q = %v, %v; want %v", test.in, got, err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		parse func(string) (float64, error)
		in    string
		says  string
	}{
		{ParseBytes, "80", `"80" has no unit; want an amount of bytes such as "80GiB"`},
		{ParseBytes, "", "does not start with a number"},
		{ParseBytes, "80gb", `"gb" is not a unit (did you mean GB?)`},
		{ParseBytes, "80KB", `"KB" is not a unit (did you mean kB?)`},
		{ParseBytes, "80GB/s", "GB/s is a unit of a byte rate"},
		{ParseByteRate, "80GB",
			`GB is a unit of an amount of bytes; want a byte rate such as "2039GB/s"`},
		{ParseByteRate, "5parsec", `"parsec" is not a unit`},
		{ParseFLOPRate, "-3TFLOPS", `"-3" is not a plain number of at least 0`},
		{ParseDuration, "NaN s", "does not start with a number"},
		{ParseDuration, "Inf", "does not start with a number"},
		{ParseDuration, "1e999s", `"e999s" is not a unit`},
		{ParseDuration, "1.2.3s", `"1.2.3" is not a plain number`},
		{ParseDuration, "5.s", `"5." is not a plain number`},
		{ParseDuration, "1  s", `" s" is not a unit`},
		{ParseDuration, strings.Repeat("9", 41) + "s", "at most 40 characters"},
		{ParseRequestRate, "4", `such as "4/s"`},
		{ParsePower, "400", `such as "400W"`},
		{ParsePrice, "$1.79", `such as "$1.79/h"`},
		{ParseFraction, "90", `more than the whole (write percentages with %)`},
		{ParseFraction, "-1%", "is not a share"},
		{ParseFraction, "nan", "is not a share"},
	} {
		got, err := test.parse(test.in)
		if err == nil {
			t.Errorf("%q = %v; want an error saying %q", test.in, got, test.says)
		} else if !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: error %q; want it to say %q", test.in, err, test.says)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{FormatBytes(137953296384), "138 GB (128.5 GiB)"},
		{FormatBytes(327680), "327.7 kB (320 KiB)"},
		{FormatBytes(512), "512 B"},
		{FormatBytes(0), "0 B"},
		{FormatBytes(999.96e9), "1 TB (931.3 GiB)"},
		{FormatBytes(-80e9), "-80 GB (-74.51 GiB)"},
		{FormatByteRate(2.039e12), "2.039 TB/s"},
		{FormatFLOPRate(312e12), "312 TFLOP/s"},
		{FormatFLOPRate(12345e18), "12345 EFLOP/s"},
		{FormatDuration(0.0674), "67.4 ms"},
		{FormatDuration(33e-6), "33 \u00b5s"},
		{FormatDuration(90), "1.5 min"},
		{FormatDuration(0), "0 s"},
		{FormatDuration(math.Inf(1)), "+Inf s"},
		{FormatRequestRate(0.5), "0.5/s"},
		{FormatRequestRate(math.NaN()), "NaN/s"},
		{FormatRequestRate(1. / 180), "20/h"},
		{FormatRequestRate(1. / 86400), "1/d"},
		{FigureOfRate(20000), "20,000/s"},
		{FormatPower(1250), "1.25 kW"},
		{Plural(1, "token"), "1 token"},
		{Plural(0, "token"), "0 tokens"},
		{Count(-1234567), "-1,234,567"},
		{Count(-999), "-999"},
		{FormatPrice(1.79, ""), "$1.79/h"},
		{FormatPrice(-1.79, ""), "-$1.79/h"},
		{FormatPrice(1.79, "EUR"), "€1.79/h"},
		{FormatPrice(-1.79, "CHF"), "-CHF 1.79/h"},
		{FormatFraction(0.9), "90%"},
		{FormatFraction(1. / 3), "33.33%"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// What is printed parses to the same value, up to half a unit of the fourth significant digit.
func TestRoundTrip(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.name, rapid.MakeCheck(func(t *rapid.T) {
			exponent := rapid.Float64Range(-15, 20).Draw(t, "exponent")
			v := math.Pow(10, exponent)
			if codec.name == "fraction" {
				v = math.Pow(10, -math.Abs(exponent))
			}
			for _, text := range strings.Split(strings.TrimSuffix(codec.format(v), ")"), " (") {
				back, err := codec.parse(text)
				if err != nil {
					t.Fatalf("%v printed as %q: %v", v, text, err)
				}
				if relative := math.Abs(back/v - 1); relative > 0.0005*(1+1e-12) {
					t.Fatalf("%v printed as %q, which is %v: off by %g of itself", v, text, back,
						relative)
				}
			}
		}))
	}
}

// A larger quantity never prints as a smaller one.
func TestFormatKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(1e-12, 1e7).Draw(t, "a")
		b := rapid.Float64Range(a, 1e8).Draw(t, "b")
		low, err := ParseDuration(FormatDuration(a))
		testkit.OK(t, err)
		high, err := ParseDuration(FormatDuration(b))
		testkit.OK(t, err)
		if low > high {
			t.Fatalf("%v prints as %q, but %v as %q", a, FormatDuration(a), b, FormatDuration(b))
		}
	})
}

// Any text either parses to a finite quantity of at least 0 or is refused; and what parses can be
// printed and read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"80GiB", "3.35TB/s", "312TFLOPS", "33µs", "4/s", "400W",
		"$1.79/h", "90%", "-1", "1e9", "", "NaN"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, codec := range codecs {
			v, err := codec.parse(s)
			if err != nil {
				continue
			}
			if !(v >= 0) || math.IsInf(v, 0) {
				t.Errorf("%s: %q parsed as %v", codec.name, s, v)
			}
			first, _, _ := strings.Cut(codec.format(v), " (")
			if len(first) > maxNumber {
				continue // beyond any unit's range: printed in full, too long to be read
			}
			if _, err := codec.parse(first); err != nil {
				t.Errorf("%s: %q printed as %q: %v", codec.name, s, first, err)
			}
		}
	})
}

// A rate is told in a unit of time in which some requests come: no figure begins with two zeros
// unless not even a twentieth comes in a day, and it is the rate to its last digit.
func TestRatesArePrintedForPeople(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Exp(rapid.Float64Range(math.Log(1e-6), math.Log(1e6)).Draw(t, "log of the rate"))
		for format, most := range map[string]float64{FormatRequestRate(v): 5e-4,
			strings.ReplaceAll(FigureOfRate(v), ",", ""): 5e-3} {
			if strings.HasPrefix(format, "0.00") || len(strings.Split(format, "/")[0]) > 7 {
				t.Errorf("%v/s is printed as %s", v, format)
			}
			back, err := ParseRequestRate(format)
			if err != nil || math.Abs(back-v) > most*v*1.0001 {
				t.Errorf("%v/s is printed as %s, which is %v/s (%v)", v, format, back, err)
			}
		}
	})
}

// A share beside a target reads as on the side of it on which it lies, and no longer than it must.
func TestSharesShowTheirSideOfATarget(t *testing.T) {
	const all = 100_000
	rapid.Check(t, func(t *rapid.T) {
		wanted := 10 * rapid.IntRange(0, all/10).Draw(t, "target")
		kept := min(all, max(0, wanted+rapid.IntRange(-300, 300).Draw(t, "apart")))
		target, share := float64(wanted)/all, float64(kept)/all
		var read [2]float64
		for i, words := range []string{PercentOf(share, target), Target(target)} {
			_, err := fmt.Sscanf(words, "%g%%", &read[i])
			testkit.OK(t, err)
		}
		if cmp.Compare(read[0], read[1]) != cmp.Compare(kept, wanted) ||
			read[1] != float64(wanted)/1000 {
			t.Fatalf("%g is %g%% beside %g%%", share, read[0], read[1])
		}
		if again := PercentOf(share, math.Nextafter(share, 2)); again != Target(share) &&
			again != Percent(share) {
			t.Fatalf("%g is %s beside what rounding has made of it", share, again)
		}
	})
}
