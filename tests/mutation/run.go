package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fate says what became of a mutant.
type fate int

const (
	killed fate = iota
	survived
	timedOut
	equivalent
	unbuilt
)

func (f fate) String() string {
	return [...]string{"killed", "survived", "timed out", "equivalent", "does not build"}[f]
}

// equivalents holds the mutants that change nothing that a caller can observe. Each line has the
// mutant as it is printed, without the number of its line; the text of that line; and the reason,
// with tabs between.
//
//go:embed equivalent.txt
var equivalents string

// count is what became of the mutants of a package.
type count struct {
	name      string
	of        [unbuilt + 1]int
	survivors []string
	took      time.Duration
}

type runner struct {
	root, only string
	n          int
	seed       uint64
	out        io.Writer
}

// pkg is what go list says of a package.
type pkg struct {
	Dir, ImportPath                    string
	GoFiles, TestImports, XTestImports []string
}

// run tries mutants of the packages that patterns name, relative to the root.
func (r *runner) run(ctx context.Context, patterns []string) error {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	r.root = root
	fmt.Fprintf(r.out, "seed %d\n", r.seed)
	args := []string{"list", "-json=Dir,ImportPath,GoFiles,TestImports,XTestImports"}
	for _, p := range patterns {
		args = append(args, "./"+p)
	}
	list := exec.CommandContext(ctx, "go", args...)
	list.Dir, list.Stderr = r.root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var counts []count
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		c, err := r.try(ctx, p)
		if err != nil {
			return err
		}
		counts = append(counts, c)
	}
	table(r.out, counts)
	return nil
}

// try tries mutants of a package.
func (r *runner) try(ctx context.Context, p pkg) (count, error) {
	start := time.Now()
	name, err := filepath.Rel(r.root, p.Dir)
	c := count{name: name}
	if err != nil {
		return c, err
	}
	var all []mutant
	sources := map[string][]byte{}
	for _, f := range p.GoFiles {
		path := filepath.Join(p.Dir, f)
		if sources[path], err = os.ReadFile(path); err != nil {
			return c, err
		}
		of, err := mutants(path, sources[path])
		if err != nil {
			return c, err
		}
		for _, m := range of {
			if r.only == "" || r.only == fmt.Sprintf("%s/%s:%d", name, f, m.line) {
				all = append(all, m)
			}
		}
	}
	before := time.Now()
	if f, log := r.test(ctx, p, "", 10*time.Minute); f != survived {
		return c, fmt.Errorf("%s without a change: %v\n%s", name, f, log)
	}
	usual := time.Since(before)
	random := rand.New(rand.NewPCG(r.seed, 0))
	for _, i := range random.Perm(len(all)) {
		if tried := c.of[killed] + c.of[survived] + c.of[timedOut]; tried == r.n && r.only == "" {
			break
		}
		m := all[i]
		file := name + "/" + filepath.Base(m.file)
		change := short(m.was) + " → " + short(m.text)
		what, at := file+": "+change, fmt.Sprintf("%s:%d: %s", file, m.line, change)
		f := equivalent
		if !known(what, line(sources[m.file], m.start)) {
			if f, err = r.apply(ctx, p, m, sources[m.file], 5*usual+time.Minute); err != nil {
				return c, err
			}
		}
		c.of[f]++
		if f == survived {
			c.survivors = append(c.survivors, at)
		}
		fmt.Fprintf(r.out, "%-14v %s\n", f, at)
	}
	c.took = time.Since(start)
	return c, nil
}

// apply tests p with m in place of the source.
func (r *runner) apply(ctx context.Context, p pkg, m mutant, source []byte,
	limit time.Duration) (fate, error) {
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	changed := append(append(bytes.Clone(source[:m.start]), m.text...), source[m.end:]...)
	file, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return 0, err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: file}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return 0, err
	}
	f, _ := r.test(ctx, p, overlay, limit)
	return f, nil
}

// test runs the short tests of p, which draw the same inputs each time. Rapid draws a fifth of its
// usual number in short tests.
func (r *runner) test(ctx context.Context, p pkg, overlay string,
	limit time.Duration) (fate, []byte) {
	args := []string{"test", "-short", "-failfast", "-count=1", "-vet=off",
		"-timeout", limit.String()}
	if p, err := exec.LookPath("prlimit"); err == nil { // a mutant may allocate without end
		args = append(args, "-exec", p+" --as=17179869184")
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	args = append(args, p.ImportPath)
	for _, i := range append(p.TestImports, p.XTestImports...) {
		if i == "pgregory.net/rapid" {
			args = append(args, "-rapid.seed=1", "-rapid.nofailfile",
				"-rapid.shrinktime=1ms")
			break
		}
	}
	test := exec.CommandContext(ctx, "go", args...)
	test.Dir = r.root
	out, err := test.CombinedOutput()
	switch {
	case err == nil:
		return survived, out
	case bytes.Contains(out, []byte("[build failed]")),
		bytes.Contains(out, []byte("[setup failed]")):
		return unbuilt, out
	case bytes.Contains(out, []byte("panic: test timed out")):
		return timedOut, out
	}
	return killed, out
}

// known reports whether a mutant, what, of the given line is among the equivalents.
func known(what, source string) bool {
	for l := range strings.Lines(equivalents) {
		parts := strings.Split(strings.TrimSpace(l), "\t")
		if len(parts) == 3 && parts[0] == what && parts[1] == source {
			return true
		}
	}
	return false
}

// line returns the line of source that holds the offset, without its indent.
func line(source []byte, offset int) string {
	from := bytes.LastIndexByte(source[:offset], '\n') + 1
	to := len(source)
	if i := bytes.IndexByte(source[offset:], '\n'); i >= 0 {
		to = offset + i
	}
	return strings.TrimSpace(string(source[from:to]))
}

// short returns s on one line, cut where it is long.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	if s == "" {
		return "nothing"
	}
	return s
}
