package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// tried is the variable of the environment that says which of the joined mutants runs, from 1.
const tried = "LLMSIM_MUTANT"

// changed returns the source with m in it.
func (m *mutant) changed(source []byte) []byte {
	return slices.Concat(source[:m.start], []byte(m.text), source[m.end:])
}

// joined returns the source with all mutants of its functions in it, by their numbers. The variable
// mutantTried chooses among the bodies of a function.
func joined(source []byte, of map[int]*mutant) []byte {
	inBody := map[[2]int][]int{}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		inBody[of[n].body] = append(inBody[of[n].body], n)
	}
	var out bytes.Buffer
	at := 0
	bodies := slices.SortedFunc(maps.Keys(inBody), func(a, b [2]int) int { return a[0] - b[0] })
	for _, body := range bodies {
		from, to := body[0], body[1]
		out.Write(source[at:from])
		out.WriteString("{ switch mutantTried {\n")
		for _, n := range inBody[body] {
			m := of[n]
			fmt.Fprintf(&out, "case %d:\n%s%s%s\n", n, source[from:m.start], m.text,
				source[m.end:to])
		}
		fmt.Fprintf(&out, "default:\n%s\n} }", source[from:to])
		at = to
	}
	out.Write(source[at:])
	return out.Bytes()
}

// chooser is the file that reads which mutant runs.
func chooser(name string) []byte {
	return fmt.Appendf(nil, `package %s

import (
	"os"
	"strconv"
)

var mutantTried, _ = strconv.Atoi(os.Getenv(%q))
`, name, tried)
}

// build compiles the tests of a package to a program at path, with files in place of the sources.
func (r *runner) build(ctx context.Context, importPath, path string,
	files map[string][]byte) error {
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	replace := map[string]string{}
	for name, source := range files {
		replace[name] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[name], source, 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o",
		path, importPath)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not build: %w\n%s", importPath, err, out)
	}
	return nil
}

// checker says whether a changed package would build.
type checker struct {
	files *token.FileSet
	trees map[string]*ast.File
	from  types.Importer
}

// check returns a checker of p, whose sources are given by their paths.
func (r *runner) check(ctx context.Context, p *pkg, sources map[string][]byte) (*checker, error) {
	c := &checker{files: token.NewFileSet(), trees: map[string]*ast.File{}}
	for path, source := range sources {
		var err error
		if c.trees[path], err = parser.ParseFile(c.files, path, source, 0); err != nil {
			return nil, err
		}
	}
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-export",
		"-json=ImportPath,Export", p.ImportPath)
	list.Dir, list.Stderr = r.root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
	c.from = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return c, nil
}

// builds reports whether the package builds with a changed file.
func (c *checker) builds(path string, source []byte) bool {
	trees := maps.Clone(c.trees)
	tree, err := parser.ParseFile(c.files, path, source, 0)
	if err != nil {
		return false
	}
	trees[path] = tree
	config := types.Config{Importer: c.from}
	_, err = config.Check("p", c.files, slices.Collect(maps.Values(trees)), nil)
	return err == nil
}
