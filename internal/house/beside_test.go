package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// eachTestFile calls f with every Go file of the tests, those of other modules included. Names are
// relative to the repository.
func eachTestFile(t *testing.T, f func(name string, file *ast.File)) {
	t.Helper()
	seen := 0
	testkit.OK(t, filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil {
			seen++
			f(filepath.ToSlash(name), file)
		}
		return err
	}))
	if seen < 100 {
		t.Errorf("found %d files of tests: is this the module's root?", seen)
	}
}

// calls reports whether a call is of a function of a package, such as filepath.Join.
func calls(call *ast.CallExpr, pkg string, names ...string) bool {
	s, is := call.Fun.(*ast.SelectorExpr)
	if !is || !slices.Contains(names, s.Sel.Name) {
		return false
	}
	x, is := s.X.(*ast.Ident)
	return is && x.Name == pkg
}

// besideReached returns the expressions of a file that name the folder "shared" beside the
// repository: "../shared" in a text, or "shared" as a part of a path that is joined.
func besideReached(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil &&
				strings.Contains(filepath.ToSlash(text), "../shared") {
				found = append(found, n.Value)
			}
		case *ast.CallExpr:
			if !calls(n, "filepath", "Join") && !calls(n, "path", "Join") {
				return true
			}
			for _, arg := range n.Args {
				if lit, is := arg.(*ast.BasicLit); is && lit.Value == `"shared"` {
					found = append(found, "Join(…, "+lit.Value+", …)")
				}
			}
		}
		return true
	})
	return found
}

// Tests reach what lies beside the repository only through testkit.Shared, which skips them
// where it is absent. This file has the words that it looks for.
func TestOnlyTestkitReachesBeside(t *testing.T) {
	eachTestFile(t, func(name string, file *ast.File) {
		if name == "internal/house/beside_test.go" {
			return
		}
		for _, text := range besideReached(file) {
			t.Errorf("%s names %s: use testkit.Shared", name, text)
		}
	})
}

// Each way to name the folder is found.
func TestBesideIsFound(t *testing.T) {
	for _, text := range []string{`os.Open("../shared/traces")`, "os.Open(`a/../shared/b`)",
		`os.DirFS(filepath.Join("..", "shared", "measured"))`, `path.Join(root, "shared")`} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nvar x = "+text,
			parser.SkipObjectResolution)
		testkit.OK(t, err)
		if len(besideReached(file)) != 1 {
			t.Errorf("%s is not found", text)
		}
	}
}
