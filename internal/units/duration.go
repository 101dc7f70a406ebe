package units

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
