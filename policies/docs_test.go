package policies_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// pages returns docs/policies.md, the pages under it and docs/speculation.md, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "docs", "policies", "*.md"))
	testkit.OK(t, err)
	all := map[string]string{}
	for _, name := range append(names, filepath.Join("..", "docs", "policies.md"),
		filepath.Join("..", "docs", "speculation.md")) {
		data := testkit.Read(t, name)
		all[name] = string(data)
	}
	return all
}

// Every policy of every family is in the index, and has a section, a row or an item of its own. Its
// parameters and their defaults are printed by llmsim list policies, from their declarations.
func TestEveryPolicyIsDocumented(t *testing.T) {
	all := pages(t)
	index := all[filepath.Join("..", "docs", "policies.md")]
	var titles []string // of sections that a policy's name begins, and of rows and items
	for _, page := range all {
		for _, line := range strings.Split(page, "\n") {
			for _, begin := range []string{"### `", "| `", "- `"} {
				if strings.HasPrefix(line, begin) {
					title, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), "|")
					title, _, _ = strings.Cut(title, ":")
					titles = append(titles, title)
				}
			}
		}
	}
	r := policies.Default()
	documented(t, index, titles, &r.Batching)
	documented(t, index, titles, &r.Memory)
	documented(t, index, titles, &r.Routing)
	documented(t, index, titles, &r.Admission)
	documented(t, index, titles, &r.Scaling)
	documented(t, index, titles, &r.Drafting)
}

func documented[T any](t *testing.T, index string, titles []string, family *policies.Family[T]) {
	t.Helper()
	for _, p := range family.Policies {
		name := "`" + p.Name + "`"
		if !strings.Contains(index, name) {
			t.Errorf("docs/policies.md does not name the %s %s", family.Kind, p.Name)
		}
		if !slices.ContainsFunc(titles, func(s string) bool { return strings.Contains(s, name) }) {
			t.Errorf("no section, row or item of the pages on policies is about the %s %s",
				family.Kind, p.Name)
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
