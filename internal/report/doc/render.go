//go:build !js

package doc

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// Style is the stylesheet of pages, which follows the reader's choice of light or dark.
//
//go:embed page.css
var Style string

// Page writes a document as a page under a title. It needs no other file, and has no script.
func (b Blocks) Page(w io.Writer, title string) error {
	title = htmlWords(title)
	_, err := io.WriteString(w, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>`+title+" – llmsim</title>\n<style>"+Style+"</style>\n</head>\n<body>\n<main>\n<h1>"+title+
		"</h1>\n"+string(b.HTML())+"</main>\n</body>\n</html>\n")
	return err
}

// Markdown writes a document as Markdown. Empty lines, and what is drawn with characters, are not
// in it.
func (b Blocks) Markdown(out io.Writer) error {
	var m strings.Builder
	for i := range b {
		one, words := &b[i], markdownWords(b[i].Words)
		switch one.Kind {
		case Heading:
			m.WriteString("### " + words + "\n\n")
		case Text:
			m.WriteString(words + "\n\n")
		case Item, Entry:
			if one.Kind == Entry {
				words = markdownWords(one.Name) + ": " + words
			}
			m.WriteString("- " + words + "\n")
			if i+1 == len(b) || b[i+1].Kind != one.Kind {
				m.WriteString("\n")
			}
		case Command, Line:
			m.WriteString("```\n" + Plain(one.Words) + "\n```\n\n")
		case Table:
			t := one.without(one.Drawn)
			markdownRow(&m, t.Header)
			m.WriteString(strings.Repeat("|---", len(t.Header)) + "|\n")
			for _, row := range t.Rows {
				markdownRow(&m, row)
			}
			m.WriteString("\n")
		case Gap, Chart, Picture:
		}
	}
	_, err := io.WriteString(out, m.String())
	return err
}

func markdownRow(m *strings.Builder, cells []string) {
	for _, c := range cells {
		fmt.Fprintf(m, "| %s ", markdownWords(c))
	}
	m.WriteString("|\n")
}

// markdownWords escapes what would break a table or begin a tag.
func markdownWords(words string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;").
		Replace(Plain(words))
}

// HTML returns a document as a part of a page, its entries as a list of cards. Empty lines, and
// what is drawn with characters, are not in it.
func (b Blocks) HTML() template.HTML {
	var h strings.Builder
	for i := range b {
		one, words := &b[i], htmlWords(b[i].Words)
		switch one.Kind {
		case Heading:
			h.WriteString("<h2>" + words + "</h2>\n")
		case Text:
			h.WriteString(`<p class="words">` + words + "</p>\n")
		case Item:
			if i == 0 || b[i-1].Kind != Item {
				h.WriteString("<ul>\n")
			}
			h.WriteString("<li>" + words + "</li>\n")
			if i+1 == len(b) || b[i+1].Kind != Item {
				h.WriteString("</ul>\n")
			}
		case Entry:
			if i == 0 || b[i-1].Kind != Entry {
				h.WriteString(`<dl class="cards">` + "\n")
			}
			h.WriteString(`<div class="card"><dt>` + htmlWords(one.Name) + "</dt><dd>" + words +
				"</dd></div>\n")
			if i+1 == len(b) || b[i+1].Kind != Entry {
				h.WriteString("</dl>\n")
			}
		case Command, Line:
			h.WriteString(`<pre tabindex="0">` + words + "</pre>\n")
		case Table:
			t := one.without(one.Drawn)
			align := func(column int) string {
				if column > 0 && slices.Contains(t.Left, column) {
					return ` class="left"`
				}
				return ""
			}
			h.WriteString(`<div class="wide" tabindex="0" role="region" aria-label="table">` +
				"<table><thead><tr>")
			for k, title := range t.Header {
				if title == "" { // readers of screens announce a header
					h.WriteString("<td></td>")
					continue
				}
				h.WriteString(`<th scope="col"` + align(k) + ">" + htmlWords(title) + "</th>")
			}
			h.WriteString("</tr></thead>\n<tbody>")
			for _, row := range t.Rows {
				h.WriteString(`<tr><th scope="row">` + htmlWords(row[0]) + "</th>")
				for k, cell := range row[1:] {
					h.WriteString("<td" + align(k+1) + ">" + htmlWords(cell) + "</td>")
				}
				h.WriteString("</tr>\n")
			}
			h.WriteString("</tbody></table></div>\n")
		case Picture:
			h.WriteString(`<div class="wide picture" tabindex="0" role="region" ` +
				`aria-label="picture">` + one.Words + "</div>\n")
		case Gap, Chart:
		}
	}
	return template.HTML(h.String())
}

// htmlWords escapes words, and makes each style a class.
func htmlWords(words string) string {
	return strings.NewReplacer(bold, `<span class="bold">`, green, `<span class="good">`, red,
		`<span class="bad">`, blue, `<span class="blue">`, dim, `<span class="dim">`, plain,
		"</span>").Replace(template.HTMLEscapeString(words))
}
