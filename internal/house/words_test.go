package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// mostVague is how many of 1,000 comment lines may have one of the vague phrases. In raft, x/perf,
// akita, gonum and Prometheus' tsdb they are in 0 to 1.4 of them.
const mostVague = 1.5

// vague finds phrases that take the place of a subject or of a field's term. A comment names what
// it means: not "those of the plan" but "the plan's clauses".
var vague = regexp.MustCompile(`(?i)\b(those of|that of|of which|as many|stands for|none)\b`)

func TestCommentsNameWhatTheyMean(t *testing.T) {
	lines, found := 0, map[string][]token.Position{}
	testkit.OK(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			lines += set.Position(group.End()).Line - set.Position(group.Pos()).Line + 1
			words := strings.Join(strings.Fields(group.Text()), " ")
			for _, phrase := range vague.FindAllString(words, -1) {
				phrase = strings.ToLower(phrase)
				found[phrase] = append(found[phrase], set.Position(group.Pos()))
			}
		}
		return nil
	}))
	if lines < 10_000 {
		t.Fatalf("found %d comment lines: is this the module's root?", lines)
	}
	for phrase, places := range found {
		if rate := 1000 * float64(len(places)) / float64(lines); rate > mostVague {
			t.Errorf("%q is in %.1f of 1,000 comment lines; want at most %v: %v",
				phrase, rate, mostVague, places)
		}
	}
}
