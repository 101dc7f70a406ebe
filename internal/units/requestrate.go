package units

var requestRate = kind{
	name:    "a request rate",
	example: "4/s",
	units:   []unit{{"/s", 1, 1}, {"/min", 1, 60}, {"/h", 1, 3600}, {"/d", 1, 86400}},
	display: []unit{{"/s", 1, 1}},
}

// ParseRequestRate reads a rate of requests such as "4/s", "120/min" or "10/h", and returns
// requests a second.
func ParseRequestRate(s string) (float64, error) { return requestRate.parse(s) }

// FormatRequestRate prints requests a second as "4/s".
func FormatRequestRate(v float64) string {
	number, symbol := requestRate.pick(v)
	return number + symbol
}
