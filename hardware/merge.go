package hardware

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/llmsim/llmsim/internal/nearest"

	"gopkg.in/yaml.v3"
)

// file is one parsed catalogue file.
type file struct {
	name string
	// source is the source of figures that do not name their own; "" if each figure must name its
	// own.
	source string
	root   *yaml.Node
}

// sections are the keys of a file. Links are read before the accelerators that name them.
func sections() []string { return []string{"links", "hosts", "accelerators"} }

// parseFile reads a file and checks its outermost keys.
func parseFile(name, source string, data []byte) (file, error) {
	root, err := parseYAML(name, data)
	if err != nil {
		return file{}, err
	}
	if root.Kind != yaml.MappingNode {
		return file{}, fmt.Errorf("%s:%d: found %s, want the keys %s", name, root.Line,
			describe(root), strings.Join(sections(), ", "))
	}
	for key, value := range entries(root) {
		if !slices.Contains(sections(), key.Value) {
			return file{}, fmt.Errorf("%s:%d: %s", name, key.Line,
				nearest.Unknown("key", key.Value, sections()))
		}
		if value.Kind != yaml.MappingNode {
			return file{}, fmt.Errorf("%s:%d: %s: found %s, want a table of names", name, key.Line,
				key.Value, describe(value))
		}
	}
	return file{name: name, source: source, root: root}, nil
}

// with returns a copy of the catalogue to which the entries of the files are added.
func (c Catalog) with(files []file) (Catalog, error) {
	c = Catalog{slices.Clone(c.Accelerators), slices.Clone(c.Hosts), slices.Clone(c.Links)}
	for _, section := range sections() {
		for _, f := range files {
			table := get(f.root, section)
			if table == nil {
				continue
			}
			for key, value := range entries(table) {
				if err := c.add(section, f, key, value); err != nil {
					return Catalog{}, err
				}
			}
		}
	}
	return c, nil
}

func (c *Catalog) add(section string, f file, key, value *yaml.Node) error {
	form := newForm(f.name, section+"."+key.Value, f.source, nil)
	form.links = c.Links
	switch section {
	case "links":
		return addTo(&c.Links, "link", form, key, value)
	case "hosts":
		return addTo(&c.Hosts, "host", form, key, value)
	default:
		return addTo(&c.Accelerators, "accelerator", form, key, value)
	}
}

// addTo adds an entry to a list, or changes the one of its name.
func addTo[T any, P part[T]](list *[]T, kind string, f *form, key, value *yaml.Node) error {
	at := indexOf[T, P](key.Value, *list)
	item, err := start[T, P](*list, at, kind, f, key, value)
	if err != nil {
		return err
	}
	p := P(&item)
	p.detach()
	h := p.header()
	f.sources = h.sources
	var like string
	f.text("like", &like)
	f.describes(&item)
	if err := f.read(value); err != nil {
		return err
	}
	for _, name := range h.names() {
		if i := indexOf[T, P](name, *list); i >= 0 && i != at {
			return f.fail(key.Line, f.path, "%q is already a name of %s %q", name, kind,
				*P(&(*list)[i]).header().name)
		}
	}
	if at < 0 {
		*list = append(*list, item)
	} else {
		(*list)[at] = item
	}
	return nil
}

// start returns the entry over which new values are written: the entry of that name, the entry
// named by `like`, or an empty one.
func start[T any, P part[T]](list []T, at int, kind string, f *form, key,
	value *yaml.Node) (T, error) {
	var item T
	switch like := get(value, "like"); {
	case like != nil && at >= 0:
		return item, f.fail(like.Line, f.path,
			"there is %s %q already, so it cannot start as another one; give it a new name", kind,
			key.Value)
	case like != nil:
		base, err := lookUp[T, P](kind, like.Value, list)
		if err != nil {
			return item, f.fail(like.Line, f.path+".like", "%v", err)
		}
		item = base
	case at >= 0:
		return list[at], nil
	default:
		needs := required(reflect.TypeFor[T]())
		for _, need := range needs {
			if get(value, need) == nil && value.Kind == yaml.MappingNode {
				return item, f.fail(key.Line, f.path,
					"%s is missing; a new %s needs %s, or like: with the name of another one",
					need, kind, strings.Join(needs, ", "))
			}
		}
	}
	h := P(&item).header()
	*h.name, *h.title, *h.aliases = key.Value, key.Value, nil
	return item, nil
}

// required lists the keys that a new entry of a type needs.
func required(entry reflect.Type) (keys []string) {
	for i := range entry.NumField() {
		if f := entry.Field(i); f.Tag.Get("required") == "true" {
			keys = append(keys, keyOf(f))
		}
	}
	return keys
}

// lookUp finds the entry of a name or alias; the error offers the nearest names.
func lookUp[T any, P part[T]](kind, name string, list []T) (T, error) {
	if i := indexOf[T, P](name, list); i >= 0 {
		item := list[i]
		P(&item).detach()
		return item, nil
	}
	var known []string
	for i := range list {
		known = append(known, P(&list[i]).header().names()...)
	}
	var none T
	return none, fmt.Errorf("%s", nearest.Unknown(kind, name, known))
}

// indexOf returns the index of the entry with a name or alias in a list, or -1.
func indexOf[T any, P part[T]](name string, list []T) int {
	folded := fold(name)
	same := func(known string) bool { return fold(known) == folded }
	for i := range list {
		if h := P(&list[i]).header(); same(*h.name) || slices.ContainsFunc(*h.aliases, same) {
			return i
		}
	}
	return -1
}

// fold makes spellings of a name equal: case and separators do not matter, so that RTX4090 is
// rtx-4090.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == ' ' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
