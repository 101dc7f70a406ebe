package validation

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// rule says what holds of some rows of a table and stands in no column of it. Of the rules that
// set the same, the first one that fits a row holds.
type rule struct {
	Table string `csv:"table"`
	// When has conditions on columns, separated by spaces, which must all hold: "=" equals, "~"
	// contains, "^" begins with one of the alternatives between "|", and ">" is a larger number;
	// with "!" before it, the reverse. Upper and lower case are the same. Of columns with "|"
	// between them, the first that is not empty counts.
	When string `csv:"when"`
	// Sets is "refuse" for rows that are left out, with Value as the reason; "weights" for their
	// format, Value; and "drop" with a family of quantities that say nothing, for the reason Value.
	Sets  string `csv:"sets"`
	Value string `csv:"value"`
}

//go:embed rules.csv
var rulesCSV string

var rules = sync.OnceValue(func() []rule {
	return files.MustReadTable[rule]("rules.csv", rulesCSV)
})

// ruled returns what the rules set for a row, "" where no rule fits. A column's name in braces is
// its value.
func (r *row) ruled(sets string) string {
	list := rules()
	i := slices.IndexFunc(list, func(u rule) bool {
		return u.Table == r.table.kind.Name && u.Sets == sets && u.fits(r)
	})
	if i < 0 {
		return ""
	}
	return columnName.ReplaceAllStringFunc(list[i].Value, func(name string) string {
		return r.text(strings.Trim(name, "{}"))
	})
}

var (
	columnName = regexp.MustCompile(`\{\w+\}`)
	condition  = regexp.MustCompile(`^([\w|]+?)(!?)([=~^>])(.*)$`)
)

// fits reports whether all conditions hold of a row.
func (u *rule) fits(r *row) bool {
	return !slices.ContainsFunc(strings.Fields(u.When), func(one string) bool {
		m := condition.FindStringSubmatch(one)
		found := strings.ToLower(r.value(m[1] + "|="))
		holds := slices.ContainsFunc(strings.Split(m[4], "|"), func(want string) bool {
			switch m[3] {
			case "=":
				return found == want
			case "~":
				return strings.Contains(found, want)
			case "^":
				return strings.HasPrefix(found, want)
			}
			x, _ := strconv.ParseFloat(found, 64)
			least, _ := strconv.ParseFloat(want, 64)
			return x > least
		})
		return holds == (m[2] == "!")
	})
}
