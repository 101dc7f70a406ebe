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

var duration = kind{
	name:    "a duration",
	example: "50ms",
	units: []unit{
		{"ps", 1, 1e12}, {"ns", 1, 1e9}, {"us", 1, 1e6}, {microGreek, 1, 1e6}, {microSign, 1, 1e6},
		{"ms", 1, 1e3}, {"s", 1, 1},
		{"m", 60, 1}, {"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1},
	},
	display: []unit{
		{"ps", 1, 1e12}, {"ns", 1, 1e9}, {microSign, 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1},
		{"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1},
	},
}

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

var power = kind{
	name:    "a power",
	example: "400W",
	units:   []unit{{"mW", 1, 1e3}, {"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}},
	display: []unit{{"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}},
}

var hourlyPrice = kind{
	name:    "a price an hour",
	example: "$1.79/h",
	units:   []unit{{"$/h", 1, 1}},
	display: []unit{{"$/h", 1, 1}},
}

var requestRate = kind{
	name:    "a request rate",
	example: "4/s",
	units:   []unit{{"/s", 1, 1}, {"/min", 1, 60}, {"/h", 1, 3600}, {"/d", 1, 86400}},
	display: []unit{{"/s", 1, 1}},
}

// kinds lists every kind, to recognise a unit of the wrong one.
func kinds() []kind {
	return []kind{byteAmount, byteRate, flopRate, duration, requestRate, power, hourlyPrice}
}
