package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// mostText bounds the text of a command or a manifest, in bytes: the longest that people write by
// hand is a thousandth of it.
const mostText = 1 << 20

// ReadFileOrText reads the file of that name, or the folder that Write filled, or if there is
// neither, the text itself. A configuration that the command of a file names may lie beside it.
func ReadFileOrText(text string) (*Reading, error) {
	if strings.ContainsAny(text, " \n") {
		return Read(text)
	}
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return readFolder(text)
	}
	data, err := readFile(os.Open(text))
	if errors.Is(err, fs.ErrNotExist) {
		r, err := Read(text)
		if err != nil && strings.ContainsAny(text, "./") {
			return nil, fmt.Errorf("there is no file %s, and as a command: %w", text, err)
		}
		return r, err
	}
	if err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(filepath.Dir(text))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return readWith(data, func(name string) (string, bool) {
		beside, err := readFile(folder.Open(name))
		return beside, err == nil
	})
}

// readFolder reads a folder as Write leaves it: its kubernetes.yaml, with llm-d.yaml where there is
// one.
func readFolder(name string) (*Reading, error) {
	folder, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	manifests, err := readFile(folder.Open("kubernetes.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s has no kubernetes.yaml; name a file", name)
	}
	if err != nil {
		return nil, err
	}
	gateway, err := readFile(folder.Open("llm-d.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return readWith(manifests+"\n---\n"+gateway, nil)
}

// readFile reads what was opened, up to the byte after the most.
func readFile(file *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostText+1))
	return string(data), err
}

// Read reads what starts an engine: a line for a shell, a shell script, or Kubernetes manifests. It
// has one command that does, or commands of pools that share the work.
func Read(text string) (*Reading, error) { return readWith(text, nil) }

// readWith reads commands whose files are found beside them.
func readWith(text string, beside files) (*Reading, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("the text has %d bytes, more than %d", len(text), mostText)
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin files with it
	documents, notYAML := decode(text)
	if notYAML == nil && ofKubernetes(documents) {
		return readManifest(documents, beside)
	}
	commands, written, err := shellCommands(text, noVariables())
	switch {
	case err == nil && len(starting(commands)) > 0:
		return fleetOf(commands, beside.or(written))
	case notYAML == nil && ofCompose(documents):
		return nil, errors.New("files of Docker Compose are not read: give the command of the " +
			"service that starts an engine")
	case notYAML == nil:
		return readManifest(documents, beside)
	case strings.Contains(text, "\nkind:") || strings.HasPrefix(text, "kind:"):
		return nil, unreadable(text, notYAML)
	case err != nil:
		return nil, fmt.Errorf(
			"this is neither a command for a shell nor a Kubernetes manifest: %w", err)
	}
	return fleetOf(commands, beside.or(written))
}

// ofCompose reports whether the documents are a file of Docker Compose.
func ofCompose(documents []map[string]any) bool {
	if len(documents) != 1 {
		return false
	}
	services, _ := documents[0]["services"].(map[string]any)
	for _, service := range services {
		if at(service, "image") != nil || at(service, "build") != nil {
			return true
		}
	}
	return false
}

// unreadable returns why a manifest is no YAML.
func unreadable(text string, err error) error {
	if before, _, found := strings.Cut(text, "{{"); found {
		return fmt.Errorf("line %d of the manifest has a template, {{ … }}: give what the "+
			"template makes, such as the output of helm template", 1+strings.Count(before, "\n"))
	}
	return fmt.Errorf("the manifest cannot be read: %w", err)
}

// started is a command that starts a known engine.
type started struct {
	engine engine
	words  []string // after the words that name the program
	place
}

// starting returns the commands that start a known engine.
func starting(commands []command) []started {
	var list []started
	for _, c := range commands {
		words := launched(contained(bare(c.words)))
		for _, e := range engines() {
			if n := e.program(words); n > 0 {
				list = append(list, started{e, words[n:], c.place})
			}
		}
	}
	return list
}

// bare returns a command without what is before it: variables that are set, and exec and the like.
func bare(words []string) []string {
	for len(words) > 0 && (strings.Contains(words[0], "=") ||
		slices.Contains([]string{"exec", "env", "nohup", "sudo"}, words[0])) {
		words = words[1:]
	}
	return words
}

// launched returns the engine's command in that of a program that starts others, such as mpirun,
// and any other command as it is.
func launched(words []string) []string {
	if len(words) == 0 || !slices.Contains([]string{"mpirun", "mpiexec", "srun", "numactl", "uv",
		"uvx", "time", "trtllm-llmapi-launch"}, base(words[0])) {
		return words
	}
	for i := range words {
		for _, e := range engines() {
			if e.program(words[i:]) > 0 {
				return words[i:]
			}
		}
	}
	return words
}

// contained returns the command that runs in the container which a command such as docker run
// starts, and any other command as it is.
func contained(words []string) []string {
	if len(words) < 2 || words[1] != "run" ||
		!slices.Contains([]string{"docker", "podman", "nerdctl"}, base(words[0])) {
		return words
	}
	for i, word := range words {
		for _, e := range engines() {
			image, _, _ := strings.Cut(e.image, ":")
			if name, _, _ := strings.Cut(word, ":"); name == image {
				return entered(word, words[i+1:])
			}
		}
	}
	return words
}

// entered returns the command of a container with certain arguments. The image of vLLM starts vllm
// serve with the images that do not name a program.
func entered(image string, words []string) []string {
	if strings.Contains(image, "vllm-openai") &&
		(len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "/") &&
			!strings.HasPrefix(words[0], "/")) {
		return append([]string{"vllm", "serve"}, words...)
	}
	return words
}

// read turns the flags of a command into settings.
func (s *started) read(file files) (*reading, error) {
	r := &reading{values: map[string]string{}, flags: map[string]string{}, file: file}
	d := s.engine.dialect()
	for words := s.words; len(words) > 0; {
		var err error
		if words, err = r.next(words, d); err != nil {
			return nil, err
		}
	}
	if r.values["model"] == "" {
		return nil, errors.New("the command names no model")
	}
	catalogue, err := models.Load()
	if err != nil {
		return nil, err
	}
	r.find(catalogue)
	s.engine.settle(r)
	return r, nil
}
