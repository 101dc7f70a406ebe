// Package hardware holds accelerators, hosts and links: numbers with sources, and nothing that
// computes a step.
//
// Figures come from data sheets and are in catalog/*.yaml, one file a family; constants fitted to
// measurements are in fitted/*.yaml. Every figure carries its source, and a test fails without one.
// Users add entries of the same form in their own YAML file.
package hardware

// DType is a number format of weights, activations or KV cache.
type DType string

// The number formats that the catalogue knows.
const (
	FP32 DType = "fp32"
	TF32 DType = "tf32"
	FP16 DType = "fp16"
	BF16 DType = "bf16"
	FP8  DType = "fp8"
	INT8 DType = "int8"
	FP6  DType = "fp6"
	INT4 DType = "int4"
	// FP4 is NVFP4: blocks of 16 elements of 4 bits share a scale of 8 bits.
	FP4 DType = "fp4"
	// MXFP4 has blocks of 32 elements of 4 bits with a scale of 8 bits (OCP Microscaling Formats
	// specification 1.0, 2023). Activations are wider.
	MXFP4 DType = "mxfp4"
	// FP8Block is FP8 with a scale for each block of 128×128 weights and each 128 activations
	// (DeepSeek-V3, arXiv:2412.19437, section 3.3.2). Its products have kernels of their own.
	FP8Block DType = "fp8-block"
	// The GGUF formats of llama.cpp.
	Q4_0 DType = "q4_0"
	Q4KM DType = "q4_k_m"
	Q5KM DType = "q5_k_m"
	Q6K  DType = "q6_k"
	Q8_0 DType = "q8_0"
)

// Accelerator is one device that computes: a GPU, a TPU chip, or a CPU socket taken as one.
type Accelerator struct {
	// Name is the catalogue name, such as "a100-80gb-sxm"; Aliases are other names that find it.
	Name    string `key:"-"`
	Aliases []string
	// Title is the name for people, such as "NVIDIA A100 SXM4 80 GB"; Name where no title is given.
	Title string
	// Kind is "gpu", "tpu", "npu" (of other makers) or "cpu".
	Kind string `words:"gpu,tpu,npu,cpu" required:"true"`
	// Generation groups devices with the same cores ("ampere", "hopper", …): the nearest measured
	// relative is looked for there.
	Generation string
	// Memory is the device memory in bytes that a program sees, which determines the size of the KV
	// cache. It differs from the number in the product's name: an "80 GB" A100 has 80 GiB on board,
	// and the driver leaves 79.15 GiB.
	Memory float64 `unit:"size" required:"true"`
	// Bandwidth is the peak memory bandwidth in B/s.
	Bandwidth float64 `unit:"byte rate" required:"true"`
	// Peak is the dense peak rate in FLOP/s (or OP/s) by number format of the operands.
	Peak map[DType]float64 `unit:"FLOP rate" required:"true"`
	// SMs is the number of multiprocessors (compute units); 0 where unknown.
	SMs int
	// L2 is the last-level cache in bytes; 0 where unknown.
	L2 float64 `unit:"size"`
	// ScaleUp is the name of the link between accelerators of one node, HostLink names the link to
	// the host, and Network the link to other nodes.
	ScaleUp  string `key:"scale_up" unit:"link" required:"true"`
	HostLink string `key:"host_link" unit:"link" required:"true"`
	Network  string `unit:"link" required:"true"`
	// PerNode is the number of accelerators that ScaleUp joins, at least 1.
	PerNode int `key:"per_node"`
	// IdlePower and PeakPower are in watts.
	IdlePower float64 `key:"idle_power" unit:"power"`
	PeakPower float64 `key:"peak_power" unit:"power"`
	// Price is the price of one accelerator with its share of the host, in US dollars an hour; 0 if
	// unknown.
	Price float64 `unit:"price"`
	// Constants are the fitted constants that a user's entry gives. They are nil for the
	// accelerators that ship with the program, whose constants FittedConstants returns, and for
	// accelerators that were not measured.
	Constants *Constants
	// Sources holds the source of each figure, by its YAML key ("memory", "peak.bf16", …).
	Sources map[string]string `key:"-"`
}

// Link joins devices.
type Link struct {
	Name    string `key:"-"`
	Aliases []string
	Title   string
	// Bandwidth is the peak rate of one device, in B/s in one direction, over all of its lanes or
	// links of this kind together.
	Bandwidth float64 `unit:"byte rate" required:"true"`
	// Port is "node" if the devices of a node share one port of that bandwidth, as on Ethernet. It
	// is "device" or empty if each device has its own.
	Port string `words:"device,node"`
	// Reach says how devices on PCI Express reach each other: "peer" without the memory of the
	// host, "host" through it, as GeForce cards do, and "contended" on a host whose root or memory
	// is in the way of more than two devices. It is empty for other links.
	Reach string `words:"peer,host,contended"`
	// Latency is in seconds for a small message, software included.
	Latency float64 `unit:"duration" required:"true"`
	// Sources holds the source of each figure, by its YAML key.
	Sources map[string]string `key:"-"`
}

// Host is the machine that accelerators sit in.
type Host struct {
	Name    string `key:"-"`
	Aliases []string
	Title   string
	// Cores is the number of physical cores.
	Cores int `required:"true"`
	// Memory is the size of host memory in bytes, and Bandwidth its bandwidth in B/s.
	Memory    float64 `unit:"size" required:"true"`
	Bandwidth float64 `unit:"byte rate" required:"true"`
	// Disk is the sequential read rate in B/s from which weights are loaded.
	Disk float64 `unit:"byte rate" required:"true"`
	// IdlePower and PeakPower are in watts.
	IdlePower float64 `key:"idle_power" unit:"power"`
	PeakPower float64 `key:"peak_power" unit:"power"`
	// Sources holds the source of each figure, by its YAML key.
	Sources map[string]string `key:"-"`
}
