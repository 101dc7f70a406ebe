package units

// ParsePower reads a power such as "400W" or "1.2kW", and returns watts.
func ParsePower(s string) (float64, error) { return power.parse(s) }

// FormatPower prints watts as "400 W".
func FormatPower(v float64) string { return power.format(v) }
