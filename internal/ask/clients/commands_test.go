package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// written returns the commands of testdata/commands.txt, as people have them, each with what it
// says: a setting behind =, a note behind ~, or behind ! why it is not read.
func written(t testing.TB) map[string][]string {
	list := map[string][]string{}
	text := string(testkit.Read(t, "testdata/commands.txt"))
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		command, says, _ := strings.Cut(block, "\n= ")
		if before, _, ends := strings.Cut(block, "\n! "); ends {
			command, says = before, strings.TrimPrefix(block[len(before):], "\n")
		} else {
			says = "= " + says
		}
		list[command+"\n"] = strings.Split(says, "\n")
	}
	return list
}

// Commands of load generators as people have them are read as the load that the tool's
// documentation says, or refused with what shapes them and is not simulated.
func TestCommandsAsPeopleHaveThem(t *testing.T) {
	for command, want := range written(t) {
		settings, notes, err := Beside(command, nil)
		var got []string
		for _, s := range settings {
			got = append(got, "= "+s)
		}
		for _, n := range notes {
			got = append(got, "~ "+n)
		}
		switch {
		case err != nil:
			got = append(got, "! "+err.Error())
		case len(got) == 0:
			got = []string{"! no load"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is read as\n%s\nwant\n%s", command, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// Whatever a text is, its loads are settings that a scenario knows, or an error.
func FuzzFind(f *testing.F) {
	for command := range written(f) {
		f.Add(command)
	}
	f.Add("load:\n  type: concurrent\n  stages:\n  - {num_requests: 40, concurrency_level: 8}\n" +
		"data: {type: shared_prefix, shared_prefix: {num_groups: 4, system_prompt_len: 1e99}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Find(text, nil)
		stages, wrong := FindPerf(text)
		if err != nil && wrong != nil {
			return
		}
		for _, l := range append(list, stages...) {
			settings, err := l.Settings()
			if err != nil {
				continue
			}
			if _, err := scenarios.Parse("f", []byte("{}"), settings...); err != nil &&
				strings.Contains(err.Error(), "unknown key") {
				t.Fatalf("%q: %v", settings, err)
			}
		}
	})
}
