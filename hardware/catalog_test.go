package hardware

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

func load(t testing.TB) Catalog {
	t.Helper()
	c, err := Load()
	testkit.OK(t, err)
	return c
}

// figures lists the numbers of an entry by the YAML key that their source has.
func (a Accelerator) figures() map[string]float64 {
	list := map[string]float64{
		"memory": a.Memory, "bandwidth": a.Bandwidth, "sms": float64(a.SMs), "l2": a.L2,
		"per_node":   float64(a.PerNode),
		"idle_power": a.IdlePower, "peak_power": a.PeakPower, "price": a.Price,
	}
	for dtype, rate := range a.Peak {
		list["peak."+string(dtype)] = rate
	}
	if a.PerNode == 1 && a.Sources["per_node"] == "" {
		delete(list, "per_node") // the default where no link joins them
	}
	return list
}

func (h Host) figures() map[string]float64 {
	return map[string]float64{
		"cores": float64(h.Cores), "memory": h.Memory, "bandwidth": h.Bandwidth, "disk": h.Disk,
		"idle_power": h.IdlePower, "peak_power": h.PeakPower,
	}
}

func (l Link) figures() map[string]float64 {
	return map[string]float64{"bandwidth": l.Bandwidth, "latency": l.Latency}
}

// checkFigures tests that each figure is a positive number with a source, and that no source is for
// nothing. A figure that is 0 is unknown.
func checkFigures(t *testing.T, name string, figures map[string]float64,
	sources map[string]string) {
	t.Helper()
	for key, v := range figures {
		if !(v >= 0) || math.IsInf(v, 0) {
			t.Errorf("%s: %s is %v", name, key, v)
		}
		if v > 0 && len(strings.TrimSpace(sources[key])) < 3 {
			t.Errorf("%s: %s has no source", name, key)
		}
	}
	for key := range sources {
		if figures[key] == 0 {
			t.Errorf("%s: there is a source for %s, but no figure", name, key)
		}
	}
}

func TestEveryFigureHasASource(t *testing.T) {
	c := load(t)
	for _, a := range c.Accelerators {
		checkFigures(t, a.Name, a.figures(), a.Sources)
	}
	for _, h := range c.Hosts {
		checkFigures(t, h.Name, h.figures(), h.Sources)
	}
	for _, l := range c.Links {
		checkFigures(t, l.Name, l.figures(), l.Sources)
	}
}

// A price means nothing without its day, its currency, its term and its source. An estimate has no
// provider, and one that has is named in its source.
func TestPricesAreDated(t *testing.T) {
	list, err := Listings()
	if err != nil {
		t.Fatal(err)
	}
	date, first := regexp.MustCompile(`^20\d\d(-\d\d)?$`), map[string]Listing{}
	for _, l := range list {
		estimate := strings.HasPrefix(l.Source, "own estimate")
		if l.Price <= 0 || l.Currency != "USD" || l.Term != "on-demand" && l.Term != "owned" ||
			l.Source == "" || !date.MatchString(l.Date) && !estimate ||
			estimate && l.Provider != "" ||
			!strings.Contains(l.Source, l.Provider) {
			t.Errorf("%+v", l)
		}
		if _, known := first[l.Accelerator]; !known {
			first[l.Accelerator] = l
		}
	}
	for _, a := range load(t).Accelerators {
		if l := first[a.Name]; a.Price != l.Price || a.Sources["price"] != l.Source {
			t.Errorf("%s costs $%g (%s), in the table %+v", a.Name, a.Price, a.Sources["price"], l)
		}
	}
}

// Each store below the accelerators has a price with its date and source, and others have none.
func TestStoresHavePrices(t *testing.T) {
	for _, store := range []string{"host", "nvme", "pool"} {
		l, err := StorePrice(store)
		if err != nil || l.Price <= 0 || l.Currency != "USD" || l.Date == "" || l.Source == "" {
			t.Errorf("%s: %+v, %v", store, l, err)
		}
	}
	if _, err := StorePrice("tape"); err == nil {
		t.Error("a price of tape is listed")
	}
}

