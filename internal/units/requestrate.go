package units

// ParseRequestRate reads a rate of requests such as "4/s", "120/min" or "10/h", and returns
// requests a second.
func ParseRequestRate(s string) (float64, error) { return requestRate.parse(s) }

// FormatRequestRate prints requests a second as "4/s".
func FormatRequestRate(v float64) string {
	number, symbol := requestRate.pick(v)
	return number + symbol
}
