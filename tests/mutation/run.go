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
	"slices"
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

// count has the outcomes of the mutants of a package.
type count struct {
	name      string
	of        [unbuilt + 1]int
	survivors []string
	took      time.Duration
}

type runner struct {
	root, only string
	tests      string // the package whose tests run; empty for the tests of the changed one
	n          int
	seed       uint64
	out        io.Writer
}

// pkg is the output of go list for a package.
type pkg struct {
	Dir, ImportPath, Name              string
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
	packages, err := r.list(ctx, patterns)
	if err != nil {
		return err
	}
	var by []*pkg
	if r.tests != "" {
		if by, err = r.list(ctx, []string{r.tests}); err != nil {
			return err
		}
	}
	var counts []count
	for _, p := range packages {
		tests := p
		if len(by) > 0 {
			tests = by[0]
		}
		c, err := r.try(ctx, p, tests)
		if err != nil {
			return err
		}
		counts = append(counts, c)
	}
	table(r.out, counts)
	return nil
}

// list returns what go list says of the packages that patterns name.
func (r *runner) list(ctx context.Context, patterns []string) (packages []*pkg, err error) {
	args := []string{"list", "-json=Dir,ImportPath,Name,GoFiles,TestImports,XTestImports"}
	for _, p := range patterns {
		args = append(args, "./"+p)
	}
	list := exec.CommandContext(ctx, "go", args...)
	list.Dir, list.Stderr = r.root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// try tries mutants of p on the short tests of the package tests. Mutants of functions are built
// together, to one program that is told which of them to run.
func (r *runner) try(ctx context.Context, p, tests *pkg) (count, error) {
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
	drawn, err := r.draw(ctx, p, &c, all, sources)
	if err != nil {
		return c, err
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	together := map[string]map[int]*mutant{} // by file
	for i, m := range drawn {
		if m.body != [2]int{} {
			if together[m.file] == nil {
				together[m.file] = map[int]*mutant{}
			}
			together[m.file][i+1] = m
		}
	}
	files := map[string][]byte{filepath.Join(p.Dir, "mutant_tried.go"): chooser(p.Name)}
	for file, of := range together {
		files[file] = joined(sources[file], of)
	}
	program := filepath.Join(dir, "joined.test")
	if err := r.build(ctx, tests.ImportPath, program, files); err != nil {
		return c, err
	}
	before := time.Now()
	if f, log := r.test(ctx, tests, program, 0, 10*time.Minute); f != survived {
		return c, fmt.Errorf("%s without a change: %v\n%s", name, f, log)
	}
	usual := time.Since(before)
	for i, m := range drawn {
		runs := program
		if m.body == [2]int{} {
			runs = filepath.Join(dir, "alone.test")
			alone := map[string][]byte{m.file: m.changed(sources[m.file])}
			if err := r.build(ctx, tests.ImportPath, runs, alone); err != nil {
				return c, err
			}
		}
		f, _ := r.test(ctx, tests, runs, i+1, 5*usual+time.Minute)
		c.of[f]++
		if f == survived {
			c.survivors = append(c.survivors, m.at(name))
		}
		fmt.Fprintf(r.out, "%-14v %s\n", f, m.at(name))
	}
	c.took = time.Since(start)
	return c, nil
}

// draw draws the mutants of a package that are tried, of all that there are. It counts those that
// need not be: they do not build, or are known to change nothing.
func (r *runner) draw(ctx context.Context, p *pkg, c *count, all []mutant,
	sources map[string][]byte) ([]*mutant, error) {
	check, err := r.check(ctx, p, sources)
	if err != nil {
		return nil, err
	}
	var drawn []*mutant
	random := rand.New(rand.NewPCG(r.seed, 0))
	for _, i := range random.Perm(len(all)) {
		if len(drawn) == r.n && r.only == "" {
			break
		}
		m, f := &all[i], survived
		source := sources[m.file]
		switch {
		case known(c.name+"/"+filepath.Base(m.file)+": "+m.change(), line(source, m.start)):
			f = equivalent
		case !check.builds(m.file, m.changed(source)):
			f = unbuilt
		default:
			drawn = append(drawn, m)
			continue
		}
		c.of[f]++
		fmt.Fprintf(r.out, "%-14v %s\n", f, m.at(c.name))
	}
	return drawn, nil
}

// change says what m changes.
func (m *mutant) change() string { return short(m.was) + " → " + short(m.text) }

// at says where m is, in the package of the given name, and what it changes.
func (m *mutant) at(name string) string {
	return fmt.Sprintf("%s/%s:%d: %s", name, filepath.Base(m.file), m.line, m.change())
}

// test runs a program of the short tests of p, which draw the same inputs each time. Rapid draws a
// fifth of its usual number in short tests. Tests in a browser, which starts in no bounded memory,
// are left out.
func (r *runner) test(ctx context.Context, p *pkg, program string, number int,
	limit time.Duration) (fate, []byte) {
	args := []string{program, "-test.short", "-test.failfast", "-test.timeout", limit.String(),
		"-test.skip", "Browser"}
	if p, err := exec.LookPath("prlimit"); err == nil { // a mutant may allocate without end
		args = append([]string{p, "--as=17179869184"}, args...)
	}
	if slices.Contains(slices.Concat(p.TestImports, p.XTestImports), "pgregory.net/rapid") {
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
	}
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	test := exec.CommandContext(ctx, args[0], args[1:]...)
	test.Dir, test.Env = p.Dir, append(os.Environ(), fmt.Sprintf("%s=%d", tried, number))
	test.WaitDelay = time.Second
	out, err := test.CombinedOutput()
	switch {
	case err == nil:
		return survived, out
	case ctx.Err() != nil, bytes.Contains(out, []byte("panic: test timed out")):
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
