package strict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/internal/nearest"
)

// field is one key of a struct, as its tags describe it.
type field struct {
	name  string
	index []int
	short bool
	rest  bool
	omit  bool // leave out where it is zero
	rule  rule
}

// rule says which values a field may have.
type rule struct {
	tag reflect.StructTag
}

// fields lists the keys of a struct in their order. The keys of an embedded struct without a name
// are keys of the struct around it.
func fields(t reflect.Type) []field {
	list := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Tag.Get("json") == "" && f.Type.Kind() == reflect.Struct {
			for _, inner := range fields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				list = append(list, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		unnamed := name == "" || name == "-"
		rest := unnamed && f.Tag.Get("rest") == "true"
		if !f.IsExported() || unnamed && !rest {
			continue
		}
		list = append(list, field{
			name: name, index: f.Index, rest: rest, rule: rule{f.Tag},
			short: f.Tag.Get("short") == "true", omit: strings.Contains(options, "omit"),
		})
	}
	return list
}

// find returns the field with the key, or the one that takes the rest.
func find(list []field, name string) (field, bool) {
	for _, f := range list {
		if f.name == name && !f.rest {
			return f, true
		}
	}
	i := slices.IndexFunc(list, func(f field) bool { return f.rest })
	if i < 0 {
		return field{}, false
	}
	return list[i], true
}

// shortField returns the field that a scalar sets.
func shortField(list []field) (field, bool) {
	i := slices.IndexFunc(list, func(f field) bool { return f.short })
	if i < 0 {
		return field{}, false
	}
	return list[i], true
}

func names(list []field) []string {
	var keys []string
	for _, f := range list {
		if !f.rest {
			keys = append(keys, f.name)
		}
	}
	return keys
}

// kindOf returns the key that decides which others apply, and its word. Both are empty if there is
// no such key.
func kindOf(list []field, v reflect.Value) (key, word string) {
	for _, f := range list {
		if f.rule.tag.Get("kind") == "true" {
			if word = v.FieldByIndex(f.index).String(); word == "" {
				word = f.rule.words("enum")[0]
			}
			return f.name, word
		}
	}
	return "", ""
}

// required reports whether the field must be given beside those keys.
func (r rule) required(keys map[string]*yaml.Node) bool {
	when := r.tag.Get("required")
	other, alternative := strings.CutPrefix(when, "unless ")
	return when == "true" || alternative && keys[other] == nil
}

// words returns the comma-separated words of a tag.
func (r rule) words(tag string) []string {
	if words := r.tag.Get(tag); words != "" {
		return strings.Split(words, ",")
	}
	return nil
}

// checkWord describes what is wrong with a word, or "".
func (r rule) checkWord(word string) string {
	allowed := r.words("enum")
	if len(allowed) == 0 || slices.Contains(allowed, word) {
		return ""
	}
	if near := nearest.Names(word, allowed); len(near) > 0 {
		return fmt.Sprintf("found %s; did you mean %s?", quote(word), strings.Join(near, " or "))
	}
	return fmt.Sprintf("found %s; want one of %s", quote(word), strings.Join(allowed, ", "))
}

// checkNumber describes what is wrong with a number, or "". Text is the number as it was written.
func (r rule) checkNumber(x float64, text string) string {
	for _, limit := range []struct {
		tag, words string
		holds      func(limit float64) bool
	}{
		{"min", "at least", func(l float64) bool { return x >= l }},
		{"above", "more than", func(l float64) bool { return x > l }},
		{"max", "at most", func(l float64) bool { return x <= l }},
		{"below", "less than", func(l float64) bool { return x < l }},
	} {
		bound := r.tag.Get(limit.tag)
		if bound == "" {
			continue
		}
		if l, err := strconv.ParseFloat(bound, 64); err != nil || !limit.holds(l) {
			return fmt.Sprintf("found %s; must be %s %s", text, limit.words, bound)
		}
	}
	return ""
}

// Setting is a field of a struct of settings, as its tags describe it.
type Setting struct {
	Name, Doc, Default string
	// Words are the allowed words; nil for other values.
	Words []string
	Type  reflect.Type
	Tag   reflect.StructTag
	// Index is the place of the field, for reflect.Value.FieldByIndex.
	Index []int
}

// Settings lists the fields of a struct of settings. What an engine calls a setting is in brackets
// behind the first part of its meaning.
func Settings(t reflect.Type) []Setting {
	if list, ok := listed.Load(t); ok {
		return slices.Clone(list.([]Setting))
	}
	var list []Setting
	for _, f := range fields(t) {
		tag := f.rule.tag
		doc, more, divided := strings.Cut(tag.Get("jsonschema"), ";")
		if name := tag.Get("engine"); name != "" {
			doc += " (" + name + ")"
		}
		if divided {
			doc += ";" + more
		}
		list = append(list, Setting{f.name, doc, tag.Get("default"), f.rule.words("enum"),
			t.FieldByIndex(f.index).Type, tag, f.index})
	}
	listed.Store(t, slices.Clone(list))
	return list
}

// listed has the lists that Settings made, by type: to read tags takes longer than to copy a list.
var listed sync.Map

// FillSettings sets the fields of the struct that into points to: each to its text in written, or
// else to its default. Numbers are 0 or more unless tags say otherwise, and whole numbers less than
// 2^40. What is wrong is a Problem whose path is the key.
func FillSettings(into any, list []Setting, written map[string]string) error {
	v := reflect.ValueOf(into).Elem()
	names := make([]string, len(list))
	for i := range list {
		s := &list[i]
		names[i] = s.Name
		text, given := written[s.Name]
		if !given {
			text = s.Default
		}
		tag := s.Tag
		if tag.Get("min") == "" && tag.Get("above") == "" {
			tag += ` min:"0"`
		}
		switch s.Type.Kind() {
		case reflect.Int:
			tag += ` max:"1099511627775"`
		case reflect.Bool:
			if on, err := strconv.ParseBool(text); err == nil {
				text = strconv.FormatBool(on)
			}
		}
		if wrong := setScalar(text, v.FieldByIndex(s.Index), rule{tag}); wrong != "" {
			return Problem{Path: s.Name, Message: wrong}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if !slices.Contains(names, name) {
			return Problem{Path: name, Message: nearest.Unknown("parameter", name, names)}
		}
	}
	return nil
}
