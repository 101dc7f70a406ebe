package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/playground/page"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The page is served until the command is interrupted, whether or not this program holds the
// simulator for browsers. A page in a file needs it.
func TestPlaygroundIsServed(t *testing.T) {
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	printed, out := io.Pipe()
	ended := make(chan int)
	var notes bytes.Buffer
	go func() {
		code := execute(ctx, []string{"playground", "--listen", "127.0.0.1:0"}, out, &notes)
		out.Close()
		ended <- code
	}()
	line, err := bufio.NewReader(printed).ReadString('\n')
	testkit.OK(t, err)
	address := regexp.MustCompile(`http://\S+`).FindString(line)
	reply, err := http.Get(address)
	testkit.OK(t, err)
	text, err := io.ReadAll(reply.Body)
	testkit.OK(t, errors.Join(err, reply.Body.Close()))
	if reply.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("<title>llmsim")) {
		t.Errorf("%s: %s, %.100q", address, reply.Status, text)
	}
	interrupt()
	if code := <-ended; code != exitFailed {
		t.Errorf("interrupted, it ends with %d: %s", code, notes.String())
	}
	file := filepath.Join(t.TempDir(), "page.html")
	notes.Reset()
	code := execute(t.Context(), []string{"playground", "--out", file}, io.Discard, &notes)
	_, err = page.HTML()
	if (err == nil) != (code == exitDone) || code != exitDone &&
		!strings.Contains(notes.String(), "a page in a file needs") {
		t.Errorf("--out ends with %d: %s", code, notes.String())
	}
}

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
