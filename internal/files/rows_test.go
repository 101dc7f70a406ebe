package files_test

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
)

// A row's line is where its first cell is in the text, whatever is between the rows.
func TestRowsHaveTheirLines(t *testing.T) {
	for _, text := range []string{
		"a,b\nr1,1\nr2,2\n", "# source\n\na,b\n\n# why\nr1, 1\n\n\nr2,2\n",
		"\ufeffa,b\r\nr1,\"1\n\n\"\r\nr2,2", "#\na,b\nr1,\"x\ny\"\n#\nr2,2\n",
	} {
		rows, err := files.Rows("t.csv", []byte(text), nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		for i, first := range []string{"a", "r1", "r2"} {
			if r := rows[i]; r.Cells[0] != first || !strings.HasPrefix(lines[r.Line-1], first) {
				t.Errorf("%q: row %d is %q of line %d", text, i, r.Cells, r.Line)
			}
		}
	}
}
