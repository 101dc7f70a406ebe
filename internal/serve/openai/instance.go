package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Words makes up text: the i-th word.
type Words func(i int) string

// Instance makes up a JSON value that a schema allows. It understands what tool calls and
// structured outputs use: type, properties, required, items, enum, const, anyOf, oneOf, allOf,
// $ref within the schema, bounds of numbers, lengths, pattern, uniqueItems, names and numbers of
// properties, and the formats that OpenAI lists. It refuses other keywords that restrict values,
// and those that the made value breaks, by name. The error is an *Error.
func Instance(schema json.RawMessage, words Words) ([]byte, error) {
	if absent(schema) {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, Invalid("schema", "schema: not JSON: %v", err)
	}
	m := &maker{root: root, words: words}
	value, err := m.value(root, 0)
	if err != nil {
		return nil, Invalid("schema", "schema: %v", err)
	}
	m.steps = 0
	if broken, err := m.broken(root, plain(json.RawMessage(value)), 0); err == nil && broken != "" {
		return nil, Invalid("schema", "schema: %s: this server makes up no value that keeps it",
			broken)
	}
	return value, nil
}

// Bounds on what a schema may make.
const (
	maxDepth    = 32
	maxInstance = 1 << 16 // bytes
	maxSteps    = 1 << 14
	// optionalDepth is where properties that are not required are left out, so that types which
	// contain themselves end.
	optionalDepth = 5
)

// maker makes one instance.
type maker struct {
	root  any
	words Words
	next  int // the next word
	size  int // of what was made, in bytes
	steps int // schemas looked at
}

var errTooLarge = errors.New("its instances are too deep or too large")

func (m *maker) value(schema any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errTooLarge
	}
	s, ok := schema.(object)
	if !ok {
		if schema == false {
			return nil, errors.New("it allows nothing")
		}
		s = object{}
	}
	s, err := m.resolve(s, depth)
	if err != nil {
		return nil, err
	}
	if err := understood(s); err != nil {
		return nil, err
	}
	if fixed, ok := s["const"]; ok {
		return m.literal(fixed)
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return m.literal(list[0])
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return m.alternative(s, key, list, depth+1)
		}
	}
	switch kind(s, depth >= optionalDepth) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, depth)
	case "integer":
		return m.literal(json.Number(strconv.FormatFloat(math.Ceil(least(s)), 'f', 0, 64)))
	case "number":
		return m.literal(json.Number(strconv.FormatFloat(least(s), 'g', -1, 64)))
	case "boolean":
		return m.literal(true)
	case "null":
		return m.literal(nil)
	}
	text, err := m.text(s)
	if err != nil {
		return nil, err
	}
	return m.literal(text)
}

// alternative makes an instance of the first alternative of anyOf or oneOf that has a small one;
// with oneOf, one that the other alternatives do not accept. Far down, alternatives without parts
// come first, so that types which contain themselves end.
func (m *maker) alternative(s object, key string, list []any, depth int) (value []byte, err error) {
	if depth > optionalDepth {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b any) int { return cmp.Compare(parts(a), parts(b)) })
	}
	for _, one := range list {
		made, failed := m.value(merge(without(s, key), one), depth)
		broken := ""
		if failed == nil && key == "oneOf" {
			broken, failed = m.broken(object{key: list}, plain(json.RawMessage(made)), depth)
		}
		if errors.Is(failed, errTooLarge) {
			err = failed
		} else if failed != nil || broken == "" {
			return made, failed
		}
	}
	return nil, cmp.Or(err, errors.New(key+": this server makes up no value that one alternative "+
		"alone accepts"))
}

// resolve follows references and takes the parts of allOf together.
func (m *maker) resolve(s object, depth int) (object, error) {
	if m.steps++; m.steps > maxSteps {
		return nil, errTooLarge
	}
	for range maxDepth {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		target, err := m.find(ref)
		if err != nil {
			return nil, err
		}
		s = merge(without(s, "$ref"), target)
	}
	all, ok := s["allOf"].([]any)
	if !ok || depth > maxDepth {
		return s, nil
	}
	s = without(s, "allOf")
	for _, part := range all {
		inner, ok := part.(object)
		if !ok {
			continue
		}
		inner, err := m.resolve(inner, depth+1)
		if err != nil {
			return nil, err
		}
		s = merge(s, inner)
	}
	return s, nil
}

// find returns what a reference within the schema points to (RFC 6901).
func (m *maker) find(ref string) (any, error) {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, fmt.Errorf("$ref: found %q, allowed: references within the schema",
			shorten(ref))
	}
	at := m.root
	for _, key := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if key == "" {
			continue
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		inner, ok := at.(object)
		if !ok || inner[key] == nil {
			return nil, fmt.Errorf("$ref: found %q, which is not there", shorten(ref))
		}
		at = inner[key]
	}
	return at, nil
}

