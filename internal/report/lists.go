package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/workload/reuse"
)

// AcceleratorEntry is a line of the hardware list: bytes, B/s, FLOP/s by number format, watts and
// US dollars an hour.
type AcceleratorEntry struct {
	Name      string                     `json:"name"`
	Aliases   []string                   `json:"aliases,omitempty"`
	Title     string                     `json:"title"`
	Kind      string                     `json:"kind"`
	Memory    float64                    `json:"memory"`
	Bandwidth float64                    `json:"bandwidth"`
	Peak      map[hardware.DType]float64 `json:"peak"`
	Link      string                     `json:"link,omitempty"`
	PeakPower float64                    `json:"peak_power"`
	Price     float64                    `json:"price,omitempty"`
}

// HardwareList lists the accelerators of a catalogue.
func HardwareList(c hardware.Catalog) []AcceleratorEntry {
	var list []AcceleratorEntry
	for _, a := range c.Accelerators {
		list = append(list, AcceleratorEntry{a.Name, a.Aliases, a.Title, a.Kind, a.Memory,
			a.Bandwidth, a.Peak, a.ScaleUp, a.PeakPower, a.Price})
	}
	return list
}

// Hardware prints a list of accelerators.
func Hardware(list []AcceleratorEntry) (p doc.Blocks) {
	var rows [][]string
	for _, a := range list {
		peak, price := "", ""
		if rate := a.Peak[hardware.BF16]; rate > 0 {
			peak = units.FormatFLOPRate(rate)
		}
		if a.Price > 0 {
			price = units.FormatPrice(a.Price, "")
		}
		rows = append(rows, []string{a.Name, units.FormatBytes(a.Memory),
			units.FormatByteRate(a.Bandwidth), peak, price})
	}
	p.Table([]string{"accelerator", "memory", "bandwidth", "bf16", "price"}, rows, 0)
	return p
}

// decimalBytes prints bytes in decimal units only.
func decimalBytes(bytes float64) string {
	words, _, _ := strings.Cut(units.FormatBytes(bytes), " (")
	return words
}

// ModelEntry is a line of the model list. Weights are the bytes of the model as published,
// KVPerToken the bytes of a token in a 16-bit KV cache; Context is the longest in tokens, 0 where
// there is no limit.
type ModelEntry struct {
	Name       string         `json:"name"`
	Aliases    []string       `json:"aliases,omitempty"`
	Parameters int64          `json:"parameters"`
	Active     int64          `json:"active_parameters"`
	DType      hardware.DType `json:"dtype"`
	Weights    int64          `json:"weights"`
	KVPerToken int64          `json:"kv_bytes_per_token"`
	Context    int            `json:"context"`
	// Source says where the shape is from; unverified begins that of one which was compared with
	// nothing that is published.
	Source string `json:"source"`
}

// ModelList lists the models of a catalogue.
func ModelList(c *models.Catalog) []ModelEntry {
	var list []ModelEntry
	for _, m := range c.All() {
		parameters, active := m.Parameters(), m.ActiveParameters()
		list = append(list, ModelEntry{m.Name, m.Aliases, parameters.Total(), active.Total(),
			m.DType, m.WeightBytes(m.DType),
			m.KVBytesPerToken(hardware.BF16), m.MaxContext, m.Source})
	}
	return list
}

// Models prints a list of models.
func Models(list []ModelEntry) (p doc.Blocks) {
	var rows [][]string
	for _, m := range list {
		mark := ""
		if strings.HasPrefix(m.Source, "unverified") {
			mark = "*"
		}
		rows = append(rows, []string{m.Name, billions(m.Parameters), billions(m.Active),
			decimalBytes(float64(m.Weights)),
			decimalBytes(float64(m.KVPerToken)), units.Count(m.Context), mark})
	}
	p.Table([]string{"model", "parameters", "active", "weights", "KV/token", "context", ""},
		rows, 0)
	p.Line("* unverified: the shape was compared with nothing that is published")
	return p
}

func billions(n int64) string { return units.Significant(float64(n)/1e9, 4) + " B" }

// PolicyEntry is a policy and its parameters.
type PolicyEntry struct {
	Family string       `json:"family"`
	Name   string       `json:"name"`
	Doc    string       `json:"doc"`
	Source string       `json:"source,omitempty"`
	Params []ParamEntry `json:"parameters,omitempty"`
}

// ParamEntry is a parameter of a policy.
type ParamEntry struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Default string `json:"default"`
}

// PolicyList lists the policies of a registry, family by family.
func PolicyList(r *policies.Registry) []PolicyEntry {
	return slices.Concat(policyEntries(&r.Batching), policyEntries(&r.Memory),
		policyEntries(&r.Routing),
		policyEntries(&r.Admission), policyEntries(&r.Scaling), policyEntries(&r.Drafting))
}

func policyEntries[T any](f *policies.Family[T]) []PolicyEntry {
	var list []PolicyEntry
	for _, policy := range f.Policies {
		entry := PolicyEntry{Family: f.Kind, Name: policy.Name, Doc: policy.Doc,
			Source: policy.Source}
		for _, param := range policy.Params() {
			entry.Params = append(entry.Params, ParamEntry{param.Name, param.Doc, param.Default})
		}
		list = append(list, entry)
	}
	return list
}

// Policies prints a list of policies.
func Policies(list []PolicyEntry) (p doc.Blocks) {
	family := ""
	for _, policy := range list {
		if policy.Family != family {
			family = policy.Family
			p.Heading(family)
		}
		p.Indented(policy.Name+": "+policy.Doc, 2)
		for _, param := range policy.Params {
			p.Indented(fmt.Sprintf("%s: %s (%s)", param.Name, param.Doc, param.Default), 6)
		}
	}
	return p
}

