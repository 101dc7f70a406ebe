package house

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The steps from a scenario file to its result run one way: no file of the package refers, through
// others, back to itself.
func TestScenariosRunOneWay(t *testing.T) {
	uses := references(t, "scenarios")
	if len(uses) < 30 {
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

// Files that refer to each other are a knot, which can only be read as a whole. A package of up to
// 2,000 lines can be read so; no larger one has a knot of more than five files.
func TestKnotsAreSmall(t *testing.T) {
	const few, readable = 5, 2000
	for dir, lines := range packages(t) {
		if lines <= readable {
			continue
		}
		for _, knot := range knots(references(t, dir)) {
			if len(knot) > few {
				t.Errorf("%d files of %s refer to each other, at most %d may: %s", len(knot), dir,
					few, strings.Join(knot, ", "))
			}
		}
	}
}

// packages returns the folders of the module with the lines of their Go files that are no tests.
func packages(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name == "tests" {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			lines := bytes.Count(testkit.Read(t, name), []byte("\n"))
			count[filepath.ToSlash(filepath.Dir(name))] += lines
		}
		return err
	})
	testkit.OK(t, err)
	return count
}

// knots returns the groups of files each of which refers, through others, to all others of its
// group (Tarjan, SIAM Journal on Computing 1(2), 1972).
func knots(uses map[string]map[string]bool) (list [][]string) {
	order, low := map[string]int{}, map[string]int{}
	var stack []string
	var visit func(file string)
	visit = func(file string) {
		order[file] = len(order) + 1
		low[file] = order[file]
		stack = append(stack, file)
		for other := range uses[file] {
			if order[other] == 0 {
				visit(other)
			}
			if slices.Contains(stack, other) {
				low[file] = min(low[file], low[other])
			}
		}
		if low[file] == order[file] {
			at := slices.Index(stack, file)
			list = append(list, slices.Sorted(slices.Values(stack[at:])))
			stack = stack[:at]
		}
	}
	for file := range uses {
		if order[file] == 0 {
			visit(file)
		}
	}
	return list
}

// A type with many methods holds several ideas, each with fields and invariants of its own. Types
// that are still too large are listed with the number of methods that they may have.
func TestTypesHaveFewMethods(t *testing.T) {
	const most = 40
	large := map[string]int{}
	methods := map[string]map[string]bool{} // by type; a method may be in files of several systems
	for dir := range packages(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		testkit.OK(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			testkit.OK(t, err)
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv == nil {
					continue
				}
				of := dir + "." + receiver(f.Recv.List[0].Type)
				if methods[of] == nil {
					methods[of] = map[string]bool{}
				}
				methods[of][f.Name.Name] = true
			}
		}
	}
	if len(methods) < 500 {
		t.Fatalf("found %d types with methods; is this the module's root?", len(methods))
	}
	for of, list := range methods {
		if limit := max(most, large[of]); len(list) > limit {
			t.Errorf("%s has %d methods, at most %d may: divide it by what it owns", of, len(list),
				limit)
		}
	}
}

// receiver returns the name of the type of a receiver: T of T, *T, T[E] and *T[E].
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// A replica knows nothing of the fleet that it is in: no file of sim that makes up a replica names
// anything that a file of the fleet declares, nor a field of it. The journey of a request is data
// that a replica carries along for the fleet, unseen.
func TestReplicasKnowNoFleet(t *testing.T) {
	fleet := []string{"accounting.go", "agenda.go", "config.go", "config_check.go", "ending.go",
		"fleet.go", "handover.go", "instant.go", "journey.go", "outage.go", "parallel_run.go",
		"placing.go", "pool.go", "pooling.go", "prediction.go", "reuse.go", "running.go",
		"scaling.go", "simulation.go", "source.go", "tournament.go", "window.go"}
	uses := references(t, "sim")
	for _, file := range fleet {
		if len(uses[file]) == 0 && file != "tournament.go" {
			t.Errorf("sim has no file %s that refers to another", file)
		}
	}
	for file, used := range uses {
		for _, other := range fleet {
			if used[other] && !slices.Contains(fleet, file) &&
				!(file == "sequence.go" && other == "journey.go") {
				t.Errorf("%s is part of a replica and refers to %s, which is part of the fleet",
					file, other)
			}
		}
	}
}

// references returns, for each file of a package, the files that declare what it names: types and
// their fields, functions, methods, constants and variables.
func references(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	testkit.OK(t, err)
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		testkit.OK(t, err)
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

// declared reports whether an object is one of a package's own, or a method or field of a type.
func declared(object types.Object, pkg *types.Package) bool {
	switch o := object.(type) {
	case *types.Func:
		return o.Signature().Recv() != nil || o.Parent() == pkg.Scope()
	case *types.Var:
		return o.IsField() || o.Parent() == pkg.Scope()
	}
	return object.Parent() == pkg.Scope()
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not read") }
