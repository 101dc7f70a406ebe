package page_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the list of chapters in docs/teaching.md")

// The address of a guided tour, of which links of others have many, leads to the chapter that has
// its idea.
func TestAddressesOfToursLeadToChapters(t *testing.T) {
	r := open(t, "memory.tokens=7000&tour=cache.1")
	tours := see[map[string]string](r, `book.tours`)
	if at := see[string](r, `book.now.chapter.id`); at != tours["cache"] {
		t.Errorf("the tour of the cache leads to %q", at)
	}
	for tour, chapter := range tours {
		if !see[bool](r, fmt.Sprintf(`chapters.some((c) => c.id === %q)`, chapter)) {
			t.Errorf("the tour %s leads to %s, which is no chapter", tour, chapter)
		}
	}
	for _, size := range [][2]int64{{1920, 1080}, {1280, 800}, {390, 844}} {
		r.do(chromedp.EmulateViewport(size[0], size[1]))
		if wide := see[int64](r, "document.documentElement.scrollWidth"); wide > size[0] {
			t.Errorf("at %v the page is %d pixels wide", size, wide)
		}
	}
}

// docs/teaching.md lists every chapter of the book.
func TestTeachingPageListsChapters(t *testing.T) {
	r := open(t, "play")
	list := "| chapter | what it is about | address |\n|---|---|---|\n"
	for _, c := range see[[]struct {
		ID, Title, Ideas string
		Number           int
	}](r, "chapters.map((c) => ({ ID: c.id, Title: c.title, Ideas: c.ideas, Number: c.number }))") {
		list += fmt.Sprintf("| %d %s | %s | `#book/%s` |\n", c.Number, c.Title, c.Ideas, c.ID)
	}
	holdsBlock(t, "The chapters.", list)
}

// holdsBlock holds a block of docs/teaching.md, between a comment that names it and the next end,
// to its text.
func holdsBlock(t *testing.T, name, list string) {
	t.Helper()
	const page, end = "../../../docs/teaching.md", "<!-- end -->\n"
	begin := "<!-- " + name + " -->\n"
	text := string(testkit.Read(t, page))
	head, rest, opened := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	}
	want := head + begin + list + end + tail
	if *update {
		testkit.OK(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	if text != want {
		t.Errorf("%s is out of date; go test ./internal/playground/page -run TeachingPage -update",
			page)
	}
}
