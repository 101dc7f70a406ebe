package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every kind of change is made, and none within a type or beside a text.
func TestMutantsOfASource(t *testing.T) {
	const source = `package p

func f(a, b int, s string, l [4]int) int {
	a += 2
	g()
	if a < b && s+"x" != "y" {
		a++
	}
	c := a * b
	return c
}
`
	all, err := mutants("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		if source[m.start:m.end] != m.was {
			t.Errorf("%q at %d is %q", m.was, m.start, source[m.start:m.end])
		}
		got = append(got, short(m.was)+" → "+short(m.text))
	}
	want := []string{"a += 2 → nothing", "g() → nothing", "+= → -=", "2 → 3",
		`a < b && s+"x" != "y" → !(a < b && s+"x" != "y")`, "< → <=", "++ → --", "* → /"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A mutant that a test notices is killed and one that none does survives; the tree stays as it is.
func TestMutantsAreJudged(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26\n",
		"p.go": "package p\n\nfunc Seen(a, b int) int { return a + b }\n\n" +
			"func Unseen(a, b int) int { return a - b }\n\n" +
			"func Until(n int) int {\n\ti := 0\n\tfor i != n {\n\t\ti++\n\t}\n\treturn i\n}\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n" +
			"\tif Seen(1, 2) != 3 || Until(2) != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	r := runner{root: dir, n: 2, seed: 1, only: "./p.go:3", out: &out}
	if err := r.run(context.Background(), []string{"."}); err != nil {
		t.Fatal(err)
	}
	r.only = "./p.go:5"
	if err := r.run(context.Background(), []string{"."}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"killed         ./p.go:3: + → -",
		"survived       ./p.go:5: - → +", "survived: ./p.go:5: - → +"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, "p.go"))
	if err != nil || string(after) != files["p.go"] {
		t.Errorf("the file was changed: %v", err)
	}
}

// Each mutant that is held equivalent has a reason, and its line is still in the tree.
func TestEquivalentsAreOfTheTree(t *testing.T) {
	for l := range strings.Lines(equivalents) {
		parts := strings.Split(strings.TrimSpace(l), "\t")
		if len(parts) != 3 || parts[2] == "" {
			t.Errorf("%q: want the mutant, its line and the reason", l)
			continue
		}
		file, _, _ := strings.Cut(parts[0], ":")
		source, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(source), parts[1]) {
			t.Errorf("%s has no line %q", file, parts[1])
		}
	}
}

// At least half of a few mutants are noticed. With few, chance is large: the whole run is for 80 %.
func TestSample(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and tests two packages some times")
	}
	root := filepath.Join("..", "..")
	var out bytes.Buffer
	r := runner{root: root, n: 5, seed: commit(root), out: &out}
	if err := r.run(context.Background(), []string{"metrics", "policies/routing"}); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	missed := strings.Count(out.String(), "survived: ")
	if missed > 5 {
		t.Errorf("%d mutants of 10 survive", missed)
	}
}
