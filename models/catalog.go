package models

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
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
	// Config has the fields of the model's config.json that matter here.
	Config json.RawMessage `json:"config"`
}

// published is a parameter count with its source. Beyond is how many elements the published files
// have beyond the parameters counted here, and Because says what they are. Digits is the number of
// leading digits that are stated; 0 means all.
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
	// byName has the models by the lookupKey of their names and aliases.
	byName map[string]*known
}

// known is a model of the catalogue.
type known struct {
	name string
	// read returns the shape, the same at each call.
	read func() (*Architecture, error)
}

// Load returns the built-in catalogue, the same at each call.
func Load() (*Catalog, error) { return shipped() }

// shipped reads the files of the program once: they never change.
var shipped = sync.OnceValues(func() (*Catalog, error) {
	files, err := catalogFiles.ReadDir("catalog")
	if err != nil {
		return nil, err
	}
	c := &Catalog{byName: map[string]*known{}}
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
	m := &known{e.Name, sync.OnceValues(e.architecture)}
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		key := lookupKey(name)
		if other, taken := c.byName[key]; taken && other != m {
			return fmt.Errorf("%s: the name %q belongs to %s", e.Name, name, other.name)
		}
		c.byName[key] = m
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
	name = strings.ToLower(strings.TrimSpace(name))
	name = name[strings.LastIndexByte(name, '/')+1:]
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

// Lookup returns the model of that name or alias, such as "llama-2-70b", "Llama2-70b" or
// "meta-llama/Llama-2-70b-hf". The error for an unknown name has the nearest known ones. The model
// is shared: do not change it.
func (c *Catalog) Lookup(name string) (*Architecture, error) {
	if m, ok := c.byName[lookupKey(name)]; ok {
		return m.read()
	}
	var names []string
	for _, m := range c.models {
		names = append(names, m.name)
	}
	if near := nearest.Names(name, names); len(near) > 0 {
		return nil, fmt.Errorf("unknown model %q; did you mean %s?", name,
			strings.Join(near, " or "))
	}
	return nil, fmt.Errorf("unknown model %q; llmsim list models has the %d that are known (or "+
		"give the path of a Hugging Face config.json)", name, len(names))
}

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
