package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// config is an object of a config.json: the whole file or a section of it. Reading methods mark the
// keys that they ask for. The top object keeps the first mistake in err; after it, reads return
// zero values.
type config struct {
	values   map[string]any
	warnings []string
	err      error
	// outer is the object that has this section, and path the section's name there; outer is nil at
	// the top.
	outer *config
	path  string
	// used has the keys that were asked for, and sections the objects that were read, by key.
	used     map[string]bool
	sections map[string]*config
}

// newConfig returns the fields of an object.
func newConfig(values map[string]any) *config {
	return &config{values: values, used: map[string]bool{}, sections: map[string]*config{}}
}

// find returns the value of the first spelling that is there and not null.
func (c *config) find(spellings ...string) (name string, value any, found bool) {
	for _, s := range spellings {
		if v, ok := c.values[s]; ok && v != nil {
			if c.used[s] = true; !found {
				name, value, found = s, v, true
			}
		}
	}
	return name, value, found
}

// section returns the fields of a nested object, or of an empty one.
func (c *config) section(spellings ...string) *config {
	name, value, found := c.find(spellings...)
	if known := c.sections[name]; found && known != nil {
		return known
	}
	values, ok := value.(map[string]any)
	if found && !ok {
		c.fail("%s: found %s, want an object", name, describe(value))
	}
	inner := newConfig(values)
	inner.outer, inner.path = c, name
	if found && ok {
		c.sections[name] = inner
	}
	return inner
}

// assume sets fields that are absent; fields that are null stay so.
func (c *config) assume(defaults map[string]any) {
	for name, value := range defaults {
		if _, ok := c.values[name]; !ok {
			c.values[name] = value
			c.markRead(name)
		}
	}
}

// top returns the whole file that has the section c.
func (c *config) top() *config {
	for c.outer != nil {
		c = c.outer
	}
	return c
}

// fail keeps the first mistake.
func (c *config) fail(format string, args ...any) {
	if c.outer != nil {
		c.outer.fail("%s: %w", c.path, fmt.Errorf(format, args...))
		return
	}
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// warn keeps a warning.
func (c *config) warn(format string, args ...any) {
	c = c.top()
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// need returns a whole number that must be there.
func (c *config) need(spellings ...string) int {
	if _, _, found := c.find(spellings...); !found {
		c.failMissing(spellings)
		return 0
	}
	return c.count(0, spellings...)
}

// failMissing says which field is missing, how else it may be spelt, and which field looks like a
// misspelling of it.
func (c *config) failMissing(spellings []string) {
	message := spellings[0] + " is missing"
	if len(spellings) > 1 {
		message += " (also known as " + strings.Join(spellings[1:], ", ") + ")"
	}
	names := slices.Sorted(maps.Keys(c.values))
	if near := nearest.Names(spellings[0], names); len(near) > 0 {
		message += "; is " + near[0] + " a misspelling of it?"
	}
	c.fail("%s", message)
}

// count returns a whole number, 0 to 2³¹−1, or the given value where no spelling is there.
// Spellings that are there must agree.
func (c *config) count(otherwise int, spellings ...string) int {
	name, value, found := c.find(spellings...)
	if !found {
		return otherwise
	}
	n := c.whole(name, value)
	for _, other := range spellings {
		if v, there := c.values[other]; there && v != nil && other != name {
			if m := c.whole(other, v); m != n {
				c.fail("%s is %d, but %s is %d", name, n, other, m)
			}
		}
	}
	return n
}

// whole returns the value of a key as a whole number.
func (c *config) whole(name string, value any) int {
	switch v := value.(type) {
	case int:
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil && n >= 0 && n <= math.MaxInt32 {
			return int(n)
		}
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && f >= 0 && f <= math.MaxInt32 {
			return int(f)
		}
	}
	c.fail("%s: found %s, want a whole number from 0 to %d", name, describe(value), math.MaxInt32)
	return 0
}

// number returns a number, or the given value where it is not there.
func (c *config) number(otherwise float64, name string) float64 {
	_, value, found := c.find(name)
	if !found {
		return otherwise
	}
	if v, ok := value.(json.Number); ok {
		if f, err := v.Float64(); err == nil {
			return f
		}
	}
	c.fail("%s: found %s, want a number", name, describe(value))
	return 0
}

// flag returns a truth value, or the given one where no spelling is there.
func (c *config) flag(otherwise bool, spellings ...string) bool {
	name, value, found := c.find(spellings...)
	if !found {
		return otherwise
	}
	v, ok := value.(bool)
	if !ok {
		c.fail("%s: found %s, want true or false", name, describe(value))
	}
	return v
}

// text returns a string, or "" where no spelling is there.
func (c *config) text(spellings ...string) string {
	name, value, found := c.find(spellings...)
	if !found {
		return ""
	}
	v, ok := value.(string)
	if !ok {
		c.fail("%s: found %s, want a string", name, describe(value))
	}
	return v
}

// firstCount returns the whole number of the first spelling that is there; others may differ.
func (c *config) firstCount(otherwise int, spellings ...string) int {
	if name, value, found := c.find(spellings...); found {
		return c.whole(name, value)
	}
	return otherwise
}

// markRead marks keys as understood. They change no cost.
func (c *config) markRead(names ...string) {
	for _, n := range names {
		c.used[n] = true
	}
}

// has reports whether a key is there and not null.
func (c *config) has(name string) bool {
	_, _, found := c.find(name)
	return found
}

// counts returns a list of whole numbers, or nil where the key is not there.
func (c *config) counts(name string) []int {
	var ns []int
	for i, v := range c.list(name) {
		n, ok := v.(json.Number)
		whole, err := n.Int64()
		if !ok || err != nil || whole < -1 || whole > math.MaxInt32 {
			c.fail("%s: element %d: found %s, want a whole number", name, i, describe(v))
			return nil
		}
		ns = append(ns, int(whole))
	}
	return ns
}

// words returns a list of strings, or nil where the key is not there.
func (c *config) words(name string) []string {
	var ws []string
	for i, v := range c.list(name) {
		w, ok := v.(string)
		if !ok {
			c.fail("%s: element %d: found %s, want a string", name, i, describe(v))
			return nil
		}
		ws = append(ws, w)
	}
	return ws
}

// list returns the elements of a list, or nil where it is not there.
func (c *config) list(name string) []any {
	_, value, found := c.find(name)
	if !found {
		return nil
	}
	v, ok := value.([]any)
	if !ok {
		c.fail("%s: found %s, want a list", name, describe(value))
	}
	return v
}

// describe says what a JSON value is, in a few words.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case json.Number:
		return v.String()
	case string:
		return fmt.Sprintf("%.40q", v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprint(v)
	}
}
