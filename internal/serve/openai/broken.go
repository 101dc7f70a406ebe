package openai

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"unicode/utf8"
)

// broken returns the keyword of a schema that a value breaks, and an empty text for a value that
// the schema accepts. Formats restrict nothing (JSON Schema 2020-12, validation, 7.2.1). The value
// is as encoding/json decodes it. The error names a keyword that is not understood.
func (m *maker) broken(schema, value any, depth int) (string, error) {
	if m.steps++; m.steps > maxSteps || depth > maxDepth {
		return "", errTooLarge
	}
	s, ok := schema.(object)
	if !ok {
		if schema == false {
			return "false", nil
		}
		return "", nil
	}
	if err := understood(s); err != nil {
		return "", err
	}
	if ref, ok := s["$ref"].(string); ok {
		target, err := m.find(ref)
		if err != nil {
			return "", err
		}
		if broken, err := m.broken(target, value, depth+1); broken != "" || err != nil {
			return broken, err
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, ok := s[key].([]any)
		accepting := 0
		for _, part := range list {
			broken, err := m.broken(part, value, depth+1)
			if err != nil || broken != "" && key == "allOf" {
				return broken, err
			}
			if broken == "" {
				accepting++
			}
		}
		if ok && (key == "anyOf" && accepting == 0 || key == "oneOf" && accepting != 1) {
			return key, nil
		}
	}
	equals := func(fixed any) bool { return reflect.DeepEqual(plain(fixed), value) }
	if fixed, found := s["const"]; found && !equals(fixed) {
		return "const", nil
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, equals) {
		return "enum", nil
	}
	types, ok := s["type"].([]any)
	if one, single := s["type"].(string); single {
		types, ok = []any{one}, true
	}
	if ok && !slices.ContainsFunc(types, func(t any) bool { return isOf(value, t) }) {
		return "type", nil
	}
	switch v := value.(type) {
	case string:
		return brokenText(s, v), nil
	case float64:
		return brokenNumber(s, v), nil
	case []any:
		return m.brokenItems(s, v, depth)
	case object:
		return m.brokenProperties(s, v, depth)
	}
	return "", nil
}

// isOf reports whether a value is of a type.
func isOf(value, kind any) bool {
	switch v := value.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && v == math.Trunc(v)
	case []any:
		return kind == "array"
	}
	return kind == "object"
}

// outside returns the bound that a number of things breaks.
func outside(s object, n int, least, most string) string {
	switch {
	case n < integer(s, least, 0):
		return least
	case n > integer(s, most, n):
		return most
	}
	return ""
}

func brokenText(s object, text string) string {
	if pattern, ok := s["pattern"].(string); ok {
		if found, err := regexp.MatchString(pattern, text); err != nil || !found {
			return "pattern"
		}
	}
	return outside(s, utf8.RuneCountInString(text), "minLength", "maxLength")
}

func brokenNumber(s object, v float64) string {
	low, hasLow := number(s, "minimum")
	above, hasAbove := number(s, "exclusiveMinimum")
	high, hasHigh := number(s, "maximum")
	below, hasBelow := number(s, "exclusiveMaximum")
	unit, hasUnit := number(s, "multipleOf")
	times := v / unit
	switch {
	case hasLow && v < low:
		return "minimum"
	case hasAbove && v <= above:
		return "exclusiveMinimum"
	case hasHigh && v > high:
		return "maximum"
	case hasBelow && v >= below:
		return "exclusiveMaximum"
	case hasUnit && unit > 0 && math.Abs(times-math.Round(times)) > 1e-9*max(1, math.Abs(times)):
		return "multipleOf"
	}
	return ""
}

func (m *maker) brokenItems(s object, list []any, depth int) (string, error) {
	first, _ := s["prefixItems"].([]any)
	for i, item := range list {
		schema := s["items"]
		if i < len(first) {
			schema = first[i]
		}
		if broken, err := m.broken(schema, item, depth+1); broken != "" || err != nil {
			return broken, err
		}
		if s["uniqueItems"] == true && slices.ContainsFunc(list[:i],
			func(other any) bool { return reflect.DeepEqual(item, other) }) {
			return "uniqueItems", nil
		}
	}
	return outside(s, len(list), "minItems", "maxItems"), nil
}

func (m *maker) brokenProperties(s, value object, depth int) (string, error) {
	required, _ := s["required"].([]any)
	for _, r := range required {
		if name, ok := r.(string); ok {
			if _, found := value[name]; !found {
				return "required", nil
			}
		}
	}
	properties, _ := s["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		schema, named := properties[name]
		if !named {
			schema = s["additionalProperties"]
		}
		broken, err := m.broken(s["propertyNames"], name, depth+1)
		if broken != "" {
			broken = "propertyNames"
		} else if err == nil {
			broken, err = m.broken(schema, value[name], depth+1)
		}
		if !named && broken == "false" {
			broken = "additionalProperties"
		}
		if broken != "" || err != nil {
			return broken, err
		}
	}
	return outside(s, len(value), "minProperties", "maxProperties"), nil
}

// plain returns a value as encoding/json decodes it from its JSON.
func plain(v any) (decoded any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &decoded)
	}
	if err != nil {
		return nil // of no JSON, which schemas and their instances are
	}
	return decoded
}
