package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// All outputs go through internal/files, which puts a file in place when it is whole: neither a
// signal nor a full disk replaces a good file by a broken one.
func TestOutputsAreWrittenWhole(t *testing.T) {
	makers := map[string]bool{"Create": true, "OpenFile": true, "WriteFile": true,
		"CreateTemp": true}
	others := map[string]string{
		"internal/planner/journal.go":          "a journal grows line by line",
		"internal/planner/queue/connect.go":    "a key is made once, and linked in place",
		"internal/playground/page/generate.go": "a tool that builds the page",
		"internal/testkit/pictures.go":         "tests write what they compare with",
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err == nil && entry.IsDir() && (name == "tests" || name == "internal/files") {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !makers[s.Sel.Name] {
				return true
			}
			if of, ok := s.X.(*ast.Ident); ok && of.Name == "os" {
				if seen[name] = true; others[name] == "" {
					t.Errorf("%s calls os.%s; outputs are written with internal/files", name,
						s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	testkit.OK(t, err)
	for name := range others {
		if !seen[name] {
			t.Errorf("%s makes no file any more", name)
		}
	}
}
