package files

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type inner struct {
	Count int      `csv:"count"`
	Ratio *float64 `csv:"ratio"`
}

type tableRow struct {
	Name string `csv:"name"`
	inner
	More   float64 `csv:"more,optional"`
	Filled bool
}

// What is written as a table is read back, whatever the order of its columns, with a byte order
// mark, comments and columns that may be absent.
func TestTablesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.Permutation([]string{"name", "count", "ratio"}).Draw(t, "columns")
		text := "\ufeff# a comment\n" + strings.Join(columns, ",") + "\n"
		var want []tableRow
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			row := tableRow{Name: rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "name")}
			row.Count = rapid.Int().Draw(t, "count")
			ratio := ""
			if rapid.Bool().Draw(t, "has a ratio") {
				x := rapid.Float64Range(-1e9, 1e9).Draw(t, "ratio")
				row.Ratio, ratio = &x, fmt.Sprint(x)
			}
			cells := map[string]string{"name": row.Name, "count": fmt.Sprint(row.Count),
				"ratio": ratio}
			text += cells[columns[0]] + "," + cells[columns[1]] + "," + cells[columns[2]] + "\n"
			want = append(want, row)
		}
		got, err := ReadTable[tableRow]("a.csv", []byte(text))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %d rows, %v", text, len(got), err)
		}
		for i := range got {
			a, b := got[i], want[i]
			if a.Name != b.Name || a.Count != b.Count || (a.Ratio == nil) != (b.Ratio == nil) ||
				a.Ratio != nil && *a.Ratio != *b.Ratio {
				t.Fatalf("%q: row %d is %+v", text, i, a)
			}
		}
	})
}

// Errors name the file, the line, the column and what is wrong.
func TestTablesNameWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "a.csv: the table is empty",
		"name,count,ration\n":               `a.csv:1: unknown column "ration"; did you mean ratio?`,
		"name,count,ratio,count\n":          "a.csv:1: the column count is given twice",
		"name,count\n":                      "a.csv:1: the column ratio is missing",
		"name,count,ratio\na,1\n":           "a.csv:2: found 2 fields; the first line names 3",
		"name,count,ratio\na,,1\n":          `a.csv:2: count: found "", want a whole number`,
		"name,count,ratio\na,1,2\nb,1,NaN":  `a.csv:3: ratio: found "NaN", want a number`,
		"name,count,ratio,more\na,1,2,much": `a.csv:2: more: found "much", want a number`,
		"name\xff":                          "a.csv: not a text in UTF-8",
	} {
		if _, err := ReadTable[tableRow]("a.csv", []byte(text)); err == nil ||
			err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// No text makes a reader panic, nor gives more rows than it has lines.
func FuzzTables(f *testing.F) {
	f.Add([]byte("name,count,ratio,more\n\"a,b\",1,,\n# c\nb,2,0.5,1e3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ReadTable[tableRow]("a.csv", text)
		if err == nil && len(list) > strings.Count(string(text), "\n")+
			strings.Count(string(text), "\r")+1 {
			t.Errorf("%d rows of %q", len(list), text)
		}
	})
}
