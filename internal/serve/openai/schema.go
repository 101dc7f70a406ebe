package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// object is a JSON object, such as a schema.
type object = map[string]any

// understood returns an error for a keyword that restricts values in a way that is not followed.
func understood(s object) error {
	for _, key := range []string{"not", "if", "patternProperties", "contains",
		"dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef"} {
		if _, found := s[key]; found {
			return fmt.Errorf("%s: this server cannot make up values for it", key)
		}
	}
	return nil
}

// parts orders schemas by what their instances may contain: nothing, items, properties, or what a
// reference says.
func parts(schema any) int {
	s, _ := schema.(object)
	switch {
	case s["$ref"] != nil || s["anyOf"] != nil || s["oneOf"] != nil || s["allOf"] != nil:
		return 3
	case kind(s, true) == "object":
		return 2
	case kind(s, true) == "array":
		return 1
	}
	return 0
}

// kind returns the type that s allows first, or, where a plain one is wanted, the first that has no
// parts. A schema without a type, but with keys of one, is of that type.
func kind(s object, plain bool) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		names := make([]string, 0, len(t))
		for _, name := range t {
			if name, ok := name.(string); ok {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if plain && name != "object" && name != "array" {
				return name
			}
		}
		if len(names) > 0 {
			return names[0]
		}
	}
	switch {
	case s["properties"] != nil || s["required"] != nil:
		return "object"
	case s["items"] != nil || s["prefixItems"] != nil:
		return "array"
	}
	return "string"
}

// least returns the smallest number that s allows and that is not below 1, or the largest if that
// is below.
func least(s object) float64 {
	value := 1.0
	if low, ok := number(s, "minimum"); ok {
		value = max(value, low)
	}
	if low, ok := number(s, "exclusiveMinimum"); ok {
		value = max(value, math.Floor(low)+1)
	}
	if high, ok := number(s, "maximum"); ok {
		value = min(value, high)
	}
	if high, ok := number(s, "exclusiveMaximum"); ok && value >= high {
		value = math.Ceil(high) - 1
	}
	if unit, ok := number(s, "multipleOf"); ok && unit > 0 {
		value = math.Ceil(value/unit) * unit
	}
	return value
}

func number(s object, key string) (float64, bool) {
	n, ok := s[key].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func integer(s object, key string, otherwise int) int {
	f, ok := number(s, key)
	if !ok {
		return otherwise
	}
	return int(min(max(f, 0), maxInstance+1))
}

// merge returns a with what b adds: properties and required are taken together, and of bounds the
// tighter one.
func merge(a object, b any) object {
	inner, ok := b.(object)
	if !ok {
		return a
	}
	out := make(object, len(a)+len(inner))
	for k, v := range inner {
		out[k] = v
	}
	for k, v := range a {
		switch old := out[k].(type) {
		case object:
			if k == "properties" {
				if mine, ok := v.(object); ok {
					v = merge(mine, old)
				}
			}
		case []any:
			if list, ok := v.([]any); ok && k == "required" {
				v = append(slices.Clone(list), old...)
			}
		case json.Number:
			mine, isNumber := number(a, k)
			other, _ := number(inner, k)
			lower := strings.HasPrefix(k, "min") || k == "exclusiveMinimum"
			upper := strings.HasPrefix(k, "max") || k == "exclusiveMaximum"
			if isNumber && (lower && mine < other || upper && mine > other) {
				v = old
			}
		}
		out[k] = v
	}
	return out
}

func without(s object, key string) object {
	out := make(object, len(s))
	for k, v := range s {
		if k != key {
			out[k] = v
		}
	}
	return out
}
