package policies_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// pages returns docs/policies.md and the pages under it, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "docs", "policies", "*.md"))
	testkit.OK(t, err)
	all := map[string]string{}
	for _, name := range append(names, filepath.Join("..", "docs", "policies.md")) {
		data := testkit.Read(t, name)
		all[name] = string(data)
	}
	return all
}

// Every policy of every family is in the index, and has a section or a row with each of its
// parameters and their defaults.
func TestEveryPolicyIsDocumented(t *testing.T) {
	all := pages(t)
	index := all[filepath.Join("..", "docs", "policies.md")]
	var entries []string // sections that a policy's name begins, and rows of tables
	for _, page := range all {
		for _, section := range strings.Split(page, "\n#")[1:] {
			if strings.HasPrefix(section, "## `") {
				entries = append(entries, section)
			}
		}
		for _, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "| `") {
				entries = append(entries, line)
			}
		}
	}
	r := policies.Default()
	documented(t, index, entries, &r.Batching)
	documented(t, index, entries, &r.Memory)
	documented(t, index, entries, &r.Routing)
	documented(t, index, entries, &r.Admission)
	documented(t, index, entries, &r.Scaling)
	documented(t, index, entries, &r.Drafting)
}

func documented[T any](t *testing.T, index string, entries []string, family *policies.Family[T]) {
	t.Helper()
	for _, p := range family.Policies {
		name := "`" + p.Name + "`"
		if !strings.Contains(index, name) {
			t.Errorf("docs/policies.md does not name the %s %s", family.Kind, p.Name)
		}
		var missing []string
		found := false
		for _, entry := range entries {
			title, _, _ := strings.Cut(strings.TrimPrefix(entry, "| "), "|")
			title, _, _ = strings.Cut(title, "\n")
			if !strings.Contains(title, name) {
				continue
			}
			missing = missing[:0]
			for _, param := range p.Params() {
				if want := "`" + param.Name + "` " + param.Default; !strings.Contains(entry, want) {
					missing = append(missing, want)
				}
			}
			if found = len(missing) == 0; found {
				break
			}
		}
		if !found {
			t.Errorf("no section and no row of docs/policies*.md is about the %s %s with its "+
				"parameters and defaults; missing: %v", family.Kind, p.Name, missing)
		}
	}
}

// A limit of a policy is named where its struct declares it, and nowhere else: other code reads it
// by its role.
func TestLimitsAreNamedOnce(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		seen++
		text := string(testkit.Read(t, path))
		for _, name := range []string{"token-budget", "max-sequences"} {
			inTag := strings.Count(text, `json:"`+name+`"`)
			if strings.Count(text, `"`+name+`"`) > inTag && filepath.Dir(path) != "../policies" {
				t.Errorf("%s names %q; read it by its role", path, name)
			}
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("%d files: %v", seen, err)
	}
}

// Every scenario in the pages can be run: what is only a part of one is completed with a model and
// hardware.
func TestScenariosInThePagesLoad(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for name, page := range pages(t) {
		for _, found := range block.FindAllStringSubmatch(page, -1) {
			text := found[1]
			if !strings.Contains(text, "model:") {
				text += "model: llama-2-7b\nhardware: a100-80gb-sxm\n"
			}
			file, err := scenarios.Parse(name, []byte(text))
			if err == nil {
				_, err = file.Build(policies.Default())
			}
			if err != nil {
				t.Errorf("%s: %v in\n%s", name, err, text)
			}
		}
	}
}
