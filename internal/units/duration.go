package units

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
