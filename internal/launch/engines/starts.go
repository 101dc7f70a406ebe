package engines

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
	registry "github.com/llmsim/llmsim/models/engines"
)

//go:embed starts.yaml
var startsTable []byte

// Start is how an engine starts some checkpoints: a row of starts.yaml.
type Start struct {
	// Checkpoints are patterns of path.Match for their repositories, in any case of letters.
	Checkpoints []string `yaml:"checkpoints"`
	Engine      string   `yaml:"engine"`
	// Range is the versions of the engine.
	registry.Range `yaml:",inline"`
	// Trust is set where the engine runs code of the checkpoint, Tools and Reasoning name the
	// parsers of tool calls and of reasoning, Tokenizer is the mode of the tokenizer, and Format
	// that of the config and the weights; what is empty is the engine's own choice.
	Trust     bool   `yaml:"trust"`
	Tools     string `yaml:"tools"`
	Reasoning string `yaml:"reasoning"`
	Tokenizer string `yaml:"tokenizer"`
	Format    string `yaml:"format"`
	// Note is what no flag says.
	Note   string `yaml:"note"`
	Source string `yaml:"source"`
}

// Starts returns the table, which is read once: it never changes.
var Starts = sync.OnceValue(func() (list []Start) {
	if err := files.DecodeYAML(startsTable, &list); err != nil {
		panic(fmt.Sprintf("starts.yaml: %v", err)) // part of the program
	}
	return list
})

// match returns the letters of the longest pattern that a repository matches, 0 without one.
func (s *Start) match(repository string) (letters int) {
	for _, pattern := range s.Checkpoints {
		fits, err := path.Match(strings.ToLower(pattern), strings.ToLower(repository))
		if n := len(strings.ReplaceAll(pattern, "*", "")); err == nil && fits {
			letters = max(letters, n)
		}
	}
	return letters
}

// startOf returns how the engine's version starts a replica's checkpoint, nil where that is not
// known, and the rows of other versions.
func (e *Engine) startOf(d *Replica) (own *Start, others []*Start) {
	names := []string{d.Model}
	if form, ok := models.ReadRelease(d.Model); ok {
		names = append(names, form.Of)
	}
	list := Starts()
	for _, name := range names {
		longest := 0
		for i := range list {
			if s := &list[i]; s.Engine == e.Name && s.match(name) > longest {
				longest = s.match(name)
			}
		}
		for i := range list {
			switch s := &list[i]; {
			case longest == 0 || s.Engine != e.Name || s.match(name) != longest:
			case own == nil && s.Has(e.VersionOf(d)):
				own = s
			default:
				others = append(others, s)
			}
		}
		if longest > 0 {
			break
		}
	}
	return own, others
}

// terms returns the terms of a replica, with those by which its checkpoint starts.
func (e *Engine) terms(d *Replica) options.Terms {
	t := e.express(d)
	s, _ := e.startOf(d)
	if s == nil {
		return t
	}
	if s.Trust {
		t["trust"] = "true"
	}
	if s.Tools != "" {
		t["auto-tools"] = "true"
	}
	for term, value := range map[string]string{"tool-parser": s.Tools,
		"reasoning-parser": s.Reasoning, "tokenizer-mode": s.Tokenizer,
		"config-format": s.Format, "load-format": s.Format} {
		t.Set(term, value)
	}
	return t
}

// Asks returns what the start of a replica's checkpoint takes beside the files, empty for nothing.
func (e *Engine) Asks(d *Replica) string {
	if s, _ := e.startOf(d); s != nil && s.Note != "" {
		return fmt.Sprintf("%s: %s (%s)", d.Model, s.Note, s.Source)
	}
	return ""
}

// missingStart says that a checkpoint is known to start under other versions alone.
func (e *Engine) missingStart(d *Replica, say func(format string, args ...any)) {
	if own, others := e.startOf(d); own == nil && len(others) > 0 {
		say("%s: known to start under %s %s; these files have %s (%s)", d.Model, e.Name,
			others[0].Range, e.VersionOf(d), others[0].Source)
	}
}
