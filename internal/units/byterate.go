package units

// ParseByteRate reads a rate in bytes ("2039GB/s", "3.35TB/s") or bits ("25Gbps", "200Gb/s"), and
// returns B/s.
func ParseByteRate(s string) (float64, error) { return byteRate.parse(s) }

// FormatByteRate prints B/s as "2.039 TB/s".
func FormatByteRate(v float64) string { return byteRate.format(v) }
