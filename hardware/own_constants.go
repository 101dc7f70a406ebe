package hardware

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/units"
)

// constants adds the key for constants that a user fitted to an accelerator, in the format of the
// program's own files. Constants that are left out follow from the data sheet: efficiencies of 1
// and no fixed times.
func (f *form) constants(key string, to **Constants) {
	f.fields[key] = func(path string, value node) error {
		c := Roofline()
		c.Fit = Fit{Source: f.source}
		table := newForm(f.file, path, f.source, map[string]string{})
		table.group("fit", func(g *form) {
			g.text("source", &c.Fit.Source)
			g.text("date", &c.Fit.Date)
			g.count("rows", &c.Fit.Rows)
			g.figure("error", &c.Fit.Error, units.ParseFraction)
		})
		table.figure("host", &c.Host, positive(number))
		table.group("linear", func(g *form) {
			g.fractions("compute", c.Linear.Compute)
			g.fraction("memory", &c.Linear.Memory)
			g.seconds("kernel", &c.Linear.Kernel)
			g.figure("overlap", &c.Linear.Overlap, positive(number))
			g.count("tile", &c.Linear.Tile)
		})
		table.group("elementwise", func(g *form) {
			g.seconds("kernel", &c.Elementwise.Kernel)
			g.fraction("memory", &c.Elementwise.Memory)
		})
		table.group("attention", func(g *form) {
			g.seconds("decode_kernel", &c.Attention.DecodeKernel)
			g.fraction("decode_memory", &c.Attention.DecodeMemory)
			g.fraction("decode_narrow", &c.Attention.DecodeNarrow)
			g.fraction("decode_compute", &c.Attention.DecodeCompute)
			g.fraction("latent_compute", &c.Attention.LatentCompute)
			g.seconds("prefill_kernel", &c.Attention.PrefillKernel)
			g.fraction("prefill_compute", &c.Attention.PrefillCompute)
			g.fraction("prefill_memory", &c.Attention.PrefillMemory)
			g.figure("prefill_tail", &c.Attention.PrefillTail, number)
		})
		table.group("head", func(g *form) {
			g.seconds("kernel", &c.Head.Kernel)
			g.figure("passes", &c.Head.Passes, number)
		})
		if err := table.read(value); err != nil {
			return err
		}
		*to = &c
		return nil
	}
}

// group adds a key whose value is a table with keys of its own.
func (f *form) group(key string, keys func(*form)) {
	f.fields[key] = func(path string, value node) error {
		table := newForm(f.file, path, f.source, f.sources)
		keys(table)
		return table.read(value)
	}
}

// fraction adds a key whose value is a share of a figure of the data sheet.
func (f *form) fraction(key string, to *float64) {
	f.figure(key, to, positive(units.ParseFraction))
}

// fractions adds a key whose value is a table of shares by number format.
func (f *form) fractions(key string, to map[DType]float64) {
	f.fields[key] = func(path string, value node) error {
		table := newForm(f.file, path, f.source, f.sources)
		for _, dtype := range dtypes() {
			table.fields[string(dtype)] = func(path string, value node) error {
				share := to[dtype]
				err := table.readFigure(key+"."+string(dtype), &share,
					positive(units.ParseFraction), path, value)
				to[dtype] = share
				return err
			}
		}
		return table.read(value)
	}
}

// seconds adds a key whose value is a span of time.
func (f *form) seconds(key string, to *Seconds) {
	f.figure(key, (*float64)(to), units.ParseDuration)
}

// number reads a plain number of 0 or more; infinity is one too.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) {
		return 0, fmt.Errorf("found %q, want a number of 0 or more such as 2.5", s)
	}
	return v, nil
}

// clone returns a copy that shares no memory with c; nil for nil.
func (c *Constants) clone() *Constants {
	if c == nil {
		return nil
	}
	d := *c
	d.Experts.Served = slices.Clone(c.Experts.Served)
	d.Linear.Compute, d.Experts.Compute = maps.Clone(c.Linear.Compute),
		maps.Clone(c.Experts.Compute)
	return &d
}

// own returns the constants of the entry of a, under the name of a.
func (a *Accelerator) own() (Constants, bool) {
	if a.Constants == nil {
		return Constants{}, false
	}
	c := *a.Constants.clone()
	c.Accelerator = a.Name
	return c, true
}