// Keys prints what the keys of a scenario, or the figures of a result, take and mean.
func Keys(list []scenarios.Key) (p doc.Blocks) {
	for _, key := range list {
		words := doc.Bold(key.Path)
		if key.Takes != "" {
			words += " (" + key.Takes + ")"
		}
		p.Line(words)
		p.Indented(key.Means, 4)
	}
	return p
}

// Shipped prints what ships of a kind: scenarios or plans.
func Shipped(kind string, list []scenarios.Listing) (p doc.Blocks) {
	longest := 0
	for _, s := range list {
		longest = max(longest, len(s.Name))
	}
	var rows [][]string
	for _, s := range list {
		title := s.Title
		if s.Trace != "" {
			title += " (replays " + s.Trace + ", which you fetch: its comment says where)"
		}
		rows = append(rows, []string{s.Name, text.WrapSoft(title, doc.Columns-longest-4)})
	}
	p.Table([]string{kind, "what it is"}, rows, 0, 1)
	return p
}

// LinkEntry is a line of the list of links: B/s in one direction, and seconds.
type LinkEntry struct {
	Name      string   `json:"name"`
	Aliases   []string `json:"aliases,omitempty"`
	Title     string   `json:"title"`
	Bandwidth float64  `json:"bandwidth"`
	Latency   float64  `json:"latency"`
	Port      string   `json:"port"`
}

// LinkList lists the links of a catalogue. Devices have ports of their own unless a node has one
// for all.
func LinkList(c hardware.Catalog) []LinkEntry {
	var list []LinkEntry
	for _, l := range c.Links {
		list = append(list, LinkEntry{l.Name, l.Aliases, l.Title, l.Bandwidth, l.Latency,
			cmp.Or(l.Port, "device")})
	}
	return list
}

// Links prints a list of links.
func Links(list []LinkEntry) (p doc.Blocks) {
	var rows [][]string
	for _, l := range list {
		rows = append(rows, []string{
			l.Name, units.FormatByteRate(l.Bandwidth), units.FormatDuration(l.Latency), l.Port,
			cmp.Or(l.Title, l.Name),
		})
	}
	p.Table([]string{"link", "bandwidth", "latency", "each", ""}, rows, 0, 3, 4)
	return p
}

// EngineEntry is a line of the list of engine presets; times are in seconds. Times of the host are
// for each step, and for each step and sequence.
type EngineEntry struct {
	Name         string  `json:"name"`
	Title        string  `json:"title"`
	Source       string  `json:"source"`
	Request      float64 `json:"request"`
	Step         float64 `json:"step"`
	Sequence     float64 `json:"sequence"`
	Layer        float64 `json:"layer"`
	HostStep     float64 `json:"host_step"`
	HostSequence float64 `json:"host_sequence"`
	Graph        int     `json:"graph"`
	Lookahead    int     `json:"lookahead"`
	Kernels      string  `json:"kernels,omitempty"`
}

// EngineList lists engine presets.
func EngineList(engines []steptime.Engine) []EngineEntry {
	var list []EngineEntry
	for i := range engines {
		e := &engines[i]
		list = append(list, EngineEntry{
			e.Name, e.Title, e.Source, float64(e.Request), float64(e.Step), float64(e.Sequence),
			float64(e.Layer),
			float64(e.HostStep), float64(e.HostSequence), e.Graph, e.Lookahead, e.Kernels,
		})
	}
	return list
}

// Engines prints a list of engine presets.
func Engines(list []EngineEntry) (p doc.Blocks) {
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{e.Name, units.FormatDuration(e.Request),
			units.FormatDuration(e.HostStep), units.Count(e.Graph), e.Title})
	}
	p.Table([]string{"engine", "a request", "host, a step", "graphs to", ""}, rows, 0, 4)
	return p
}

// Reuse is which share of the prompts of a trace caches of several sizes find.
type Reuse struct {
	*reuse.Curve
	Caches []ReuseCache `json:"caches"`
}

// ReuseCache is a cache of a number of blocks. Found is the share of all blocks of prompts that it
// finds if it keeps the blocks that were used last, and Bound what no cache of the size exceeds.
type ReuseCache struct {
	Blocks int     `json:"blocks"`
	Found  float64 `json:"found"`
	Bound  float64 `json:"bound"`
}

// NewReuse computes the shares for caches of the given sizes; without sizes, of parts of the number
// of different blocks.
func NewReuse(c *reuse.Curve, sizes []int) *Reuse {
	if len(sizes) == 0 {
		for part := 64; part > 0; part /= 2 {
			sizes = append(sizes, max(1, c.Distinct/part))
		}
		sizes = slices.Compact(sizes)
	}
	r, all := &Reuse{Curve: c}, float64(c.Blocks)
	for _, size := range sizes {
		r.Caches = append(r.Caches, ReuseCache{size, float64(c.Found(size)) / all,
			float64(c.Bound(size)) / all})
	}
	return r
}

// WriteText writes the shares as a table.
func (r *Reuse) WriteText(w io.Writer) error {
	var text strings.Builder
	blocks := "blocks"
	if r.BlockTokens > 0 {
		blocks += fmt.Sprintf(" of %d tokens", r.BlockTokens)
	}
	fmt.Fprintf(&text, "%d requests with %d %s, %d of them different. Blocks found:\n\n",
		r.Requests, r.Blocks, blocks, r.Distinct)
	fmt.Fprintf(&text, "%12s  %14s  %19s\n", "cache/blocks", "used last kept", "bound (used next)")
	for _, c := range r.Caches {
		fmt.Fprintf(&text, "%12d  %13.2f%%  %18.2f%%\n", c.Blocks, 100*c.Found, 100*c.Bound)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
