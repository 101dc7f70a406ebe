package house

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
)

// written is the folder with the lists of what programs may rely on.
const written = "internal/house/testdata/api"

var update = flag.Bool("update", false, "write the list of what programs may rely on")

// stable lists the packages whose exported names keep their meaning throughout version 1.
var stable = []string{"sim", "sim/simtest", "policies", "policies/batching", "policies/memory",
	"policies/routing", "policies/scaling", "policies/speculation"}

// What programs may rely on is written down in testdata/api. A name may be added, with -update. A
// line that is changed or removed breaks programs, and needs a new major version.
func TestStableAPI(t *testing.T) {
	for _, dir := range stable {
		path := filepath.Join(written, strings.ReplaceAll(dir, "/", "-")+".txt")
		got := strings.Join(exported(t, dir), "\n") + "\n"
		if *update {
			testkit.OK(t, os.WriteFile(path, []byte(got), 0o666))
		}
		want := testkit.Read(t, path)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("the exported names of %s differ from %s: go test ./internal/house "+
				"-run StableAPI -update\n%s", dir, path, diff)
		}
	}
}

// exported returns the declarations of the exported names of a package, without comments and
// bodies, in order.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	testkit.OK(t, err)
	set := token.NewFileSet()
	found := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_js.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		testkit.OK(t, err)
		ast.FileExports(file)
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			if f, ok := d.(*ast.FuncDecl); ok {
				if f.Body = nil; settingsOfOurs(f) {
					continue
				}
			}
			var text bytes.Buffer
			testkit.OK(t, (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&text, set,
				d))
			var lines []string
			for line := range strings.Lines(text.String()) {
				if strings.TrimSpace(line) != "" { // where a comment was
					lines = append(lines, line)
				}
			}
			found[strings.Join(lines, "")] = true
		}
	}
	list := make([]string, 0, len(found))
	for text := range found {
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// settingsOfOurs reports whether a function is policies.Settings.New of a type that has no exported
// name: no program can call it by itself.
func settingsOfOurs(f *ast.FuncDecl) bool {
	if f.Recv == nil || f.Name.Name != "New" {
		return false
	}
	t := f.Recv.List[0].Type
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	name, ok := t.(*ast.Ident)
	return ok && !name.IsExported()
}
