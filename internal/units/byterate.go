package units

var byteRate = kind{
	name:    "a byte rate",
	example: "2039GB/s",
	units: []unit{
		{"B/s", 1, 1}, {"kB/s", 1e3, 1}, {"MB/s", 1e6, 1}, {"GB/s", 1e9, 1}, {"TB/s", 1e12, 1},
		{"PB/s", 1e15, 1},
		{"KiB/s", 1 << 10, 1}, {"MiB/s", 1 << 20, 1}, {"GiB/s", 1 << 30, 1}, {"TiB/s", 1 << 40, 1},
		{"b/s", 1, 8}, {"kb/s", 1e3, 8}, {"Mb/s", 1e6, 8}, {"Gb/s", 1e9, 8}, {"Tb/s", 1e12, 8},
		{"bps", 1, 8}, {"kbps", 1e3, 8}, {"Mbps", 1e6, 8}, {"Gbps", 1e9, 8}, {"Tbps", 1e12, 8},
	},
	display: []unit{{"B/s", 1, 1}, {"kB/s", 1e3, 1}, {"MB/s", 1e6, 1}, {"GB/s", 1e9, 1},
		{"TB/s", 1e12, 1}, {"PB/s", 1e15, 1}},
}

// ParseByteRate reads a rate in bytes ("2039GB/s", "3.35TB/s") or bits ("25Gbps", "200Gb/s"), and
// returns B/s.
func ParseByteRate(s string) (float64, error) { return byteRate.parse(s) }

// FormatByteRate prints B/s as "2.039 TB/s".
func FormatByteRate(v float64) string { return byteRate.format(v) }
