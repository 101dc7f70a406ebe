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
	var servers playground.Servers
	js.Global().Set("llmsim", js.ValueOf(map[string]any{
		"options": function(func(_ []js.Value) ([]byte, error) { return playground.Choices() }),
		"result": function(func(args []js.Value) ([]byte, error) {
			return playground.Result(context.Background(), list(args[0]))
		}),
		"yaml": function(func(args []js.Value) ([]byte, error) {
			return playground.YAML(list(args[0]))
		}),
		// plan(settings, curves, ran) answers a plan; ran is called after each simulation.
		"plan": function(func(args []js.Value) ([]byte, error) {
			return playground.Plan(context.Background(), list(args[0]), args[1].Bool(),
				func() { args[2].Invoke() })
		}),
		// overview(settings, phases) returns a whole run in a few hundred points. phases is the
		// JSON of an array of playground.Phase.
		"overview": function(func(args []js.Value) ([]byte, error) {
			past, err := phases(args[1])
			if err != nil {
				return nil, err
			}
			o, err := playground.NewOverview(context.Background(), list(args[0]), past)
			if err != nil {
				return nil, err
			}
			return json.Marshal(o)
		}),
		// step(settings, prompts, decodes, context) returns one step of a server. prompts is the
		// JSON of an array of playground.Chunk.
		"step": function(func(args []js.Value) ([]byte, error) {
			var prompts []playground.Chunk
			if err := json.Unmarshal([]byte(args[1].String()), &prompts); err != nil {
				return nil, err
			}
			step, err := servers.Step(list(args[0]), prompts, args[2].Int(), args[3].Int())
			if err != nil {
				return nil, err
			}
			return json.Marshal(step)
		}),
		// open(number, settings, phases, at) readies a stage in the place of the last one of that
		// number, from the time at (in milliseconds) on, and next(number, n) returns its next
		// frames.
		"open": function(func(args []js.Value) ([]byte, error) {
			i := args[0].Int()
			for len(stages) <= i {
				stages = append(stages, nil)
			}
			past, err := phases(args[2])
			if err != nil {
				return nil, err
			}
			if stages[i], err = playground.NewStage(list(args[1]), past); err != nil {
				return nil, err
			}
			return nil, stages[i].Skip(args[3].Float())
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

// phases reads the phases of a run.
func phases(text js.Value) (past []playground.Phase, err error) {
	err = json.Unmarshal([]byte(text.String()), &past)
	return past, err
}

// list returns an array of strings.
func list(array js.Value) []string {
	items := make([]string, array.Length())
	for i := range items {
		items[i] = array.Index(i).String()
	}
	return items
}
