package units

var byteAmount = kind{
	name:    "an amount of bytes",
	example: "80GiB",
	units: []unit{
		{"B", 1, 1}, {"kB", 1e3, 1}, {"MB", 1e6, 1}, {"GB", 1e9, 1}, {"TB", 1e12, 1},
		{"PB", 1e15, 1},
		{"KiB", 1 << 10, 1}, {"MiB", 1 << 20, 1}, {"GiB", 1 << 30, 1}, {"TiB", 1 << 40, 1},
		{"PiB", 1 << 50, 1},
	},
	display: []unit{{"B", 1, 1}, {"kB", 1e3, 1}, {"MB", 1e6, 1}, {"GB", 1e9, 1}, {"TB", 1e12, 1},
		{"PB", 1e15, 1}},
}

// binaryBytes only prints: byteAmount reads both families.
var binaryBytes = kind{
	display: []unit{{"B", 1, 1}, {"KiB", 1 << 10, 1}, {"MiB", 1 << 20, 1}, {"GiB", 1 << 30, 1},
		{"TiB", 1 << 40, 1}, {"PiB", 1 << 50, 1}},
}

// ParseBytes reads an amount of bytes such as "80GiB" (2^30 bytes each) or "80GB" (1e9 bytes each).
func ParseBytes(s string) (float64, error) { return byteAmount.parse(s) }

// FormatBytes prints bytes in both families of units, as "138 GB (128.5 GiB)"; below 1000 bytes as
// "512 B".
func FormatBytes(v float64) string {
	decimal, binary := byteAmount.format(v), binaryBytes.format(v)
	if decimal == binary {
		return decimal
	}
	return decimal + " (" + binary + ")"
}
