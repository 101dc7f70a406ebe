package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// maxConfigBytes is the longest config.json that is read; real ones have a few thousand bytes.
const maxConfigBytes = 1 << 20

// config is the fields of a config.json. The first mistake found is kept in err, and later reads return zero values.
type config struct {
	values   map[string]any
	warnings []string
	err      error
	// outer is what this is a section of, and path its name there; nil at the top. Mistakes are kept at the top.
	outer *config
	path  string
}

// readConfig reads one JSON object.
func readConfig(r io.Reader) (*config, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfigBytes {
		return nil, fmt.Errorf("more than %d bytes: not a config.json", maxConfigBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return nil, describeJSONError(data, err)
	}
	if values == nil {
		return nil, errors.New("found null, want a JSON object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("line %d: found more after the JSON object", lineAt(data, d.InputOffset()))
	}
	return &config{values: values}, nil
}

// describeJSONError says in which line the JSON is wrong.
func describeJSONError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("found %s, want a JSON object", kind.Value)
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: the file ends inside the JSON object", lineAt(data, int64(len(data))))
	default:
		return err
	}
}

// lineAt returns the number, from 1, of the line that has the byte at the offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// find returns the value of the first spelling that is there and not null.
func (c *config) find(spellings ...string) (name string, value any, found bool) {
	for _, s := range spellings {
		if v, ok := c.values[s]; ok && v != nil {
			return s, v, true
		}
	}
	return "", nil, false
}

// section returns the fields of a nested object, or of an empty one.
func (c *config) section(spellings ...string) *config {
	name, value, found := c.find(spellings...)
	values, ok := value.(map[string]any)
	if found && !ok {
		c.fail("%s: found %s, want an object", name, describe(value))
	}
	return &config{values: values, outer: c, path: name}
}

// assume sets fields that are absent; those that are null stay so.
func (c *config) assume(defaults map[string]any) {
	for name, value := range defaults {
		if _, ok := c.values[name]; !ok {
			c.values[name] = value
		}
	}
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

// failMissing says which field is missing, how else it may be spelt, and which field looks like a misspelling of it.
func (c *config) failMissing(spellings []string) {
	message := spellings[0] + " is missing"
	if len(spellings) > 1 {
		message += " (also known as " + strings.Join(spellings[1:], ", ") + ")"
	}
	names := make([]string, 0, len(c.values))
	for name := range c.values {
		names = append(names, name)
	}
	if near := nearest(spellings[0], names, 1); len(near) > 0 {
		message += "; is " + near[0] + " a misspelling of it?"
	}
	c.fail("%s", message)
}

// count returns a whole number, 0 to 2³¹−1, or the given value where no spelling is there.
func (c *config) count(otherwise int, spellings ...string) int {
	name, value, found := c.find(spellings...)
	if !found {
		return otherwise
	}
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
