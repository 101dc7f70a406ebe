package hardware

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/llmsim/llmsim/internal/nearest"
)

// file is one parsed catalogue file.
type file struct {
	name string
	// source is the source of figures that do not name their own; "" if each figure must name its
	// own.
	source string
	root   node
}

// sections are the keys of a file. Links are read before the accelerators that name them.
func sections() []string { return []string{"links", "hosts", "accelerators"} }

// parseFile reads a file and checks its outermost keys.
func parseFile(name, source string, data []byte) (file, error) {
	root, err := parseYAML(name, data)
	if err != nil {
		return file{}, err
	}
	if root.shape != isTable {
		return file{}, fmt.Errorf("%s:%d: found %s, want the keys %s", name, root.line,
			root.describe(), strings.Join(sections(), ", "))
	}
	for _, e := range root.entries {
		if !slices.Contains(sections(), e.key) {
			return file{}, fmt.Errorf("%s:%d: %s", name, e.line,
				nearest.Unknown("key", e.key, sections()))
		}
		if e.value.shape != isTable {
			return file{}, fmt.Errorf("%s:%d: %s: found %s, want a table of names", name, e.line,
				e.key, e.value.describe())
		}
	}
	return file{name: name, source: source, root: root}, nil
}

// with returns a copy of the catalogue to which the entries of the files are added.
func (c Catalog) with(files []file) (Catalog, error) {
	c = Catalog{slices.Clone(c.Accelerators), slices.Clone(c.Hosts), slices.Clone(c.Links)}
	for _, section := range sections() {
		for _, f := range files {
			table, _ := f.root.get(section)
			for _, e := range table.entries {
				if err := c.add(section, f, e); err != nil {
					return Catalog{}, err
				}
			}
		}
	}
	return c, nil
}

func (c *Catalog) add(section string, f file, e entry) error {
	form := newForm(f.name, section+"."+e.key, f.source, nil)
	switch section {
	case "links":
		return addTo(&c.Links, "link", form, e, c.Links)
	case "hosts":
		return addTo(&c.Hosts, "host", form, e, c.Links)
	default:
		return addTo(&c.Accelerators, "accelerator", form, e, c.Links)
	}
}

// addTo adds an entry to a list, or changes the one of its name.
func addTo[T any, P part[T]](list *[]T, kind string, f *form, e entry, links []Link) error {
	at := indexOf[T, P](e.key, *list)
	item, err := start[T, P](*list, at, kind, f, e)
	if err != nil {
		return err
	}
	p := P(&item)
	p.detach()
	h := p.header()
	f.sources = h.sources
	var like string
	f.text("like", &like)
	f.text("title", h.title)
	f.texts("aliases", h.aliases)
	p.keys(f, links)
	if err := f.read(e.value); err != nil {
		return err
	}
	for _, name := range h.names() {
		if i := indexOf[T, P](name, *list); i >= 0 && i != at {
			return f.fail(e.line, f.path, "%q is already a name of %s %q", name, kind,
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
func start[T any, P part[T]](list []T, at int, kind string, f *form, e entry) (T, error) {
	var item T
	like, isLike := e.value.get("like")
	switch {
	case isLike && at >= 0:
		return item, f.fail(like.line, f.path,
			"there is %s %q already, so it cannot start as another one; give it a new name", kind,
			e.key)
	case isLike:
		base, err := lookUp[T, P](kind, like.text, list)
		if err != nil {
			return item, f.fail(like.line, f.path+".like", "%v", err)
		}
		item = base
	case at >= 0:
		return list[at], nil
	default:
		for _, key := range P(&item).required() {
			if _, ok := e.value.get(key); !ok && e.value.shape == isTable {
				return item, f.fail(e.line, f.path,
					"%s is missing; a new %s needs %s, or like: with the name of another one",
					key, kind, strings.Join(P(&item).required(), ", "))
			}
		}
	}
	h := P(&item).header()
	*h.name, *h.title, *h.aliases = e.key, e.key, nil
	return item, nil
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

// fold makes spellings of a name equal: case does not matter, and "_" and " " stand for "-".
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == ' ' {
			return '-'
		}
		return unicode.ToLower(r)
	}, name)
}
