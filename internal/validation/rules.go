package validation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
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

var rules = shipped[rule]("rules.csv")

// ruled returns what the rules set for a row, "" where no rule fits. A column's name in braces is
// its value.
func (r *row) ruled(sets string) string {
	list := rules()
	i := slices.IndexFunc(list, func(u rule) bool {
		return u.Table == r.table.kind.Name && u.Sets == sets && r.holds(u.When)
	})
	if i < 0 {
		return ""
	}
	return columnName.ReplaceAllStringFunc(list[i].Value, func(name string) string {
		return r.text(strings.Trim(name, "{}"))
	})
}

// key is a key of the scenario of each row of a table for which conditions hold: a row of keys.csv.
// Value is a column, or several that are separated by "|" and tried in turn, and one that begins
// with "=" is a value; an empty column sets nothing.
type key struct {
	Table string `csv:"table"`
	When  string `csv:"when"`
	// Key is such as memory.utilization; or "sequences" and "tokens" for the limits of a step over
	// all ranks, whose keys depend on the policy, and "version" for the release of the engine.
	Key   string `csv:"key"`
	Value string `csv:"value"`
}

// keys are the keys of the rows of all tables.
var keys = shipped[key]("keys.csv")

// set sets the keys of a row.
func (r *row) set(d *deployment) {
	own := slices.DeleteFunc(slices.Clone(keys()), func(k key) bool {
		return k.Table != r.table.kind.Name
	})
	if len(own) == 0 || r.err != nil {
		return
	}
	document, err := strict.Parse("", fmt.Appendf(nil, "{model: %q, hardware: %q}", d.model.Name,
		d.accelerator.Name))
	for _, k := range own {
		value := r.value(k.Value + "|=")
		if value == "" || !r.holds(k.When) {
			continue
		}
		number := func() int { return r.wholeOf(k.Value, value, 1) }
		switch k.Key {
		case "sequences":
			d.maxSequences = number()
		case "tokens":
			d.tokenBudget = number()
		case "version":
			d.version = value
		default:
			if err == nil {
				err = document.Set(k.Key+"="+value, &d.Scenario)
			}
		}
	}
	if err == nil {
		err = document.Decode(&d.Scenario)
	}
	var problems strict.Problems
	if errors.As(err, &problems) {
		err = fmt.Errorf("%s: %s", problems[0].Path, problems[0].Message)
	}
	r.fail(err)
}

var (
	columnName = regexp.MustCompile(`\{\w+\}`)
	condition  = regexp.MustCompile(`^([\w|]+?)(!?)([=~^>])(.*)$`)
)

// holds reports whether all conditions hold of a row.
func (r *row) holds(when string) bool {
	return !slices.ContainsFunc(strings.Fields(when), func(one string) bool {
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
