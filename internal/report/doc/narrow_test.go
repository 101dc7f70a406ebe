package doc

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Tables of names keep to 80 columns as long as their figures do, and lose no letter.
func TestTablesKeepToTheirColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,14}(-[a-z]{1,12}){0,2}( [a-z]{1,9}){0,3}`)
		columnsOf := rapid.IntRange(2, 6).Draw(t, "columns")
		header := []string{}
		left := []int{}
		for i := range columnsOf {
			header, left = append(header, word.Draw(t, "title")), append(left, i)
		}
		rows := [][]string{}
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			row := []string{}
			for range columnsOf {
				row = append(row, word.Draw(t, "cell"))
			}
			rows = append(rows, row)
		}
		var out bytes.Buffer
		var list Blocks
		list.Table(header, rows, left...)
		testkit.OK(t, Print(&out, list))
		letters := func(s string) int { return len(s) - strings.Count(s, " ") }
		want := letters(strings.Join(header, ""))
		for _, row := range rows {
			want += letters(strings.Join(row, ""))
		}
		if got := letters(strings.ReplaceAll(out.String(), "\n", "")); got != want {
			t.Fatalf("%d letters are printed, want %d:\n%s", got, want, out.String())
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if utf8.RuneCountInString(line) > Columns {
				t.Fatalf("a line of %d columns:\n%s", utf8.RuneCountInString(line), out.String())
			}
		}
	})
}