// FLOP a cycle and multiprocessor of dense 16-bit matrix products, from which the clock follows. A
// rate with sparsity, which data sheets like to print, or one with narrower accumulation, would
// need twice the clock that there is.
var perCycle = map[string]float64{
	"volta": 1024, "turing": 1024, "ampere": 2048, "ampere-rtx": 1024, "ada": 1024, "hopper": 4096,
	"blackwell": 8192, "blackwell-rtx": 1024,
	"cdna3": 2048, "cdna4": 4096, "apple": 256, "battlemage": 2048,
}

func TestPeakIsDense(t *testing.T) {
	for _, a := range load(t).Accelerators {
		if a.Kind != "gpu" {
			continue
		}
		if perCycle[a.Generation] == 0 || a.SMs == 0 {
			t.Errorf("%s: generation %q with %d multiprocessors is not in this test", a.Name,
				a.Generation, a.SMs)
			continue
		}
		each := perCycle[a.Generation]
		switch a.Name {
		case "h20", "h20-141gb":
			each = 1024 // a quarter of its arithmetic, by the rules for exports
		case "rtx-2080-ti":
			each = 512 // GeForce cards of Turing accumulate in fp32 at half the rate
		}
		if clock := a.Peak[FP16] / each / float64(a.SMs); clock < 0.8e9 || clock > 2.7e9 {
			t.Errorf("%s: fp16 at %.3g FLOP/s takes a clock of %.3g Hz", a.Name, a.Peak[FP16],
				clock)
		}
	}
}

// Number formats of the same width run at the same rate, and narrower ones are not slower.
func TestPeakByWidth(t *testing.T) {
	widths := [][]DType{{FP32}, {TF32}, {FP16, BF16}, {FP8, INT8}, {FP4, INT4}}
	for _, a := range load(t).Accelerators {
		slowest := 0.0
		for _, formats := range widths {
			fastest := slowest
			for _, dtype := range formats {
				rate, known := a.Peak[dtype]
				if known && rate < slowest*0.99 {
					t.Errorf("%s: %s at %.3g is slower than a wider format at %.3g", a.Name, dtype,
						rate, slowest)
				}
				fastest = max(fastest, rate)
			}
			slowest = fastest
		}
		if a.Kind == "gpu" && a.Generation != "volta" && a.Generation != "turing" &&
			a.Peak[FP16] != a.Peak[BF16] {
			t.Errorf("%s: fp16 at %.3g, bf16 at %.3g", a.Name, a.Peak[FP16], a.Peak[BF16])
		}
	}
}

// The numbers of a device fit each other as those of real machines do.
func TestBalance(t *testing.T) {
	c := load(t)
	within := func(name, what string, v, low, high float64) {
		t.Helper()
		if v < low || v > high {
			t.Errorf("%s: %s is %.4g, want %g to %g", name, what, v, low, high)
		}
	}
	for _, a := range c.Accelerators {
		ridge := max(a.Peak[FP32], a.Peak[FP16], a.Peak[BF16]) / a.Bandwidth
		within(a.Name, "the ridge point in FLOP/byte", ridge, 10, 600)
		within(a.Name, "the time in s to read the memory once", a.Memory/a.Bandwidth, 0.0138, 5)
		within(a.Name, "L2 as a share of the memory", a.L2/a.Memory, 0, 0.005)
		within(a.Name, "idle power as a share of the peak", a.IdlePower/max(a.PeakPower, 1), 0, 0.5)
		if a.Price > 0 {
			within(a.Name, "the price of 1e15 FLOP in $",
				a.Price/3600/max(a.Peak[FP32], a.Peak[FP16], a.Peak[BF16])*1e15, 1e-4, 0.3)
		}

		scaleUp, network := mustLink(t, c, a.ScaleUp), mustLink(t, c, a.Network)
		hostLink := mustLink(t, c, a.HostLink)
		if network.Bandwidth > scaleUp.Bandwidth || network.Latency < scaleUp.Latency {
			t.Errorf("%s: the network %s is better than %s within the node", a.Name, network.Name,
				scaleUp.Name)
		}
		for _, l := range []*Link{&hostLink, &scaleUp} {
			if l.Name == "loopback" { // one device, or one memory
				l.Bandwidth = 0
			}
		}
		if a.Kind != "cpu" && max(hostLink.Bandwidth, scaleUp.Bandwidth) > a.Bandwidth/2 {
			t.Errorf("%s: its links %s and %s are about as fast as its memory", a.Name,
				hostLink.Name, scaleUp.Name)
		}
	}
	for _, h := range c.Hosts {
		within(h.Name, "memory bandwidth a core in GB/s", h.Bandwidth/float64(h.Cores)/1e9, 2, 10)
		within(h.Name, "the disk's rate as a share of the memory's", h.Disk/h.Bandwidth, 0.001, 0.1)
		within(h.Name, "idle power as a share of the peak", h.IdlePower/h.PeakPower, 0.1, 0.5)
	}
}

