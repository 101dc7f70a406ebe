package doc

import (
	"html"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// drawBlocks draws a document of words without spaces, each of which is in it once.
func drawBlocks(t *rapid.T) (list Blocks, words []string) {
	word := func() string {
		w := rapid.StringMatching(`[a-z]{3}<|[a-z&]{4}`).Draw(t, "word") + "·"
		words = append(words, w)
		return w
	}
	for range rapid.IntRange(1, 8).Draw(t, "blocks") {
		switch kind := Kind(rapid.IntRange(int(Heading), int(Table)).Draw(t, "kind")); kind {
		case Gap:
			list.Gap()
		case Entry:
			list.Entry(word(), Bad(word()))
		case Table:
			header := []string{word(), word(), word()}
			list.Table(header, [][]string{{Bold(word()), word(), Dim(word())}}, 0)
		default:
			list = append(list, Block{Kind: kind, Words: Good(word())})
		}
	}
	return list, words
}

// Each renderer says all words of a document in their order, and a page and Markdown have a list
// of each run of items.
func TestRenderersSayAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, words := drawBlocks(t)
		var markdown, whole strings.Builder
		testkit.OK(t, list.Markdown(&markdown))
		testkit.OK(t, list.Page(&whole, "<b>title"))
		if !strings.Contains(whole.String(), "<h1>&lt;b&gt;title</h1>") {
			t.Errorf("the title is not text:\n%s", whole.String())
		}
		page := string(list.HTML())
		for name, said := range map[string]string{
			"text": string(list.Terminal(false)), "styled": Plain(string(list.Terminal(true))),
			"Markdown": strings.ReplaceAll(markdown.String(), "&lt;", "<"),
			"HTML":     html.UnescapeString(page),
			"page":     html.UnescapeString(whole.String())} {
			rest := said
			for _, w := range words {
				_, after, found := strings.Cut(rest, w)
				if !found {
					t.Fatalf("%s: %q is not where it belongs in\n%s", name, w, said)
				}
				rest = after
			}
			if strings.Contains(said, "\x1b") {
				t.Errorf("%s has styles", name)
			}
		}
		runs, items := 0, 0
		for i, b := range list {
			if b.Kind == Item {
				if items++; i == 0 || list[i-1].Kind != Item {
					runs++
				}
			}
		}
		for tag, want := range map[string]int{"<ul>": runs, "</ul>": runs, "<li>": items,
			"</li>": items} {
			if got := strings.Count(page, tag); got != want {
				t.Errorf("%d times %s, want %d:\n%s", got, tag, want, page)
			}
		}
		if n := strings.Count(string(list.Terminal(false)), "\n"); n != list.Lines() {
			t.Errorf("%d lines, counted as %d", n, list.Lines())
		}
	})
}

// A terminal leaves out the columns that are too wide for it, a page those that are drawn with
// characters, and the others keep their cells and their alignment.
func TestColumnsOfMedia(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "columns")
		some := rapid.SliceOfNDistinct(rapid.IntRange(1, n-1), 0, n-1, rapid.ID)
		b := Block{Kind: Table, Wide: some.Draw(t, "wide"), Left: some.Draw(t, "left")}
		row := []string{}
		for i := range n {
			b.Header, row = append(b.Header, string(rune('A'+i))), append(row, string(rune('a'+i)))
		}
		b.Rows = [][]string{row}
		page := string(Blocks{b}.HTML())
		for i := 1; i < n; i++ {
			if strings.Contains(page, `<td class="left">`+row[i]) != slices.Contains(b.Left, i) {
				t.Errorf("column %d of the page is not aligned as %v says:\n%s", i, b.Left, page)
			}
		}
		seen := b.without(b.Wide)
		if len(seen.Header) != n-len(b.Wide) || len(seen.Rows[0]) != len(seen.Header) {
			t.Fatalf("%+v of %+v", seen, b)
		}
		for k, title := range seen.Header {
			i := slices.Index(b.Header, title)
			if slices.Contains(b.Wide, i) || seen.Rows[0][k] != row[i] ||
				slices.Contains(seen.Left, k) != slices.Contains(b.Left, i) {
				t.Errorf("column %d of %+v is column %d of %+v", i, b, k, seen)
			}
		}
	})
}

// A command is the same command when its lines are joined, and keeps to the columns where its words
// do.
func TestCommandsCanBeCopied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z-]{1,30}|'[a-z "]{1,30}'`), 1, 20).
			Draw(t, "words")
		command := strings.Join(words, " ")
		out := string(Blocks{{Kind: Command, Words: command}}.Terminal(false))
		joined := strings.ReplaceAll(strings.TrimSpace(out), " \\\n    ", " ")
		if joined != command {
			t.Errorf("%q became %q", command, joined)
		}
		for line := range strings.Lines(out) {
			if len(line) > Columns+1 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
	})
}
