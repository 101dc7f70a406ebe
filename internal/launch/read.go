package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models"
)

// mostText bounds the text of a command or a manifest, in bytes: the longest that people write by
// hand is a thousandth of it.
const mostText = 1 << 20

// ReadFileOrText reads the file of that name, or if there is none, the text itself. A configuration
// that the command of a file names may lie beside it.
func ReadFileOrText(text string) (*Reading, error) {
	if strings.ContainsAny(text, " \n") {
		return Read(text)
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

// readFile reads what was opened, up to the byte after the most.
func readFile(file *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostText+1))
	return string(data), err
}

// Read reads a command that starts an engine: a line for a shell, a shell script with one such
// line, or a Kubernetes manifest.
func Read(text string) (*Reading, error) { return readWith(text, nil) }

// readWith reads a command whose files are found beside it.
func readWith(text string, beside files) (*Reading, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("the text has %d bytes, more than %d", len(text), mostText)
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin files with it
	commands, written, err := shellCommands(text)
	if err == nil {
		if found := starting(commands); len(found) > 0 {
			return only(found, beside.or(written))
		}
	}
	if contained, mounted, manifest := manifestCommands(text); manifest {
		commands, written, err = contained, mounted, nil
	}
	if err != nil {
		return nil, fmt.Errorf(
			"this is neither a command for a shell nor a Kubernetes manifest: %w", err)
	}
	found := starting(commands)
	result, err := only(found, beside.or(written))
	if err == nil {
		e := &found[0].engine
		m := fleetOf(text, e)
		m.multiply(result)
		settings, notes := m.settings(e)
		result.Settings = append(result.Settings, settings...)
		slices.Sort(result.Settings)
		result.Notes = append(result.Notes, notes...)
	}
	return result, err
}

// started is a command that starts a known engine.
type started struct {
	engine engine
	words  []string // after the words that name the program
}

// starting returns the commands that start a known engine.
func starting(commands [][]string) []started {
	var list []started
	for _, words := range commands {
		for len(words) > 0 && (strings.Contains(words[0], "=") || slices.Contains(
			[]string{"exec", "env", "nohup", "sudo"}, words[0])) {
			words = words[1:]
		}
		words = launched(contained(words))
		for _, e := range engines() {
			if n := e.program(words); n > 0 {
				list = append(list, started{e, words[n:]})
			}
		}
	}
	return list
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

// only reads the only command.
func only(found []started, file files) (*Reading, error) {
	switch len(found) {
	case 0:
		return nil, errors.New(
			"found no command that starts an engine; known are vllm serve, python -m " +
				"sglang.launch_server and trtllm-serve")
	case 1:
		return found[0].read(file)
	}
	var names []string
	for _, s := range found {
		names = append(names, s.engine.name+" "+strings.Join(s.words[:min(2, len(s.words))], " "))
	}
	return nil, fmt.Errorf("found %d commands that start an engine: %s; give one of them",
		len(found), strings.Join(names, ", "))
}

// read turns the flags of a command into settings.
func (s started) read(file files) (*Reading, error) {
	r := &reading{values: map[string]string{}, file: file}
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
	result := &Reading{Engine: s.engine.name, Notes: r.notes}
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		result.Settings = append(result.Settings, key+"="+r.values[key])
	}
	return result, nil
}
