package strict

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/nearest"
)

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
