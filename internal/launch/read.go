package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
)

// Variables returns variables of a shell that are given as NAME=value.
func Variables(list []string) (map[string]string, error) {
	given := map[string]string{}
	for _, item := range list {
		name, value, ok := strings.Cut(item, "=")
		if _, twice := given[name]; !ok || !commands.IsName(name) || twice {
			return nil, fmt.Errorf("found %q; want NAME=value, each name once, such as TP=8", item)
		}
		given[name] = value
	}
	return given, nil
}

// ReadFileOrText reads the file of that name, or the folder that Write filled, or if there is
// neither, the text itself. A configuration that the command of a file names may lie beside it. The
// drafter that a command starts is read if overrides give the acceptance of its drafts. Variables
// have the given values, whatever a script sets them to.
func ReadFileOrText(text string, given map[string]string, overrides ...string) (*Reading, error) {
	r, err := readFileOrText(text, given)
	if err != nil {
		return nil, err
	}
	r.asStarted(overrides)
	return r, r.known(overrides)
}

func readFileOrText(text string, given map[string]string) (*Reading, error) {
	if strings.ContainsAny(text, " \n") {
		return readWith(text, given, nil)
	}
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return readFolder(text)
	}
	data, err := readFile(os.Open(text))
	if errors.Is(err, fs.ErrNotExist) {
		r, err := readWith(text, given, nil)
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
	return readWith(data, given, func(name string) (string, bool) {
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
	return readWith(manifests+"\n---\n"+gateway, nil, nil)
}

// readFile reads what was opened, up to the byte after the most.
func readFile(file *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, commands.MostText+1))
	return string(data), err
}

// Read reads what starts an engine: a line for a shell, a shell script, Kubernetes manifests, or a
// file of Docker Compose. It has one command that does, or commands of pools that share the work.
// Of overrides see ReadFileOrText.
func Read(text string, overrides ...string) (*Reading, error) {
	r, err := readWith(text, nil, nil)
	if err != nil {
		return nil, err
	}
	return r, r.known(overrides)
}

// readWith reads commands with variables of certain values, whose files are found beside them.
func readWith(text string, given map[string]string, beside files) (*Reading, error) {
	if len(text) > commands.MostText {
		return nil, fmt.Errorf("the text has %d bytes, more than %d", len(text), commands.MostText)
	}
	found, err := commands.Read(text, given, starts)
	if err != nil {
		return nil, err
	}
	releases := commands.Releases(text)
	for i := range found.Commands {
		found.Commands[i].Installed = releases
	}
	r, err := fleetOf(found.Commands, beside.or(found.Written))
	if err != nil && len(found.Skipped) > 0 {
		return nil, fmt.Errorf("%w; %s", err, found.Skipped[0])
	}
	if err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, found.Skipped...)
	r.pick(pickers(found.Documents))
	return r, nil
}
