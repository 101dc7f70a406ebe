//go:build js

// Program playground is the simulator in a page: it gives the page's worker a function that answers
// calls (see playground.Calls).
package main

import (
	"context"
	"syscall/js"

	"github.com/llmsim/llmsim/internal/playground"
)

func main() {
	var calls playground.Calls
	// llmsim(call, arguments, ran) takes and returns JSON.
	js.Global().Set("llmsim", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(calls.Answer(context.Background(), args[0].String(),
			[]byte(args[1].String()), func() { args[2].Invoke() }))
	}))
	select {}
}
