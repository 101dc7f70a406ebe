//go:build js

// Program playground is the simulator in a page: it gives the page's worker functions that take
// settings and return JSON or text.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall/js"

	"github.com/llmsim/llmsim/internal/playground"
)

func main() {
	var stages []*playground.Stage // by the number that open returned
	js.Global().Set("llmsim", js.ValueOf(map[string]any{
		"options": function(func(_ []js.Value) ([]byte, error) { return playground.Choices() }),
		"result": function(func(args []js.Value) ([]byte, error) {
			return playground.Result(context.Background(), list(args[0]))
		}),
		"yaml": function(func(args []js.Value) ([]byte, error) {
			return playground.YAML(list(args[0]))
		}),
		// open(number, settings) readies a stage in the place of the last one of that number, and
		// next(number, n) returns its next frames.
		"open": function(func(args []js.Value) ([]byte, error) {
			i := args[0].Int()
			for len(stages) <= i {
				stages = append(stages, nil)
			}
			var err error
			stages[i], err = playground.NewStage(list(args[1]))
			return nil, err
		}),
		"next": function(func(args []js.Value) ([]byte, error) {
			frames, err := stages[args[0].Int()].Next(args[1].Int())
			if err != nil {
				return nil, err
			}
			return json.Marshal(frames)
		}),
	}))
	select {}
}

// function makes a function of the page: it returns {ok: text}, or {error: message}.
func function(f func(args []js.Value) ([]byte, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) (answer any) {
		defer func() {
			if p := recover(); p != nil {
				answer = map[string]any{"error": fmt.Sprint("the simulator broke: ", p)}
			}
		}()
		text, err := f(args)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"ok": string(text)}
	})
}

// list returns an array of strings.
func list(array js.Value) []string {
	items := make([]string, array.Length())
	for i := range items {
		items[i] = array.Index(i).String()
	}
	return items
}
