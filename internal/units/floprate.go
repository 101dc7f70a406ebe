package units

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

// ParseFLOPRate reads a rate of floating-point or integer operations ("312TFLOPS", "4.5PFLOP/s",
// "624TOPS"), and returns operations a second.
func ParseFLOPRate(s string) (float64, error) { return flopRate.parse(s) }

// FormatFLOPRate prints FLOP/s as "312 TFLOP/s".
func FormatFLOPRate(v float64) string { return flopRate.format(v) }
