package house

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// A test starts programs with testkit.Command, so that they end with it, and a package whose tests
// start programs checks in TestMain that no process is left.
func TestProcessesEndWithTheirTests(t *testing.T) {
	starts, checks := map[string]bool{}, map[string]bool{}
	eachTestFile(t, func(name string, file *ast.File) {
		folder := path.Dir(name)
		if folder == "internal/testkit" {
			return
		}
		for _, spec := range file.Imports {
			for _, starter := range []string{"os/exec", "internal/browsertest",
				"internal/planner/queue/queuetest", "chromedp/chromedp"} {
				if strings.HasSuffix(strings.Trim(spec.Path.Value, `"`), starter) {
					starts[folder] = true
				}
			}
		}
		for _, decl := range file.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if calls(n, "testkit", "Command") {
						starts[folder] = true
					}
					checks[folder] = checks[folder] || calls(n, "testkit", "Main") ||
						calls(n, "queuetest", "Main")
					if calls(n, "exec", "Command", "CommandContext") && !beforeTests(f) {
						t.Errorf("%s, %s: starts a program without testkit.Command", name,
							f.Name.Name)
					}
				case *ast.CompositeLit:
					s, is := n.Type.(*ast.SelectorExpr)
					checks[folder] = checks[folder] || is && s.Sel.Name == "Checked"
				}
				return true
			})
		}
	})
	for folder := range starts {
		if !checks[folder] {
			t.Errorf("%s: tests start programs, and TestMain does not call testkit.Main", folder)
		}
	}
	if len(starts) < 10 {
		t.Errorf("found %d packages whose tests start programs", len(starts))
	}
}

// beforeTests reports whether a function is a part of TestMain: it has the tests as a parameter.
func beforeTests(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		star, is := p.Type.(*ast.StarExpr)
		if !is {
			continue
		}
		if s, is := star.X.(*ast.SelectorExpr); is && s.Sel.Name == "M" {
			return true
		}
	}
	return false
}
