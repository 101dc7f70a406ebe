package house

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// The lines of the code end at 100 columns, where a tab counts four. What stands in a raw string
// is text of its own, such as a scenario or the tag of a field, and may be longer.
func TestLinesEndAtColumn100(t *testing.T) {
	const most = 100
	for name, src := range goFiles(t) {
		raw := rawLines(name, src)
		for i, line := range strings.Split(string(src), "\n") {
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns > most && !raw[i+1] {
				t.Errorf("%s:%d: the line has %d columns, allowed: %d", name, i+1, columns, most)
			}
		}
	}
}

// goFiles returns the text of each Go file of the repository by its path.
func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" {
			files[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d Go files found: %v", len(files), err)
	}
	return files
}

// rawLines returns the numbers of the lines, from 1, that raw strings touch.
func rawLines(name string, src []byte) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && text[0] == '`' {
			first := set.Position(pos).Line
			for i := range strings.Count(text, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}
