package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/llmsim/llmsim/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(testkit.Checked{Tests: m}, map[string]func(){"llmsim": main})
}

// The scripts in testdata/script say what the commands do, in the words that a user types. Scripts
// that say "# dear" are drawn, and half of all with -short, unless -run names one.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	testkit.OK(t, err)
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		if testing.Short() {
			scripts = testkit.DrawCases(t, len(scripts)/2, scripts)
		}
		scripts = slices.DeleteFunc(scripts, func(script string) bool {
			return strings.HasPrefix(string(testkit.Read(t, script)), "# dear\n") &&
				!testkit.Drawn(script)
		})
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitcode,
			"width":    width,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			return nil
		},
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// The commands of GPT-2 collect garbage as Go does by default, so that weights are not held twice.
func TestGPT2CollectsGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(growthOfSimulations)
	if code := execute(context.Background(), []string{"gpt2"}, io.Discard, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if found := debug.SetGCPercent(before); found != 100 {
		t.Errorf("garbage is collected at %d%%, want 100%%", found)
	}
}
