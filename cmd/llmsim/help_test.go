package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/testkit"
)

// eachCommand calls f with every command that --help shows.
func eachCommand(c *cobra.Command, f func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			f(sub)
			eachCommand(sub, f)
		}
	}
}

// Help fits into 100 columns, and says of every command in a line what it does.
func TestHelp(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	check := func(c *cobra.Command) {
		var help bytes.Buffer
		c.SetOut(&help)
		testkit.OK(t, c.Help())
		for line := range strings.Lines(help.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns &&
				!isCompletion(c) {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short help is %q; want a phrase without a full stop", c.CommandPath(),
				c.Short)
		}
	}
	check(root)
	eachCommand(root, check)
	for _, c := range root.Commands() {
		if c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
}

// isCompletion reports whether cobra made the command, so that its help is not written here.
func isCompletion(c *cobra.Command) bool {
	return c.Name() == "completion" || c.Parent() != nil && c.Parent().Name() == "completion"
}

// There is a man page for each command, and it is the same each time.
func TestManPages(t *testing.T) {
	var pages [2]map[string]string
	for i := range pages {
		dir := filepath.Join(t.TempDir(), "man1")
		var out bytes.Buffer
		if code := execute(context.Background(), []string{"man", dir}, &out,
			&out); code != exitDone {
			t.Fatalf("exit code %d: %s", code, out.String())
		}
		pages[i] = map[string]string{}
		entries, err := os.ReadDir(dir)
		testkit.OK(t, err)
		for _, e := range entries {
			data := testkit.Read(t, filepath.Join(dir, e.Name()))
			pages[i][e.Name()] = string(data)
		}
	}
	eachCommand(newRoot(), func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if page := pages[0][name]; !strings.Contains(page, c.Short) || page != pages[1][name] {
			t.Errorf("%s does not say what %s does", name, c.CommandPath())
		}
	})
}
