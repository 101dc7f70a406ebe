package openai

import (
	"encoding/json"
	"math"
	"slices"
)

// object is a JSON object, such as a schema.
type object = map[string]any

// kind returns the type that s allows first; a schema that says none but what belongs to one is of
// that type.
func kind(s object) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			name, _ := t[0].(string)
			return name
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

// merge returns a with what b adds: properties and required are taken together.
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
