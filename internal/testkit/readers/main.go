// Command readers lists the tests of this repository that may use testkit.Shared: a line for
// each package, with its path and an expression for go test -run. It is run at the module's root.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := list(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list() error {
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return fs.SkipDir // a module of its own
			}
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		folder := filepath.ToSlash(filepath.Dir(name))
		folders[folder] = append(folders[folder], file)
		return err
	})
	if err != nil {
		return err
	}
	for folder, files := range folders {
		if tests := readers(files); len(tests) > 0 {
			fmt.Printf("./%s ^(%s)$\n", folder, strings.Join(tests, "|"))
		}
	}
	return nil
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