func mustLink(t *testing.T, c Catalog, name string) Link {
	t.Helper()
	l, err := c.Link(name)
	testkit.OK(t, err)
	return l
}

func TestEveryNameAndAliasFindsItsEntry(t *testing.T) {
	c := load(t)
	for _, a := range c.Accelerators {
		for _, name := range append([]string{a.Name, strings.ToUpper(a.Name),
			strings.ReplaceAll(a.Name, "-", "_")}, a.Aliases...) {
			if found, err := c.Accelerator(name); err != nil || found.Name != a.Name {
				t.Errorf("%q finds %q (%v), want %q", name, found.Name, err, a.Name)
			}
		}
	}
	for alias, want := range map[string]string{
		"a100": "a100-80gb-sxm", "a100_sxm": "a100-80gb-sxm", "A100 80GB": "a100-80gb-sxm",
		"h100":     "h100-sxm",
		"h200_sxm": "h200-sxm", "b200_sxm": "b200-sxm", "xeon": "xeon-8480",
	} {
		if found, err := c.Accelerator(alias); err != nil || found.Name != want {
			t.Errorf("%q finds %q (%v), want %q", alias, found.Name, err, want)
		}
	}
	for _, h := range c.Hosts {
		if found, err := c.Host(strings.ToUpper(h.Name)); err != nil || found.Name != h.Name {
			t.Errorf("%q finds host %q (%v)", h.Name, found.Name, err)
		}
	}
}

func TestUnknownNameOffersNearOnes(t *testing.T) {
	_, err := load(t).Accelerator("h10o")
	if err == nil || !strings.Contains(err.Error(),
		`unknown accelerator "h10o"; did you mean h100`) {
		t.Errorf("got %v", err)
	}
	_, err = load(t).Link("nvlink9")
	if err == nil || !strings.Contains(err.Error(), "nvlink2") {
		t.Errorf("got %v", err)
	}
}

// What the accelerators of the list can do, as their data sheets say it.
func TestFiguresOfTheDataSheets(t *testing.T) {
	c := load(t)
	for _, want := range []struct {
		name            string
		bf16, bandwidth float64
	}{
		{"a100-40gb-pcie", 312e12, 1.555e12}, {"a100-80gb-pcie", 312e12, 1.935e12},
		{"a100-80gb-sxm", 312e12, 2.039e12},
		{"h100-sxm", 989.4e12, 3.35e12}, {"h200-sxm", 989.4e12, 4.8e12},
		{"b200-sxm", 2250e12, 8e12}, {"l4", 121e12, 300e9},
		{"l40s", 362e12, 864e9}, {"a10g", 70e12, 600e9}, {"rtx-4090", 165.2e12, 1.008e12},
		{"rtx-pro-6000", 503.8e12, 1.792e12},
		{"mi300x", 1307.4e12, 5.3e12}, {"tpu-v5e", 197e12, 819e9},
	} {
		a, err := c.Accelerator(want.name)
		if err != nil || a.Peak[BF16] != want.bf16 || a.Bandwidth != want.bandwidth {
			t.Errorf("%s: %v, bf16 %g, bandwidth %g; want %g and %g", want.name, err, a.Peak[BF16],
				a.Bandwidth, want.bf16, want.bandwidth)
		}
	}
}

func TestEveryKindIsThere(t *testing.T) {
	c := load(t)
	for _, kind := range []string{"gpu", "tpu", "npu", "cpu"} {
		if !slices.ContainsFunc(c.Accelerators, func(a Accelerator) bool {
			return a.Kind == kind
		}) {
			t.Errorf("no accelerator is a %s", kind)
		}
	}
}
