package engines_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/engines"
)

var update = flag.Bool("update", false, "write the tables of docs/engines.md anew")

// The tables of docs/engines.md are those of the registry: each default of each engine, with the
// versions that have it and the file of the engine's source.
func TestDocsHaveEveryDefault(t *testing.T) {
	const page, begin, end = "../../docs/engines.md", "<!-- registry -->\n", "<!-- end -->\n"
	old := testkit.Read(t, page)
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %s", page, strings.TrimSpace(begin))
	}
	var b bytes.Buffer
	for _, e := range engines.All() {
		describe(&b, e)
	}
	want := head + begin + b.String() + end + tail
	if *update {
		testkit.OK(t, os.WriteFile(page, []byte(want), 0o666))
		return
	}
	if string(old) != want {
		t.Errorf("%s does not match the registry; run: go test ./models/engines -update", page)
	}
}

// describe writes the presets of an engine with the versions that were measured, and its defaults.
// A key or a source that is that of the row above is left out.
func describe(b *bytes.Buffer, e *engines.Engine) {
	fmt.Fprintf(b, "\n### %s (`%s`)\n\n", e.Title, e.Name)
	for _, p := range e.Presets {
		var measured []string
		for _, v := range e.Evidence {
			if v.Preset == p.Name {
				measured = append(measured, fmt.Sprintf("%s (%s)", v.Version,
					strings.Join(v.Tables, ", ")))
			}
		}
		fmt.Fprintf(b, "- `%s`, %s", p.Name, p.Versions)
		if len(measured) > 0 {
			fmt.Fprintf(b, "; measured: %s", strings.Join(measured, "; "))
		}
		fmt.Fprintln(b)
	}
	fmt.Fprint(b, "\n| default | value | where | source |\n|---|---|---|---|\n")
	key, source := "", ""
	for _, s := range e.Settings {
		value := s.Value
		if s.Computed != "" {
			value = "computed"
		}
		if s.PerRank {
			value += " for each data-parallel rank"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", unless(s.Key, key), value, where(s),
			unless(s.Source, source))
		key, source = s.Key, s.Source
	}
}

// unless returns a text that differs from the one above it.
func unless(text, above string) string {
	if text == above {
		return ""
	}
	return text
}

// where says for which servers a setting holds.
func where(s engines.Setting) string {
	var list []string
	if len(s.Presets) > 0 {
		list = append(list, strings.Join(s.Presets, ", "))
	}
	if r := s.Versions.String(); r != "all versions" {
		list = append(list, r)
	}
	c := s.When
	for _, bound := range []struct {
		holds bool
		text  string
	}{
		{c.MemoryFrom > 0, fmt.Sprintf("memory of %g GiB or more", c.MemoryFrom)},
		{c.MemoryBelow > 0, fmt.Sprintf("memory below %g GiB", c.MemoryBelow)},
		{c.TensorFrom > 0, fmt.Sprintf("tensor parallelism of %d or more", c.TensorFrom)},
		{c.TensorBelow > 0, fmt.Sprintf("tensor parallelism below %d", c.TensorBelow)},
		{c.Not != "", "not on " + c.Not},
	} {
		if bound.holds {
			list = append(list, bound.text)
		}
	}
	if len(list) == 0 {
		return "else"
	}
	return strings.Join(list, "; ")
}
