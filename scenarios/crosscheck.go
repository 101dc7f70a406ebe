package scenarios

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios/strict"
)

//go:embed crosscheck/*.yaml
var crossChecks embed.FS

// CrossChecks returns the names of the shipped scenarios that are small enough to be executed by
// GPT-2.
func CrossChecks() []string {
	entries, err := crossChecks.ReadDir("crosscheck")
	if err != nil {
		panic(err) // they are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// LoadCrossCheck reads a scenario to execute: the file of that name or, if there is none, the
// scenario of CrossChecks. Overrides are as in Load.
func LoadCrossCheck(name string, overrides ...string) (*File, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if files.IsAbsent(err, name) {
		data, err = crossChecks.ReadFile(path.Join("crosscheck", name+".yaml"))
		if err != nil {
			err = fmt.Errorf("%s: no such file, and %s", name,
				nearest.Unknown("cross-check", name, CrossChecks()))
		}
	}
	if err != nil {
		return nil, InputError{plainPathError(err)}
	}
	return Parse(name, data, overrides...)
}
