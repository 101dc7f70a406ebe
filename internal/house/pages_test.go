package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// paths returns what a page names in backticks that looks like a path of the repository.
func paths(t *testing.T, page string) []string {
	t.Helper()
	text := testkit.Read(t, page)
	var list []string
	for _, found := range regexp.MustCompile("`([a-z][a-z0-9_/.-]*)`").FindAllStringSubmatch(
		string(text), -1) {
		if name := found[1]; strings.Contains(name, "/") || slices.Contains(folders(t), name) {
			list = append(list, name)
		}
	}
	return list
}

// folders lists the folders of the repository with Go files, two levels deep at most.
func folders(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		parts := strings.Split(filepath.ToSlash(filepath.Dir(name)), "/")
		if dir := strings.Join(parts[:min(2, len(parts))], "/"); dir != "." &&
			!slices.Contains(list, dir) {
			list = append(list, dir)
		}
		return nil
	})
	testkit.OK(t, err)
	return list
}

// The pages for people who change the code name files that exist.
func TestPagesNameFilesThatExist(t *testing.T) {
	for _, page := range []string{"docs/changing.md", "docs/architecture.md", "CONTRIBUTING.md"} {
		for _, name := range paths(t, page) {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s names %s: %v", page, name, err)
			}
		}
	}
}

// The map of the architecture shows every folder, by itself or by the one above it.
func TestPagesShowEveryFolder(t *testing.T) {
	shown := paths(t, "docs/architecture.md")
	text := testkit.Read(t, "docs/architecture.md")
	for _, dir := range folders(t) {
		top, _, _ := strings.Cut(dir, "/")
		if !slices.Contains(shown, dir) &&
			(top == "internal" || !strings.Contains(string(text), "`"+top+"`")) {
			t.Errorf("docs/architecture.md does not show %s", dir)
		}
	}
}

// Pages that sources and comments cite are there. What is cited of other projects lies deeper, or
// has an underscore in its name.
func TestFilesCitePagesThatExist(t *testing.T) {
	cited := regexp.MustCompile(`(^|[^/\w.-])(docs/[a-z-]+\.md)`)
	seen := 0
	testkit.OK(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".yaml", ".csv", ".go"}, filepath.Ext(name)) {
			return err
		}
		for _, found := range cited.FindAllStringSubmatch(string(testkit.Read(t, name)), -1) {
			seen++
			if _, err := os.Stat(found[2]); err != nil {
				t.Errorf("%s cites %s: %v", name, found[2], err)
			}
		}
		return nil
	}))
	if seen < 50 {
		t.Errorf("found %d citations, want 50 or more", seen)
	}
}

// Links of every page lead to files, and to headings, that are there.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)
	testkit.OK(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "node_modules" { // what the clients' tests install
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(name) != ".md" || strings.Contains(name, "testdata") {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(string(testkit.Read(t, name)), -1) {
			target := name
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(name), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, found[1], err)
			} else if found[2] != "" && filepath.Ext(target) == ".md" &&
				!slices.Contains(anchors(string(testkit.Read(t, target))), found[2]) {
				t.Errorf("%s links to %s%s, which is no heading there", name, found[1], found[2])
			}
		}
		return nil
	}))
}

// What is still to be filled in is on no page.
func TestPagesHaveNoPlaceholders(t *testing.T) {
	placeholder := regexp.MustCompile(`\b(XX+|YY+|TODO|TBD|FIXME)\b`)
	testkit.OK(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(name) != ".md" || strings.Contains(name, "testdata") {
			return err
		}
		if found := placeholder.FindString(string(testkit.Read(t, name))); found != "" {
			t.Errorf("%s has %q, which is to be filled in", name, found)
		}
		return nil
	}))
}

// anchors lists the headings of a page, and the marks between, as links name them.
func anchors(page string) (list []string) {
	odd := regexp.MustCompile(`[^a-z0-9 _-]`)
	for line := range strings.SplitSeq(page, "\n") {
		if level, title, ok := strings.Cut(line, " "); ok && strings.Trim(level, "#") == "" {
			title = odd.ReplaceAllString(strings.ToLower(title), "")
			list = append(list, "#"+strings.ReplaceAll(title, " ", "-"))
		}
	}
	for _, mark := range regexp.MustCompile(`<a id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		list = append(list, "#"+mark[1])
	}
	return list
}
