package measured

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Tables that are made to take all memory or time are refused in words that name the bound.
func TestTablesAreBounded(t *testing.T) {
	text := func(line string, n int) []byte { return []byte("m\n" + strings.Repeat(line, n)) }
	wide := []byte(strings.Repeat("a,", maxColumns) + "b\n")
	for want, file := range map[string]struct {
		name string
		data []byte
	}{
		"found 1048577 rows": {"rows.csv", text("1\n", maxRows+1)},
		"found 101 columns":  {"columns.csv", wide},
		"(64 MiB), which is the most": {
			"bytes.csv", text(strings.Repeat("x", 60_000)+"\n", 1200)},
		"a line of more than 65536 bytes":  {"line.csv", text(",", maxLine+1)},
		"goes on over the end of its line": {"field.csv", text("\"\n\n", 1)},
		`the column "m" twice`:             {"twice.csv", []byte("m,n, m\n")},
	} {
		t.Run(file.name, func(t *testing.T) {
			dir := fstest.MapFS{file.name: {Data: file.data}}
			testkit.Bounded(t, len(file.data), func() {
				err := Table{Path: file.name}.Each(dir, func(*Row) {})
				if err == nil || !strings.Contains(err.Error(), want) ||
					!strings.HasPrefix(err.Error(), file.name) {
					t.Errorf("%v, want %q", err, want)
				}
			})
		})
	}
}
