package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llmsim/llmsim/internal/testkit"
)

// everyKind has a flag of each kind that a tag can declare.
type everyKind struct {
	on       bool          `flag:"on" usage:"u"`
	number   int           `flag:"number" default:"-3" usage:"u"`
	count    int           `flag:"count" least:"2" default:"5" usage:"u"`
	seed     uint64        `flag:"seed" default:"42" usage:"u"`
	share    float64       `flag:"share" default:"0.5" usage:"u"`
	span     time.Duration `flag:"span" default:"90s" usage:"u"`
	sizes    []int         `flag:"sizes" least:"1" default:"1,8" usage:"u"`
	threads  []int         `flag:"threads" usage:"u"`
	set      []string      `flag:"set" usage:"u"`
	only     []string      `flag:"only" split:"," usage:"u"`
	name     string        `flag:"name" default:"a name" usage:"u"`
	word     string        `flag:"word" choice:"one,two" usage:"u"`
	must     string        `flag:"must" required:"true" usage:"u"`
	untagged string
	formatFlag
}

// A flag that is not given leaves its field at the default of its tag, else at what the field held;
// one that is given sets it, and a value that the tag does not allow is refused.
func TestTagsDeclareFlags(t *testing.T) {
	run := func(args string) (everyKind, error) {
		flags := everyKind{threads: []int{1, 2}, untagged: "kept"}
		cmd := declare(&cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error { return nil }}, &flags)
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		return flags, err
	}
	want := everyKind{number: -3, count: 5, seed: 42, share: 0.5, span: 90 * time.Second,
		sizes: []int{1, 8}, threads: []int{1, 2}, name: "a name", word: "one", must: "m",
		untagged: "kept", formatFlag: formatFlag{"table"}}
	flags, err := run("--must=m")
	testkit.OK(t, err)
	if !reflect.DeepEqual(flags, want) {
		t.Errorf("without flags: %+v, want %+v", flags, want)
	}
	flags, err = run("--must=m --on --number 7 --count 2 --seed 1 --share 2 --span 1m " +
		"--sizes 3 --threads 4 --set a=1,2 --set b=1 --only x,y --name n --word two --format json")
	testkit.OK(t, err)
	given := everyKind{true, 7, 2, 1, 2, time.Minute, []int{3}, []int{4},
		[]string{"a=1,2", "b=1"}, []string{"x", "y"}, "n", "two", "m", "kept", formatFlag{"json"}}
	if !reflect.DeepEqual(flags, given) {
		t.Errorf("with flags: %+v, want %+v", flags, given)
	}
	for _, wrong := range []string{"", "--must=m --count=1", "--must=m --word=three",
		"--must=m --sizes=0", "--must=m --format=csv", "--must=m --untagged=x"} {
		if _, err := run(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// Every flag of every command says what it is for, and one default at most, which is a value that
// it takes.
func TestEveryFlagHasWords(t *testing.T) {
	twoDefaults := regexp.MustCompile(`\(default:[^)]*\)\s+\(default`)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s: usage %q", cmd.CommandPath(), f.Name, f.Usage)
			}
			if _, list := f.Value.(pflag.SliceValue); f.DefValue != "" && !list {
				if err := f.Value.Set(f.DefValue); err != nil {
					t.Errorf("%s --%s: default %q: %v", cmd.CommandPath(), f.Name, f.DefValue, err)
				}
			}
		})
		if found := twoDefaults.FindString(cmd.LocalFlags().FlagUsages()); found != "" {
			t.Errorf("%s: %s", cmd.CommandPath(), found)
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot())
}
