package training

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
)

// Machine is accelerators of one kind with the links that join them.
type Machine struct {
	Accelerator hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network nodes; nil without one.
	ScaleUp, Network *hardware.Link
	// Constants are the constants that were fitted to servers.
	Constants hardware.Constants
	// Warnings say where Constants rest on little.
	Warnings []string
}

// NewMachine returns a machine with the constants of its accelerator or of its nearest relative.
func NewMachine(a *hardware.Accelerator, scaleUp, network *hardware.Link) Machine {
	constants, warnings := hardware.FittedConstants(a, scaleUp, network)
	return Machine{*a, scaleUp, network, constants, warnings}
}

// group is accelerators that exchange: size of them, each stride ranks from the next.
type group struct{ size, stride int }

// inside returns how many accelerators of a group are in one node.
func (m *Machine) inside(g group) int {
	if m.ScaleUp == nil {
		return 1
	}
	return min(g.size, max(1, m.Accelerator.PerNode/g.stride))
}

// port returns the B/s with which one accelerator reaches other nodes, when all of its node do.
func (m *Machine) port() float64 {
	if m.Network.Port == "node" {
		return m.Network.Bandwidth / float64(max(1, m.Accelerator.PerNode))
	}
	return m.Network.Bandwidth
}

// gather returns the seconds in which every accelerator of a group gets the parts of all others,
// of bytes in all (all-gather), or sums them (reduce-scatter). An all-reduce is both. Each
// accelerator receives (n−1)/n of the bytes; a node receives what is not in it through the ports
// of the group's accelerators that it has, while its inner links work (Patarasuk and Yuan 2009,
// section 3; nccl-tests, PERFORMANCE.md).
func (m *Machine) gather(bytes float64, g group) float64 {
	if g.size <= 1 || bytes == 0 {
		return 0
	}
	inside := m.inside(g)
	nodes := (g.size + inside - 1) / inside
	seconds := 0.0
	if inside > 1 {
		wire := float64(g.size-1) / float64(g.size) * bytes / m.ScaleUp.Bandwidth
		k := &m.Constants.ScaleUp
		seconds = min(k.Library.Seconds(inside, wire), k.Bulk.Seconds(inside, wire))
	}
	if nodes > 1 && m.Network != nil {
		k := &m.Constants.Network.Library
		across := float64(nodes-1) / float64(nodes) * bytes / (float64(inside) * m.port())
		seconds = max(seconds, float64(k.Latency)+across/k.Efficiency)
	}
	return seconds
}

// send returns the seconds to send bytes to a rank that is stride ranks away.
func (m *Machine) send(bytes float64, stride int) float64 {
	if stride < m.Accelerator.PerNode && m.ScaleUp != nil {
		k := &m.Constants.ScaleUp.Library
		return float64(k.Latency)/2 + bytes/(m.ScaleUp.Bandwidth*k.Efficiency)
	}
	if m.Network == nil {
		return 0
	}
	k := &m.Constants.Network.Library
	return float64(k.Latency)/2 + bytes/(m.port()*k.Efficiency)
}

// scatter returns the seconds in which each accelerator of a group sends a vector of bytes for each
// of its tokens to the accelerators that have the experts which it visits, active of them (an
// all-to-all). A token crosses to each other node once, and is forwarded there (DeepSeek-V3,
// arXiv:2412.19437, section 3.2.2). Both links work at the same time.
func (m *Machine) scatter(bytes float64, active int, g group) float64 {
	if g.size <= 1 {
		return 0
	}
	inside := m.inside(g)
	nodes := (g.size + inside - 1) / inside
	seconds := 0.0
	if inside > 1 {
		sent := bytes * float64(active) * float64(inside-1) / float64(inside)
		k := &m.Constants.ScaleUp.Library
		seconds = float64(k.Latency) + sent/(m.ScaleUp.Bandwidth*k.Efficiency)
	}
	if nodes > 1 && m.Network != nil {
		visited := float64(nodes) * (1 - math.Pow(1-1/float64(nodes), float64(active)))
		sent := bytes * visited * float64(nodes-1) / float64(nodes)
		k := &m.Constants.Network.Library
		seconds = max(seconds, float64(k.Latency)+sent/(m.port()*k.Efficiency))
	}
	return seconds
}

// Send returns the seconds to bring bytes to an accelerator, of another node or of its own.
func (m *Machine) Send(bytes float64, across bool) float64 {
	if across {
		return m.send(bytes, max(1, m.Accelerator.PerNode))
	}
	return m.send(bytes, 0)
}
