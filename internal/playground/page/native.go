package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/llmsim/llmsim/internal/playground"
)

// Handler serves the page at "/", and one that answers threads at "/ask". Where this program holds
// no simulator for browsers, it answers the calls of the page itself.
func Handler() (http.Handler, error) {
	text, err := withProgram(true)
	if errors.Is(err, ErrNoProgram) {
		return Native()
	}
	if err != nil {
		return nil, err
	}
	return serve(text)
}

// Native serves the page at "/", and answers its calls.
func Native() (http.Handler, error) {
	worker, err := sources.ReadFile("native.js")
	if err != nil {
		return nil, err
	}
	text, err := assemble(nil, worker, true)
	if err != nil {
		return nil, err
	}
	mux, err := serve(text)
	if err != nil {
		return nil, err
	}
	mux.Handle("POST /call", http.NewCrossOriginProtection().Handler(&callers{}))
	return mux, nil
}

// serve serves the page, and the one of threads beside it.
func serve(text []byte) (*http.ServeMux, error) {
	began := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		http.ServeContent(w, r, "", began, bytes.NewReader(text))
	})
	return mux, handleAsk(mux)
}

// mostCallers is the number of pages whose stages are kept.
const mostCallers = 16

// callers answers the calls of open pages.
type callers struct {
	mu   sync.Mutex
	list []*caller // the one that called last at the end
}

// caller is a page. Its calls are answered one after the other.
type caller struct {
	page  string
	mu    sync.Mutex
	calls playground.Calls
}

// find returns a page, and forgets the one that has not called for longest where there are many.
func (c *callers) find(page string) *caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := &caller{page: page}
	for i, one := range c.list {
		if one.page == page {
			found = one
			c.list = append(c.list[:i], c.list[i+1:]...)
			break
		}
	}
	c.list = append(c.list, found)
	c.list = c.list[max(0, len(c.list)-mostCallers):]
	return found
}

// ServeHTTP answers a call with an empty line after each simulation, and then a line of JSON.
func (c *callers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const most = 1 << 20 // bytes of a call
	var asked struct {
		Page, Call string
		Args       json.RawMessage
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	one := c.find(asked.Page)
	one.mu.Lock()
	defer one.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-ndjson")
	fmt.Fprintf(w, "%s\n", one.calls.Answer(r.Context(), asked.Call, asked.Args, func() {
		fmt.Fprintln(w)
		_ = http.NewResponseController(w).Flush()
	}))
}
