package trace

import (
	"bytes"
	"fmt"
	"strings"
)

// format is a kind of trace file.
type format struct {
	name string
	// fits reports whether a file has this format, by its first line.
	fits func(head []byte) bool
	// open returns a decoder for a file at its start.
	open func(f *file, o Options, c *Counts) (decoder, error)
}

// formats lists the formats that can be read. The first one that fits is taken.
func formats() []format {
	list := []format{
		{"bailian", fitsBailian, newBailian}, // whose rows have all keys of Mooncake's
		{"mooncake", fitsMooncake, newMooncake},
		{"weka", fitsWeka, newWeka},
		{"otel", fitsOTel, newOTel},
		{"tracelab-rounds", fitsTracelabRounds, newTracelabRounds},
		{"sharegpt", fitsShareGPT, newShareGPT}, // which takes any other JSON
	}
	list = append(list, format{"tracelab", fitsTracelab, newTracelab},
		format{"servegen", fitsServegen, newServegen})
	for _, layout := range layouts() {
		list = append(list, format{layout.name, layout.fits, layout.open})
	}
	return list
}

// Formats returns the names of the formats.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// findFormat returns the format with the given name, or the one that fits the file where name is
// empty.
func findFormat(f *file, name string) (format, error) {
	head, err := f.head()
	if err != nil {
		return format{}, err
	}
	for _, candidate := range formats() {
		if candidate.name == name || (name == "" && candidate.fits(head)) {
			return candidate, nil
		}
	}
	if name != "" {
		return format{}, fmt.Errorf("trace format: found %.80q, allowed: %s", name,
			strings.Join(Formats(), ", "))
	}
	if len(head) > 60 {
		head = append(bytes.Clone(head[:60]), "…"...)
	}
	return format{}, fmt.Errorf(
		"%s: found no known trace format in its first line %q, allowed: %s (columns and keys: "+
			"see workload/trace)", f.path, head, strings.Join(Formats(), ", "))
}
