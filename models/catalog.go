package models

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/nearest"
)

// catalogFiles has one file a family, its models from small to large.
//
//go:embed catalog/*.json
var catalogFiles embed.FS

// entry is one model of a catalogue file.
type entry struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"`
	// Source says where the shape is from.
	Source string `json:"source"`
	// Published is the parameter count that the publisher states, against which the shape is
	// tested.
	Published published `json:"published"`
	// Vision is the number of parameters of the encoder of images and its projector, which Config
	// leaves out.
	Vision int64 `json:"vision"`
	// Contexts are the longest contexts of later releases of the same shape, in tokens, by the word
	// of their names that tells them apart.
	Contexts map[string]int `json:"contexts"`
	// Config has the fields of the model's config.json that matter here.
	Config json.RawMessage `json:"config"`
}

// published is a parameter count with its source. Beyond is the number of elements that published
// files have beyond the parameters counted here, and Because says what they are. Digits is the
// number of leading digits that are stated; 0 means all. Without a count, Source says that the
// shape is unverified.
type published struct {
	Parameters int64  `json:"parameters"`
	Source     string `json:"source"`
	Beyond     int64  `json:"beyond"`
	Because    string `json:"because"`
	Digits     int    `json:"digits"`
}

// Catalog is the models that are known by name. The shape of each is read when it is first asked
// for, since most programs want one of them.
type Catalog struct {
	models []*known
	// byName has the models by the lookupKey of their names and aliases, and byPlainName by what is
	// left of these without words that change no byte; nil where that means several models.
	byName, byPlainName map[string]*known
}

// known is a model of the catalogue.
type known struct {
	name string
	// read returns the shape, the same at each call.
	read func() (*Architecture, error)
	// contexts is the entry's field of this name.
	contexts map[string]int
}

// release returns the shape with the longest context of the release that a name means.
func (m *known) release(name string) (*Architecture, error) {
	a, err := m.read()
	if err != nil {
		return nil, err
	}
	for _, word := range strings.FieldsFunc(name, isSeparator) {
		n := m.contexts[word]
		if tuned := contextWord(word); tuned > a.MaxContext && a.RotaryTables > 0 &&
			!strings.Contains(m.name, strings.ToLower(word)) {
			n = tuned // a tune for longer texts, whose rotary positions are stretched
		}
		if n > 0 {
			longer := *a
			longer.RotaryTables = a.RotaryTables / int64(a.MaxContext) * int64(n)
			longer.MaxContext = n
			return &longer, nil
		}
	}
	return a, nil
}

// Load returns the built-in catalogue, the same at each call.
func Load() (*Catalog, error) { return shipped() }

