package house

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

var readersFile = flag.String("readers", "",
	"file into which the tests are listed that may use testkit.Shared")

// The tests that may use testkit.Shared are found: .ci/run runs them in a clone that stands alone,
// where each has to skip as a whole. A line of the list has a package's path and an expression for
// go test -run.
func TestReadersOfSharedAreFound(t *testing.T) {
	folders := map[string][]*ast.File{}
	eachTestFile(t, func(name string, file *ast.File) {
		if !strings.HasPrefix(name, "tests/") { // modules of their own
			folders[path.Dir(name)] = append(folders[path.Dir(name)], file)
		}
	})
	var lines strings.Builder
	for folder, files := range folders {
		if tests := readers(files); len(tests) > 0 {
			fmt.Fprintf(&lines, "./%s ^(%s)$\n", folder, strings.Join(tests, "|"))
		}
	}
	if n := strings.Count(lines.String(), "\n"); n < 10 {
		t.Errorf("found tests that use testkit.Shared in %d packages only", n)
	}
	if *readersFile != "" {
		testkit.OK(t, os.WriteFile(*readersFile, []byte(lines.String()), 0o666))
	}
}

// shared stands in a list of identifiers where a declaration reaches what lies beside the
// repository.
const shared = "testkit.Shared"

// readers returns the tests of a package that mention testkit.Shared or LinkShared, or a name of
// the package's tests whose declaration does so in turn. A test that calls no such function may be
// among them, where two declarations share a name; no test that calls one is left out.
func readers(files []*ast.File) (tests []string) {
	mentions := map[string][]string{} // by name, the identifiers in its declarations
	note := func(name string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				mentions[name] = append(mentions[name], n.Name)
			case *ast.SelectorExpr:
				if x, is := n.X.(*ast.Ident); is && x.Name == "testkit" &&
					(n.Sel.Name == "Shared" || n.Sel.Name == "LinkShared") {
					mentions[name] = append(mentions[name], shared)
				}
			}
			return true
		})
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				note(d.Name.Name, d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, is := spec.(*ast.ValueSpec); is {
						for _, name := range v.Names {
							note(name.Name, v)
						}
					}
				}
			}
		}
	}
	reads := map[string]bool{shared: true}
	for grown := true; grown; {
		grown = false
		for name, ids := range mentions {
			if !reads[name] && slices.ContainsFunc(ids, func(id string) bool { return reads[id] }) {
				reads[name], grown = true, true
			}
		}
	}
	for name := range reads {
		if strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests
}
