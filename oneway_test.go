package llmsim_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The steps from a scenario file to its result run one way: no file of the package refers, through
// others, back to itself.
func TestScenariosRunOneWay(t *testing.T) {
	uses := references(t, "scenarios")
	if len(uses) < 40 {
		t.Fatalf("found references from %d files; is this the module's root?", len(uses))
	}
	var path []string
	done := map[string]bool{}
	var visit func(file string)
	visit = func(file string) {
		if i := slices.Index(path, file); i >= 0 {
			t.Errorf("files refer to each other in a circle: %s → %s",
				strings.Join(path[i:], " → "), file)
			return
		}
		if done[file] {
			return
		}
		path = append(path, file)
		for used := range uses[file] {
			visit(used)
		}
		path = path[:len(path)-1]
		done[file] = true
	}
	for file := range uses {
		visit(file)
	}
}

// references returns, for each file of a package, the files that declare what it names: types,
// functions, methods, constants and variables.
func references(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Other packages are not read: what comes from them is unknown, which is no error here.
	c := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := c.Check(dir, set, files, info)
	at := func(p token.Pos) string { return filepath.Base(set.Position(p).Filename) }
	uses := map[string]map[string]bool{}
	for name, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() || !declared(object, pkg) {
			continue
		}
		if from, to := at(name.Pos()), at(object.Pos()); from != to {
			if uses[from] == nil {
				uses[from] = map[string]bool{}
			}
			uses[from][to] = true
		}
	}
	return uses
}

// declared reports whether an object is one of a package's own, or a method of such a type.
func declared(object types.Object, pkg *types.Package) bool {
	if f, ok := object.(*types.Func); ok {
		return f.Signature().Recv() != nil || f.Parent() == pkg.Scope()
	}
	return object.Parent() == pkg.Scope()
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not read") }