// shipped reads the files of the program once: they never change.
var shipped = sync.OnceValues(func() (*Catalog, error) {
	files, err := catalogFiles.ReadDir("catalog")
	if err != nil {
		return nil, err
	}
	c := &Catalog{byName: map[string]*known{}, byPlainName: map[string]*known{}}
	for _, f := range files {
		name := path.Join("catalog", f.Name())
		data, err := catalogFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		entries, err := parseEntries(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, e := range entries {
			if err := c.add(e); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return c, nil
})

// parseEntries reads a catalogue file, in which unknown fields are mistakes.
func parseEntries(data []byte) ([]entry, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var entries []entry
	if err := d.Decode(&entries); err != nil {
		return nil, fmt.Errorf("line %d: %w", lineAt(data, d.InputOffset()), err)
	}
	return entries, nil
}

// add adds a model under its name and aliases, which no other model may have.
func (c *Catalog) add(e entry) error {
	m := &known{e.Name, sync.OnceValues(e.architecture), e.Contexts}
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		key := lookupKey(name)
		if other, taken := c.byName[key]; taken && other != m {
			return fmt.Errorf("%s: the name %q belongs to %s", e.Name, name, other.name)
		}
		c.byName[key] = m
		_, last := splitName(name)
		for _, plain := range withoutPlain(last) {
			key, meant := lookupKey(plain), m
			if other, taken := c.byPlainName[key]; taken && other != m {
				meant = nil
			}
			c.byPlainName[key] = meant
		}
	}
	c.models = append(c.models, m)
	return nil
}

// architecture reads the shape of the model.
func (e entry) architecture() (*Architecture, error) {
	a, _, err := FromHuggingFace(bytes.NewReader(e.Config), e.Name)
	if err != nil {
		return nil, err
	}
	a.Aliases, a.Source = e.Aliases, e.Source
	if e.Vision > 0 {
		a.Towers = []Tower{{Name: "vision", Parameters: e.Vision}}
	}
	return a, nil
}

// lookupKey returns what names of the same model have in common: lower case, no organisation before
// a slash, and no separator between a letter and a digit, so that Llama2-7b is llama-2-7b.
func lookupKey(name string) string {
	_, name = cutLast(strings.ToLower(strings.TrimSpace(name)))
	var key strings.Builder
	for i := range len(name) {
		separates := strings.IndexByte("-_ ", name[i]) >= 0
		switch {
		case separates && i > 0 && i+1 < len(name) && isDigit(name[i-1]) != isDigit(name[i+1]):
		case separates:
			key.WriteByte('-')
		default:
			key.WriteByte(name[i])
		}
	}
	return key.String()
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// All returns the models by family, from small to large in each. They are shared: do not change
// them. It panics on a mistake in the catalogue, which is part of the program.
func (c *Catalog) All() []*Architecture {
	list := make([]*Architecture, len(c.models))
	for i, m := range c.models {
		a, err := m.read()
		if err != nil {
			panic(fmt.Sprintf("models: %v", err))
		}
		list[i] = a
	}
	return list
}

// Lookup returns the model of that name or alias, such as "llama-2-70b", "Llama2-70b",
// "meta-llama/Llama-2-70b-hf" or "/models/Llama-2-70b-chat-hf/", whose words beyond the known name
// change no byte. The error for another name says why: it states how weights are stored
// (ReadRelease), it is the name of a draft, or it is not known; then it has the nearest known
// names. The model is shared: do not change it.
func (c *Catalog) Lookup(name string) (*Architecture, error) {
	if m := c.find(name); m != nil {
		return m.release(name)
	}
	n := readName(name)
	if err := n.explain(name); err != nil {
		return nil, err
	}
	switch m := c.find(n.of); {
	case m != nil && n.weights == "":
		return m.release(name)
	case m != nil && n.microscaled:
		a, err := m.release(name)
		if err != nil {
			return nil, err
		}
		return a.storedAs(mxfp8), nil
	case m != nil:
		return nil, fmt.Errorf("%q is %s with weights in %s, which are given apart from it", name,
			m.name, n.weights)
	}
	return nil, c.unknown(name, n)
}

// find returns the model of a name, with words that change no byte or without them; nil where it is
// not known, or where without them it means several.
func (c *Catalog) find(name string) *known {
	if m := c.byName[lookupKey(name)]; m != nil {
		return m
	}
	if _, ok := released(name); ok {
		return nil // the table says how its weights are stored
	}
	_, last := splitName(name)
	for _, shorter := range append([]string{last}, withoutPlain(last)...) {
		key := lookupKey(shorter)
		if m := c.byName[key]; m != nil {
			return m
		}
		if m := c.byPlainName[key]; m != nil {
			return m
		}
	}
	return nil
}

// unknown is the error for a name that is not known.
func (c *Catalog) unknown(name string, n checkpointName) error {
	var names []string
	for _, m := range c.models {
		names = append(names, m.name)
	}
	_, last := cutLast(n.of)
	known := fmt.Sprintf("llmsim list models has the %d that are known.", len(names))
	for _, text := range append([]string{name, last}, withoutPlain(last)...) {
		if near := nearest.Names(text, names); len(near) > 0 {
			known = "did you mean " + strings.Join(near, " or ") + "?"
			break
		}
	}
	return fmt.Errorf("unknown model %q; %s For another model put the path of its config.json here",
		name, known)
}

// Named returns the model that a checkpoint's name means, with its weights in the number format
// that the name states, and what was assumed of words that are not known. Names of fine-tuned
// models contain the name of the model that they began with, and its size.
func (c *Catalog) Named(name string) (a *Architecture, notes []string, err error) {
	if a, err = c.Lookup(name); err == nil {
		return a, nil, nil
	}
	form, ok := ReadRelease(name)
	if !ok {
		form.Of = name
		if n := readName(name); n.explain(name) != nil {
			return nil, nil, err
		}
	}
	m := c.find(form.Of)
	if m == nil {
		var rest []string
		if m, rest = c.within(form.Of); m == nil {
			return nil, nil, err
		}
		notes = []string{fmt.Sprintf("%s is read as %s: its name contains that one, and %s beside "+
			"it is taken to change no byte; its config.json would tell", name, m.name,
			strings.Join(rest, ", "))}
	}
	if a, err = m.release(name); err == nil && form.Weights != "" {
		a = a.storedAs(standardFormat(form.Weights))
	}
	if err == nil && form.Cache != "" && a.KV != form.Cache {
		changed := *a
		changed.KV, a = form.Cache, &changed
	}
	return a, notes, err
}

// within returns the model whose name, with a size, is the longest within a name, and the other
// words of it; nil where there is no such model, where several are as long, or where another word
// is a size or tells of other parts.
func (c *Catalog) within(name string) (best *known, rest []string) {
	_, last := splitName(name)
	words := strings.FieldsFunc(strings.ToLower(last), isSeparator)
	if len(words) > mostWords {
		return nil, nil
	}
	longest := 0
	for from := range words {
		for to := from + 1; to <= len(words); to++ {
			span := words[from:to]
			key := lookupKey(strings.Join(span, "-"))
			m := c.byName[key]
			if m == nil {
				m = c.byPlainName[key]
			}
			if m == nil || to-from < longest || !tellsRelease(span) {
				continue
			}
			if to-from == longest && m != best {
				best, rest = nil, nil
				continue
			}
			best, longest = m, to-from
			rest = append(slices.Clone(words[:from]), words[to:]...)
		}
	}
	if slices.ContainsFunc(rest, otherParts) {
		return nil, nil
	}
	return best, rest
}

// mostWords bounds the words of a name that is searched for the name of a model.
const mostWords = 16

// WithKVHeads returns the model with n KV heads in each layer of softmax attention, to see what
// sharing them saves (Ainslie et al., arXiv:2305.13245). The error says why it cannot have that
// number.
func (a *Architecture) WithKVHeads(n int) (*Architecture, error) {
	changed := *a
	changed.Name = fmt.Sprintf("%s with %d KV heads", a.Name, n)
	changed.Groups = nil
	found := false
	for _, g := range a.Groups {
		if m, ok := g.Mixer.(*Softmax); ok {
			other := *m
			other.KVHeads, found = n, true
			g.Mixer = &other
		}
		changed.Groups = append(changed.Groups, g)
	}
	if !found {
		return nil, fmt.Errorf("%s has no layers with KV heads", a.Name)
	}
	return &changed, changed.Validate()
}