func (m *maker) object(s object, depth int) ([]byte, error) {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	var names []string
	for name := range properties {
		if depth < optionalDepth || slices.Contains(required, any(name)) {
			names = append(names, name)
		}
	}
	for _, r := range required {
		if name, ok := r.(string); ok && properties[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if rule, found := s["propertyNames"]; found {
		for _, name := range slices.Clone(names) {
			broken, err := m.broken(rule, name, depth+1)
			if err != nil {
				return nil, err
			}
			if broken != "" && !slices.Contains(required, any(name)) {
				names = slices.DeleteFunc(names, func(n string) bool { return n == name })
			}
		}
	}
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ", "...)
		}
		property, named := properties[name]
		if !named {
			property = s["additionalProperties"]
		}
		value, err := m.value(property, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, quote(name)...), ": "...), value...)
	}
	return m.charge(append(out, '}'))
}

func (m *maker) array(s object, depth int) ([]byte, error) {
	n := max(integer(s, "minItems", 1), 0)
	if most := integer(s, "maxItems", n); most < n {
		n = most
	}
	if depth >= optionalDepth {
		n = integer(s, "minItems", 0)
	}
	if n > maxInstance {
		return nil, errTooLarge
	}
	first, _ := s["prefixItems"].([]any)
	out := []byte{'['}
	for i := range max(n, len(first)) {
		if i > 0 {
			out = append(out, ", "...)
		}
		item := s["items"]
		if i < len(first) {
			item = first[i]
		}
		value, err := m.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	return m.charge(append(out, ']'))
}

// text makes up a string of the pattern, or of the format and length, that s says.
func (m *maker) text(s object) (string, error) {
	least := integer(s, "minLength", 0)
	most := integer(s, "maxLength", maxInstance)
	if pattern, ok := s["pattern"].(string); ok {
		text, err := matching(pattern)
		if n := utf8.RuneCountInString(text); err == nil && (n < least || n > most) {
			err = fmt.Errorf("pattern: found %q, for which this server makes up a text of %d "+
				"characters, outside minLength and maxLength", shorten(pattern), n)
		}
		return text, err
	}
	if format, ok := s["format"].(string); ok {
		shapes := shapesOf(format)
		for _, f := range shapes {
			fixed := len(f.head) + len(f.tail)
			n := max(f.least, least-fixed)
			if n <= f.most && fixed+n <= most {
				return f.head + strings.Repeat(f.fill, n) + f.tail, nil
			}
		}
		if len(shapes) > 0 {
			return "", fmt.Errorf("format: found %q, for which this server makes up no text of "+
				"minLength to maxLength characters", format)
		}
	}
	text := strings.TrimSpace(m.word() + m.word())
	for len(text) < least && len(text) < maxInstance {
		text += m.word()
	}
	return text[:min(len(text), max(most, 0))], nil
}

// shape is a form of texts: head, least to most times fill (a character), and tail.
type shape struct {
	head, fill, tail string
	least, most      int
}

// shapesOf returns forms of a format's texts, the usual one first; nothing where the format is
// unknown. Labels of hosts have at most 63 characters, and local parts of addresses 64.
func shapesOf(format string) []shape {
	plain := func(text string) shape { return shape{head: text} }
	switch format {
	case "date-time":
		return []shape{plain("2026-01-02T03:04:05Z"),
			{"2026-01-02T03:04:05.", "0", "Z", 1, maxInstance}}
	case "date":
		return []shape{plain("2026-01-02")}
	case "time":
		return []shape{plain("03:04:05Z"), {"03:04:05.", "0", "Z", 1, maxInstance}}
	case "duration":
		return []shape{plain("PT1M"), {"P", "1", "D", 1, maxInstance}}
	case "email":
		return []shape{plain("someone@example.com"), {"", "a", "@b.io", 1, 64}}
	case "hostname":
		return []shape{plain("example.com"), {"", "a", "", 1, 63}}
	case "ipv4":
		return []shape{plain("192.0.2.1"), {"1.1.1.", "1", "", 1, 3}, {"1.1.111.", "1", "", 1, 3},
			{"1.111.111.", "1", "", 1, 3}, {"111.111.111.", "1", "", 1, 3}}
	case "ipv6":
		shapes := []shape{plain("2001:db8::1")}
		for groups := range 7 {
			shapes = append(shapes, shape{strings.Repeat("1111:", groups) +
				strings.Repeat(":", 1+max(0, 1-groups)), "1", "", 0, 4})
		}
		return append(shapes, shape{strings.Repeat("1111:", 7), "1", "", 1, 4})
	case "uuid":
		return []shape{plain("00000000-0000-4000-8000-000000000000")}
	case "uri":
		return []shape{plain("https://example.com/"), {"a:", "a", "", 1, maxInstance}}
	}
	return nil
}

func (m *maker) word() string {
	m.next++
	return m.words(m.next - 1)
}

func (m *maker) literal(v any) ([]byte, error) {
	out, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return m.charge(out)
}

// charge counts bytes, so that no schema makes values without end.
func (m *maker) charge(out []byte) ([]byte, error) {
	if m.size += len(out); m.size > 8*maxInstance {
		return nil, errTooLarge
	}
	return out, nil
}

func quote(s string) []byte {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings marshal
	}
	return out
}
