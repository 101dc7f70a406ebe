//go:build ignore

// Program generate compiles the simulator for browsers into a folder, packed, with what starts it.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FOLDER")
	}
	if err := generate(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func generate(folder string) error {
	compiled := filepath.Join(folder, "playground.wasm")
	defer os.Remove(compiled)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", compiled}
	// These packages work before a simulation starts, or once it has ended. Without inlining, they
	// are less to send.
	for _, before := range []string{"fmt", "gopkg.in/yaml.v3", "github.com/llmsim/llmsim/hardware",
		"github.com/llmsim/llmsim/models", "github.com/llmsim/llmsim/models/engines",
		"github.com/llmsim/llmsim/scenarios/evidence", "github.com/llmsim/llmsim/internal/files",
		"github.com/llmsim/llmsim/internal/strict", "github.com/llmsim/llmsim/policies"} {
		args = append(args, "-gcflags="+before+"=-l")
	}
	build := exec.Command("go", append(args, "github.com/llmsim/llmsim/cmd/playground")...)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	if err := pack(compiled, compiled+".gz"); err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	starter, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm",
		"wasm_exec.js"))
	if err != nil {
		return fmt.Errorf("what starts Go in a browser: %w", err)
	}
	return os.WriteFile(filepath.Join(folder, "wasm_exec.js"), starter, 0o644)
}

// pack compresses a file: the same bytes give the same bytes.
func pack(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}
