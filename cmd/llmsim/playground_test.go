package main

import (
	"bytes"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The playground shows the same figures as the command.
func TestPlaygroundFiguresAreThoseOfTheCommand(t *testing.T) {
	for _, settings := range [][]string{
		{}, {"batching=static", "batching.batch-size=4", "workload.rate=20/s"}} {
		arguments := []string{"scenario", playground.Name, "--format", "json", "--no-interval"}
		for _, s := range settings {
			arguments = append(arguments, "--set", s)
		}
		sameBytes(t, arguments, settings)
	}
}

func TestPlaygroundTrainsAsTheCommand(t *testing.T) {
	sameBytes(t, []string{"train", "llama-3-70b", "h100", "--gpus", "512", "--tokens", "15T",
		"--format", "json"}, []string{playground.Training, "model=llama-3-70b", "hardware=h100",
		"gpus=512", "tokens=15T"})
	sameBytes(t, []string{"train", "llama-3-8b", "h100", "--zero", "3", "--tensor", "2",
		"--global-batch", "64", "--seq", "8192", "--format", "json"}, []string{playground.Training,
		"model=llama-3-8b", "hardware=h100", "zero=3", "tensor=2", "global-batch=64", "seq=8192"})
	for _, wrong := range []string{"gpus=0", "gpus=-1", "gpus=1e9", "tensor=3", "tokens=-1",
		"model=none", "hardware=none", "speed=2"} {
		settings := []string{playground.Training, "model=llama-3-8b", "hardware=h100", wrong}
		if out, err := playground.Result(t.Context(), settings); err == nil {
			t.Errorf("%s: %d bytes, want an error", wrong, len(out))
		}
	}
}

// sameBytes fails where the playground has others than the command prints.
func sameBytes(t *testing.T, arguments, settings []string) {
	t.Helper()
	var out, notes bytes.Buffer
	if code := execute(t.Context(), arguments, &out, &notes); code != exitDone {
		t.Fatal(notes.String())
	}
	found, err := playground.Result(t.Context(), settings)
	testkit.OK(t, err)
	if !bytes.Equal(out.Bytes(), found) {
		t.Errorf("%v: the command prints %d bytes, the playground has other %d", settings,
			out.Len(), len(found))
	}
}
