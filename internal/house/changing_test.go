package house

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/llmsim/llmsim/internal/testkit"
)

// changing is the page that says which files each kind of change touches.
const changing = "docs/changing.md"

// exercise is a change of a kind that the page describes, made as the page says.
type exercise struct {
	section string
	files   []txtar.File
}

// exercises reads testdata/changing: the title of a section, and the files that the change touches.
// A file is new, or it has pieces of text between <<<<, ==== and >>>> that replace others.
func exercises(t *testing.T) (list []exercise) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("docs", "testdata", "changing", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		testkit.OK(t, err)
		list = append(list, exercise{strings.TrimSpace(string(archive.Comment)), archive.Files})
	}
	return list
}

// section returns the text of the page under a title.
func section(t *testing.T, title string) string {
	t.Helper()
	page := testkit.Read(t, changing)
	_, rest, found := strings.Cut(string(page), "\n## "+title+"\n")
	if !found {
		t.Fatalf("%s has no section %q", changing, title)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// quoted returns what a text has in backticks.
func quoted(text string) (list []string) {
	for _, found := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return list
}

// The page names every file that a change touches.
func TestExercisesTouchWhatThePageNames(t *testing.T) {
	for _, e := range exercises(t) {
		names := quoted(section(t, e.section))
		for _, file := range e.files {
			if !slices.ContainsFunc(names, func(name string) bool {
				return name == file.Name ||
					strings.HasSuffix(name, "/") && strings.HasPrefix(file.Name, name)
			}) {
				t.Errorf("%q touches %s, which %s does not name there", e.section, file.Name,
					changing)
			}
		}
	}
}

// The exercises, carried out on a copy of the tree, pass the tests that they bring and those that
// their sections name. What needs a file that a test writes comes second, so that no other change
// profits from it.
func TestExercisesPass(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and tests a copy of the tree")
	}
	testkit.Dear(t)
	dir := copied(t)
	var plain, writing []exercise
	for _, e := range exercises(t) {
		if strings.Contains(section(t, e.section), " -update`") {
			writing = append(writing, e)
		} else {
			plain = append(plain, e)
		}
	}
	for _, together := range [][]exercise{plain, writing} {
		for _, e := range together {
			for _, file := range e.files {
				change(t, filepath.Join(dir, file.Name), file.Data)
			}
		}
		asked, order := map[string][]string{}, []string(nil)
		for _, e := range together {
			commands := e.commands(t)
			if len(commands) == 0 {
				t.Errorf("%s names no test for %q", changing, e.section)
			}
			for _, command := range commands {
				if asked[command] == nil {
					order = append(order, command)
				}
				asked[command] = append(asked[command], e.section)
			}
		}
		for _, command := range order {
			run := testkit.Command(t, "sh", "-c", command)
			run.Dir = dir
			// Builds are shared, and a copy has no measurements beside it.
			run.Env = append(os.Environ(), "GOFLAGS=-trimpath -vet=off",
				"LLMSIM_REQUIRE_SHARED=")
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%q: %s: %v\n%.3000s", asked[command], command, err, out)
			}
		}
	}
}

// breach is a row of the page's table of changes that break a law: a text of a file, the text that
// takes its place, and the command whose test then fails.
type breach struct{ file, text, wrong, command string }

// breaches reads the table. Each text is once in its file.
func breaches(t *testing.T) (list []breach) {
	t.Helper()
	table := section(t, "Break a law, and see which test tells")
	cells := regexp.MustCompile("(?m)^\\| [^|]+" + strings.Repeat(" \\| `(.+)`", 4) + " \\|$")
	for _, row := range cells.FindAllStringSubmatch(table, -1) {
		b := breach{row[1], row[2], row[3], row[4]}
		if n := bytes.Count(testkit.Read(t, b.file), []byte(b.text)); n != 1 {
			t.Errorf("%s has %d times the text %q, want one", b.file, n, b.text)
		}
		list = append(list, b)
	}
	if len(list) < 5 {
		t.Fatalf("%s has %d changes that break a law, want 5 or more", changing, len(list))
	}
	return list
}

// Each change of the page's last table breaks the test beside it, which passes before.
func TestChangesBreakTheTestThatThePageNames(t *testing.T) {
	all := breaches(t)
	if testing.Short() {
		t.Skip("builds and tests a copy of the tree")
	}
	testkit.Dear(t)
	dir := copied(t)
	for _, b := range all {
		run := func() (string, error) {
			command := testkit.Command(t, "sh", "-c", b.command)
			command.Dir, command.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath -vet=off",
				"LLMSIM_REQUIRE_SHARED=")
			out, err := command.CombinedOutput()
			return string(out), err
		}
		if out, err := run(); err != nil {
			t.Fatalf("%s fails before the change: %.2000s", b.command, out)
		}
		path := filepath.Join(dir, b.file)
		was := testkit.Read(t, path)
		wrong := bytes.Replace(was, []byte(b.text), []byte(b.wrong), 1)
		testkit.OK(t, os.WriteFile(path, wrong, 0o666))
		_, test, _ := strings.Cut(b.command, " -run ")
		if out, err := run(); err == nil || !strings.Contains(out, "--- FAIL: "+test+" ") {
			t.Errorf("%s: %q in place of %q does not break %s: %.2000s", b.file, b.wrong, b.text,
				test, out)
		}
		testkit.OK(t, os.WriteFile(path, was, 0o666))
	}
}

// commands returns those of the section of an exercise, after ones that run the tests it brings.
func (e exercise) commands(t *testing.T) (list []string) {
	t.Helper()
	for _, file := range e.files {
		for _, test := range newTest.FindAllSubmatch(file.Data, -1) {
			list = append(list, "go test ./"+filepath.Dir(file.Name)+" -run '^"+
				string(test[1])+"$'")
		}
	}
	for _, command := range quoted(section(t, e.section)) {
		if strings.HasPrefix(command, "go ") {
			list = append(list, command)
		}
	}
	return list
}

var newTest = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// copied copies the tree to a folder.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "node_modules", "notebooks"},
			entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o777)
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o666)
	})
	testkit.OK(t, err)
	return dir
}

// change writes a new file, or replaces pieces of one.
func change(t *testing.T, path string, with []byte) {
	t.Helper()
	if !bytes.HasPrefix(with, []byte("<<<<\n")) {
		testkit.OK(t, os.WriteFile(path, with, 0o666))
		return
	}
	data := testkit.Read(t, path)
	for _, piece := range bytes.Split(with, []byte("<<<<\n"))[1:] {
		piece, _, closed := bytes.Cut(piece, []byte("\n>>>>\n"))
		before, after, divided := bytes.Cut(piece, []byte("\n====\n"))
		if !closed || !divided || bytes.Count(data, before) != 1 {
			t.Fatalf("%s has %d times the text %q, want one", path, bytes.Count(data, before),
				before)
		}
		data = bytes.Replace(data, before, after, 1)
	}
	testkit.OK(t, os.WriteFile(path, data, 0o666))
}
