package page

import (
	"html/template"
	"net/http"

	"github.com/llmsim/llmsim/internal/ask"
)

// asked is what the page of threads shows: what was pasted, and the answer or why there is no one.
type asked struct {
	Style                      template.CSS
	Text, GPU, Answer, Problem string
}

// handleAsk serves a page with a box for a thread at "/ask", whose answer is that of llmsim ask. It
// needs no script: this program answers.
func handleAsk(mux *http.ServeMux) error {
	layout, err := template.ParseFS(sources, "ask.html")
	if err != nil {
		return err
	}
	style, err := sources.ReadFile("style.css")
	if err != nil {
		return err
	}
	show := func(w http.ResponseWriter, a asked) {
		a.Style = template.CSS(style)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = layout.Execute(w, a) // who asked may be gone
	}
	mux.HandleFunc("GET /ask", func(w http.ResponseWriter, _ *http.Request) { show(w, asked{}) })
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const more = 1 << 10 // bytes of the other field, and three for each byte of the text
		r.Body = http.MaxBytesReader(w, r.Body, 3*ask.MostBytes+more)
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := asked{Text: r.PostForm.Get("text"), GPU: r.PostForm.Get("gpu")}
		found, err := ask.Ask(r.Context(), a.Text, ask.Options{GPU: a.GPU})
		if err != nil {
			a.Problem = err.Error()
		} else {
			a.Answer = string(found.Blocks().Terminal(false))
		}
		show(w, a)
	})
	mux.Handle("POST /ask", http.NewCrossOriginProtection().Handler(answer))
	return nil
}
