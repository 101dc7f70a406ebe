package launch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// endings are the reasons for which a command that is read makes no server, each with a part of the
// error; the first that an error has counts.
func endings() [][2]string {
	return [][2]string{
		{"its number format is not simulated", "has weights in a format that is not modelled"},
		{"no config.json of the model is known", "config.json"},
	}
}

// A pasted entry that is read also runs: on the accelerator that it names, or on one that it may
// mean, its server answers a handful of requests. It ends earlier only for one of a few reasons.
// The files that start this server are read back as the same server.
func TestPastedEntriesRunWhole(t *testing.T) {
	of, whole, ended := 0, 0, map[string]int{}
	pastedEntries(t, func(e *entry, l label, text string) {
		if !l.Expected {
			return
		}
		of++
		r, given, err := e.read(text, l)
		if err != nil {
			ended["it states what is not simulated"]++
			return
		}
		simulation, set, err := anywhere(t, r, given...)
		if err == nil {
			whole++
			checkWrittenAgain(t, e.ID, simulation, set)
			return
		}
		for _, ending := range endings() {
			if strings.Contains(err.Error(), ending[1]) {
				ended[ending[0]]++
				t.Logf("%s: %.150s", e.ID, err.Error())
				return
			}
		}
		t.Errorf("%s ends for another reason: %v", e.ID, err)
	})
	t.Logf("%d of %d run whole; of the others %v", whole, of, ended)
	if 100*whole < 88*of {
		t.Errorf("%d of %d run whole, fewer than 88%%", whole, of)
	}
}

// anywhere runs a reading with a handful of requests on the first accelerator that holds it, and
// returns a simulation of it, and the settings that no command has.
func anywhere(t *testing.T, r *launch.Reading, given ...string) (*scenarios.Simulation, []string,
	error) {
	const load = "workload={requests: 4, arrivals: at-once, prompt: 100, output: 8}"
	list := []string{"b200-sxm", "b300-sxm", "mi300x", "h100-sxm"}
	if i := slices.IndexFunc(r.Settings, func(set string) bool {
		return strings.HasPrefix(set, "hardware=")
	}); i >= 0 {
		list = []string{strings.TrimPrefix(r.Settings[i], "hardware=")}
	}
	var first error
	for _, name := range list {
		set := append([]string{load, "hardware=" + name}, given...)
		simulation, err := simulated(r, set)
		if err == nil {
			result, err := simulation.Run(t.Context())
			testkit.OK(t, err)
			if result.Completed != 4 {
				t.Errorf("%s: %d of 4 requests are completed", r.Settings, result.Completed)
			}
			simulation, err = simulated(r, set)
			return simulation, set, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, nil, first
}

// simulated returns the simulation of a reading with further settings.
func simulated(r *launch.Reading, set []string) (*scenarios.Simulation, error) {
	file, err := scenarios.Parse("--from", []byte("{}"), slices.Concat(r.Settings, set)...)
	if err != nil {
		return nil, err
	}
	return file.Build(policies.Default())
}

// checkWrittenAgain fails unless what starts a simulated fleet is read back as a fleet that the
// same files start, and what starts it under each other engine is read.
func checkWrittenAgain(t *testing.T, id string, simulation *scenarios.Simulation, set []string) {
	t.Helper()
	own, err := launch.NewBundle(simulation, "")
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return
	}
	for _, engine := range launch.Engines() {
		b, err := launch.NewBundle(simulation, engine)
		if err != nil {
			continue // the engine does not run there
		}
		first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
		testkit.OK(t, b.Write(first))
		if slices.ContainsFunc(b.Notes, func(note string) bool {
			return strings.HasPrefix(note, "speculation ")
		}) { // files without the drafter have no place for what is set of it
			set = slices.DeleteFunc(slices.Clone(set), func(s string) bool {
				return strings.HasPrefix(s, "speculation.")
			})
		}
		r, err := launch.ReadFileOrText(first, nil, set...)
		if err != nil {
			t.Errorf("%s, %s: %v", id, engine, err)
			continue
		}
		if engine != own.Engine {
			continue
		}
		read, err := simulated(r, set)
		if err != nil {
			t.Errorf("%s, %s: %v", id, engine, err)
			continue
		}
		again, err := launch.NewBundle(read, engine)
		testkit.OK(t, err)
		again.Name = b.Name // that of the objects, after the model as it was named
		testkit.OK(t, again.Write(second))
		sameFiles(t, id, first, second)
	}
}

// sameFiles fails where two folders have other files that start a fleet. Their notes may differ:
// what no file says is not read back.
func sameFiles(t *testing.T, id, first, second string) {
	t.Helper()
	files, err := os.ReadDir(first)
	testkit.OK(t, err)
	for _, file := range files {
		if file.Name() == "NOTES.md" {
			continue
		}
		one := strings.Split(string(testkit.Read(t, filepath.Join(first, file.Name()))), "\n")
		other := strings.Split(string(testkit.Read(t, filepath.Join(second, file.Name()))), "\n")
		for i, line := range one {
			if i >= len(other) || line != other[i] {
				t.Errorf("%s: %s:%d is\n%s\nread back and written as\n%s", id, file.Name(), i+1,
					line, other[min(i, len(other)-1)])
				break
			}
		}
	}
}
