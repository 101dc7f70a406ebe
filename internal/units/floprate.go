package units

// ParseFLOPRate reads a rate of floating-point or integer operations ("312TFLOPS", "4.5PFLOP/s",
// "624TOPS"), and returns operations a second.
func ParseFLOPRate(s string) (float64, error) { return flopRate.parse(s) }

// FormatFLOPRate prints FLOP/s as "312 TFLOP/s".
func FormatFLOPRate(v float64) string { return flopRate.format(v) }
