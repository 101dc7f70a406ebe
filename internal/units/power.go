package units

var power = kind{
	name:    "a power",
	example: "400W",
	units:   []unit{{"mW", 1, 1e3}, {"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}},
	display: []unit{{"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}},
}

// ParsePower reads a power such as "400W" or "1.2kW", and returns watts.
func ParsePower(s string) (float64, error) { return power.parse(s) }

// FormatPower prints watts as "400 W".
func FormatPower(v float64) string { return power.format(v) }
