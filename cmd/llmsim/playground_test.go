package main

import (
	"bytes"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
)

// The playground shows the same figures as the command.
func TestPlaygroundFiguresAreThoseOfTheCommand(t *testing.T) {
	for _, settings := range [][]string{
		{}, {"batching=static", "batching.batch-size=4", "workload.rate=20/s"}} {
		arguments := []string{"scenario", playground.Name, "--format", "json", "--no-interval"}
		for _, s := range settings {
			arguments = append(arguments, "--set", s)
		}
		var out, notes bytes.Buffer
		if code := execute(t.Context(), arguments, &out, &notes); code != exitDone {
			t.Fatal(notes.String())
		}
		want, err := playground.Result(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%v: the command prints %d bytes, the playground has other %d", settings,
				out.Len(), len(want))
		}
	}
}
