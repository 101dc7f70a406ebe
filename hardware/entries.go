package hardware

import (
	"maps"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
)

// part is a pointer to an entry of the catalogue.
type part[T any] interface {
	*T
	header() header
	// keys adds to the form the keys by which an entry of this kind is described.
	keys(f *form, links []Link)
	// required lists the keys that a new entry needs.
	required() []string
	// detach copies the parts that the entry shares with the entry that it was copied from.
	detach()
}

// header holds the fields that every entry has.
type header struct {
	name    *string
	aliases *[]string
	title   *string
	sources map[string]string
}

// names returns the name and the aliases.
func (h header) names() []string { return append([]string{*h.name}, *h.aliases...) }

func (a *Accelerator) header() header { return header{&a.Name, &a.Aliases, &a.Title, a.Sources} }

func (a *Accelerator) detach() {
	a.Aliases, a.Peak, a.Sources = slices.Clone(a.Aliases), copied(a.Peak), copied(a.Sources)
	a.Constants = a.Constants.clone()
}

func (a *Accelerator) required() []string {
	return []string{"kind", "memory", "bandwidth", "peak", "scale_up", "host_link", "network"}
}

func (a *Accelerator) keys(f *form, links []Link) {
	a.PerNode = max(a.PerNode, 1)
	f.choice("kind", &a.Kind, "gpu", "tpu", "npu", "cpu")
	f.text("generation", &a.Generation)
	f.figure("memory", &a.Memory, size)
	f.figure("bandwidth", &a.Bandwidth, positive(units.ParseByteRate))
	f.rates("peak", a.Peak)
	f.count("sms", &a.SMs)
	f.figure("l2", &a.L2, size)
	f.link("scale_up", &a.ScaleUp, links)
	f.link("host_link", &a.HostLink, links)
	f.link("network", &a.Network, links)
	f.count("per_node", &a.PerNode)
	f.figure("idle_power", &a.IdlePower, positive(units.ParsePower))
	f.figure("peak_power", &a.PeakPower, positive(units.ParsePower))
	f.figure("price", &a.Price, positive(units.ParsePrice))
	f.constants("constants", &a.Constants)
}

func (h *Host) header() header { return header{&h.Name, &h.Aliases, &h.Title, h.Sources} }

func (h *Host) detach() { h.Aliases, h.Sources = slices.Clone(h.Aliases), copied(h.Sources) }

func (h *Host) required() []string { return []string{"cores", "memory", "bandwidth", "disk"} }

func (h *Host) keys(f *form, _ []Link) {
	f.count("cores", &h.Cores)
	f.figure("memory", &h.Memory, size)
	f.figure("bandwidth", &h.Bandwidth, positive(units.ParseByteRate))
	f.figure("disk", &h.Disk, positive(units.ParseByteRate))
	f.figure("idle_power", &h.IdlePower, positive(units.ParsePower))
	f.figure("peak_power", &h.PeakPower, positive(units.ParsePower))
}

func (l *Link) header() header { return header{&l.Name, &l.Aliases, &l.Title, l.Sources} }

func (l *Link) detach() { l.Aliases, l.Sources = slices.Clone(l.Aliases), copied(l.Sources) }

func (l *Link) required() []string { return []string{"bandwidth", "latency"} }

func (l *Link) keys(f *form, _ []Link) {
	f.figure("bandwidth", &l.Bandwidth, positive(units.ParseByteRate))
	f.figure("latency", &l.Latency, units.ParseDuration)
	f.choice("port", &l.Port, "device", "node")
}

// copied is a copy of m that is never nil.
func copied[K comparable, V any](m map[K]V) map[K]V {
	c := maps.Clone(m)
	if c == nil {
		c = map[K]V{}
	}
	return c
}
