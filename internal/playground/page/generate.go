//go:build ignore

// Program generate compiles the simulator for browsers into a folder, packed, with what starts it.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const module = "github.com/llmsim/llmsim"

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
	overlay, err := withoutSources(folder)
	defer os.RemoveAll(overlay)
	if err != nil {
		return err
	}
	args := []string{"build", "-overlay", filepath.Join(overlay, "overlay.json"), "-trimpath",
		"-buildvcs=false", "-ldflags", "-s -w", "-o", compiled}
	for _, p := range strings.Fields(strings.ReplaceAll(apart, "M/", module+"/")) {
		args = append(args, "-gcflags="+p+"=-l")
	}
	build := exec.Command("go", append(args, module+"/cmd/playground")...)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	if err := pack(compiled, compiled+".zst"); err != nil {
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

// withoutSources writes a folder with the catalogues as a browser needs them, and with
// overlay.json, which has go build take them: models without where their figures are from, no
// comments, and not the options of engines that only commands have.
func withoutSources(folder string) (string, error) {
	overlay, err := os.MkdirTemp(folder, "overlay")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return overlay, err
	}
	replaced := map[string]string{}
	for pattern, shorten := range map[string]func([]byte) ([]byte, error){
		"models/catalog/*.json":          withoutOrigins,
		"models/*.yaml":                  withoutComments,
		"models/engines/registry/*.yaml": withoutComments,
		"hardware/catalog/*.yaml":        withoutComments,
		"internal/launch/options/*.yaml": withoutComments,
		"scenarios/*.yaml":               withoutComments,
		"scenarios/evidence/*.yaml":      withoutComments,
		// A browser reads no commands.
		"internal/launch/options/published/*.txt": nothing,
	} {
		list, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), pattern))
		if err != nil {
			return overlay, err
		}
		for _, from := range list {
			data, err := os.ReadFile(from)
			if err == nil {
				data, err = shorten(data)
			}
			if err != nil {
				return overlay, fmt.Errorf("%s: %w", from, err)
			}
			to, err := filepath.Abs(filepath.Join(overlay, fmt.Sprint(len(replaced))))
			if err == nil {
				err = os.WriteFile(to, data, 0o644)
			}
			if err != nil {
				return overlay, err
			}
			replaced[from] = to
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return overlay, err
	}
	return overlay, os.WriteFile(filepath.Join(overlay, "overlay.json"), data, 0o644)
}

// withoutOrigins returns a file of models without the sources and the published counts, on which
// nothing but tests and lists depend.
func withoutOrigins(data []byte) ([]byte, error) {
	var models []map[string]json.RawMessage
	if err := json.Unmarshal(data, &models); err != nil {
		return nil, err
	}
	for _, m := range models {
		delete(m, "source")
		delete(m, "published")
	}
	return json.Marshal(models)
}

var comment, source = regexp.MustCompile(`(?m)^ *#.*\n`), regexp.MustCompile(`source: "[^"\n]*"`)

// withoutComments returns a file of YAML without its comments, and with a word for each source,
// which each figure must have.
func withoutComments(data []byte) ([]byte, error) {
	return source.ReplaceAll(comment.ReplaceAll(data, nil), []byte("source: omitted")), nil
}

// nothing returns a file without content.
func nothing([]byte) ([]byte, error) { return nil, nil }

// pack compresses a file: the same bytes give the same bytes. Zstandard packs the program better
// than gzip, and is unpacked in 0.4 s. The program zstd searches longer than the library, and
// packs it a seventh smaller (2.68 in place of 3.14 MB): where there is none, the page is larger.
func pack(from, to string) error {
	if zstd, err := exec.LookPath("zstd"); err == nil {
		tight := exec.Command(zstd, "-19", "--long=24", "--single-thread", "-q", "-f", from,
			"-o", to)
		tight.Stderr = os.Stderr
		return tight.Run()
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(16<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}

// apart is the packages that work before a simulation starts, or once it has ended, as the planner
// does. Without inlining, they are less to send.
const apart = `bufio bytes compress/flate compress/gzip encoding/base64 encoding/csv encoding/json
	fmt io/fs math/big os path path/filepath reflect regexp regexp/syntax sort strconv strings
	text/tabwriter time gopkg.in/yaml.v3 mvdan.cc/sh/v3/syntax gonum.org/v1/gonum/mathext/...
	gonum.org/v1/gonum/blas/... gonum.org/v1/gonum/lapack/... gonum.org/v1/gonum/mat
	gonum.org/v1/gonum/optimize/... gonum.org/v1/gonum/stat/... gonum.org/v1/gonum/floats/...
	golang.org/x/sync/errgroup math/rand hash/... M/internal/nearest M/internal/training
	M/hardware M/internal/content M/internal/files M/internal/launch/... M/internal/planner/...
	M/internal/playground M/internal/registry M/internal/report/diagnosis M/internal/report/doc
	M/internal/strict M/internal/units M/metrics M/models M/models/engines M/models/measured
	M/policies M/scenarios M/scenarios/deployment M/scenarios/evidence M/workload/...
	M/policies/scaling`
