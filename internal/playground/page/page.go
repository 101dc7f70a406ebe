// Package page is the playground: one page that holds the simulator, with nothing to load besides.
package page

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"regexp"

	"github.com/llmsim/llmsim/internal/playground"
)

//go:generate go run generate.go wasm

//go:embed page.html ask.html style.css *.js vendor/*.js book/*.js book/*.css book/chapters/*.js
var sources embed.FS

// program holds what go generate made, if it did.
//
//go:embed wasm
var program embed.FS

// ErrNoProgram says that the simulator for browsers was not made when this program was built.
var ErrNoProgram = errors.New(
	"this llmsim was built without the simulator for browsers, which a page in a file needs; " +
		"releases have it, and in a clone:\n" +
		"  go generate ./internal/playground/page && go build ./cmd/llmsim")

// content fills the page.
type content struct {
	Style   template.CSS
	Program template.HTML
	Worker  template.HTML
	// First is what the page shows before the simulator runs, as JSON.
	First   template.JS
	Scripts []template.JS
	// Served is set where the program that serves the page answers threads beside it.
	Served bool
}

// comment matches lines of comments, and indentation: browsers need neither.
var comment = regexp.MustCompile(`(?m)^[ \t]*//.*\n|^[ \t]+`)

// HTML returns the page as a file, or ErrNoProgram.
func HTML() ([]byte, error) { return withProgram(false) }

// withProgram returns the page with the simulator in it, as a file or to be served.
func withProgram(served bool) ([]byte, error) {
	packed, err := program.ReadFile("wasm/playground.wasm.zst")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoProgram
	}
	starter, err := program.ReadFile("wasm/wasm_exec.js")
	if err != nil {
		return nil, err
	}
	unpacker, err := sources.ReadFile("vendor/fzstd.js")
	if err != nil {
		return nil, err
	}
	worker, err := sources.ReadFile("worker.js")
	if err != nil {
		return nil, err
	}
	return assemble(packed, bytes.Join([][]byte{starter, unpacker, worker}, []byte("\n")), served)
}

// assemble puts the page together from the packed simulator, if any, and its worker.
func assemble(packed, worker []byte, served bool) ([]byte, error) {
	layout, err := template.ParseFS(sources, "page.html")
	if err != nil {
		return nil, err
	}
	c := content{Program: template.HTML(base64.StdEncoding.EncodeToString(packed)), Served: served}
	style, err := sources.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	bookStyle, err := sources.ReadFile("book/book.css")
	if err != nil {
		return nil, err
	}
	c.Style = template.CSS(string(style) + string(bookStyle))
	c.Worker = template.HTML(worker)
	first, err := playground.NewFirst()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(first)
	if err != nil {
		return nil, err
	}
	c.First = template.JS(text) // encoding/json escapes <, > and &
	for _, name := range []string{"vendor/htm-preact.js", "simulator.js", "settings.js",
		"frames.js", "pen.js", "pictures.js", "panel.js", "planner.js", "input.js", "app.js",
		"book/*.js", "book/chapters/*.js", // book.js orders the chapters
		"start.js"} {
		files, err := fs.Glob(sources, name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			script, err := sources.ReadFile(file)
			if err != nil {
				return nil, err
			}
			c.Scripts = append(c.Scripts, template.JS(comment.ReplaceAll(script, nil)))
		}
	}
	var out bytes.Buffer
	err = layout.Execute(&out, c)
	return out.Bytes(), err
}
