package validation

import (
	"embed"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// kind is a kind of table: a row of kinds.csv.
type kind struct {
	// Name is what reports call it.
	Name string `csv:"table"`
	// Files is what the names of its files look like, without folders, in upper or lower case; the
	// first of several that fits counts. A star is anything, and a word in braces is a column of
	// all rows of the file that lack it.
	Files string `csv:"files"`
	// Needs are the columns that must be there; of names with "|" between them, one.
	Needs string `csv:"needs"`
	// Rows is what holds of the rows of a file that are of the kind, as rules have conditions.
	Rows string `csv:"rows"`
	// The others are columns of trials; several that are separated by "|" are tried in turn, and
	// one that begins with "=" is a value. Count is the number of clients, of requests or of
	// sequences, Prompt and Output are lengths in tokens.
	Model  string `csv:"model"`
	GPU    string `csv:"gpu"`
	DType  string `csv:"dtype"`
	Tensor string `csv:"tensor"`
	Engine string `csv:"engine"`
	Count  string `csv:"count"`
	Prompt string `csv:"prompt"`
	Output string `csv:"output"`
	// Tokens is "random" where prompts are random tokens; any other word means text.
	Tokens string `csv:"tokens"`

	// forms are the patterns of Files.
	forms []*regexp.Regexp
	// figures are the columns with what was measured, and stated what the file's name says.
	figures []figure
	stated  map[string]string
}

//go:embed *.csv
var ownTables embed.FS

// shipped returns what reads one of the package's own tables, once.
func shipped[T any](name string) func() []T {
	return sync.OnceValue(func() []T {
		text, err := ownTables.ReadFile(name)
		if err != nil {
			panic(err) // the tables are part of the program
		}
		return files.MustReadTable[T](name, string(text))
	})
}

var (
	kindRows   = shipped[kind]("kinds.csv")
	figureRows = shipped[figure]("figures.csv")
)

// kinds lists the tables that are known.
var kinds = sync.OnceValue(func() []kind {
	list := kindRows()
	for i := range list {
		for pattern := range strings.FieldsSeq(list[i].Files) {
			list[i].forms = append(list[i].forms, formOf(pattern))
		}
	}
	for _, f := range figureRows() {
		for i := range list {
			if slices.Contains(strings.Fields(f.Tables), list[i].Name) {
				list[i].figures = append(list[i].figures, f)
			}
		}
	}
	return list
})

// kindsOf returns the kinds of table that a file name states: an empty list, or one, or the kinds
// of a file with measurements of several kinds.
func kindsOf(file string) []kind {
	base := path.Base(file)
	var list []kind
	for _, k := range kinds() {
		for _, form := range k.forms {
			if found := form.FindStringSubmatch(base); found != nil {
				k.stated = map[string]string{}
				for i, column := range form.SubexpNames() {
					k.stated[column] = found[i]
				}
				list = append(list, k)
				break
			}
		}
	}
	return list
}

// formOf returns the expression of a pattern of file names.
func formOf(pattern string) *regexp.Regexp {
	names := patternPart.ReplaceAllStringFunc(pattern, func(part string) string {
		switch part {
		case "*":
			return ".*?"
		case ".":
			return `\.`
		}
		return "(?P<" + strings.Trim(part, "{}") + ">[^_]+(?:_[^_]+)*)"
	})
	return regexp.MustCompile("(?i)^" + names + "$")
}

// patternPart finds the parts of a pattern of file names that are not literal text.
var patternPart = regexp.MustCompile(`\*|\.|\{\w+\}`)
