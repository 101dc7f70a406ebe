package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The questions of planners and the page of plans show what their commands print.
// With -update, figures are written anew; what has other words is for people to write.
func TestPagesShowTheOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("answers the plans of three pages")
	}
	traces := testkit.Shared(t, "traces")
	for _, name := range pagesWithOutput() {
		t.Run(name, func(t *testing.T) { showsOutput(t, name, t.TempDir(), traces) })
	}
}

// pagesWithOutput returns the pages whose commands begin with "$" and are followed by what they
// print.
func pagesWithOutput() []string {
	return []string{"questions.md", "planning.md", "comparing.md", "situations.md"}
}

// showsOutput checks that a page of the documentation shows what its commands print in a folder,
// with the files that the page names, and recorded traces from another folder if that is not "".
func showsOutput(t *testing.T, name, dir, traces string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	text := testkit.Read(t, path)
	writeNamedFiles(t, dir, string(text))
	if traces != "" {
		copyTraces(t, traces, dir)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		command, is := strings.CutPrefix(line, "    $ ")
		if !is || strings.Contains(command, " nats://") ||
			strings.Contains(command, " --listen ") {
			continue // workers and a planner that wait for each other
		}
		cmd := testkit.Command(t, "sh", "-c", command)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		shown := lines[i+1:]
		renew(t, command, shown[:outputEnd(shown)], strings.Split(string(out), "\n"))
	}
	if *update {
		err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666)
		testkit.OK(t, err)
	}
}

// outputEnd returns the number of lines of a page that are the output of the command before them:
// the lines that are indented, and empty ones between them, up to the next command.
func outputEnd(shown []string) (end int) {
	for k, line := range shown {
		switch {
		case strings.HasPrefix(line, "    $ "), line != "" && !strings.HasPrefix(line, "    "):
			return end
		case line != "":
			end = k + 1
		}
	}
	return end
}

// renew compares the lines that a page shows with the output of a command, and replaces them by the
// lines of the output. A line of "…" stands for any number of lines.
func renew(t *testing.T, command string, shown, printed []string) {
	for len(shown) > 0 {
		if strings.TrimSpace(shown[0]) == "…" {
			shown = shown[1:]
			continue
		}
		part := shown
		if end := slices.IndexFunc(part, func(s string) bool {
			return strings.TrimSpace(s) == "…"
		}); end >= 0 {
			part = part[:end]
		}
		at := find(part, printed)
		if at < 0 {
			t.Errorf("%s does not print, beside figures,\n%s\nbut\n%s", command,
				strings.Join(part, "\n"), strings.Join(printed, "\n"))
			return
		}
		for i := range part {
			if line := strings.TrimRight("    "+printed[at+i], " "); part[i] != line && !*update {
				t.Errorf("%s\nshown:   %s\nprinted: %s", command, part[i], line)
			} else {
				part[i] = line
			}
		}
		shown, printed = shown[len(part):], printed[at+len(part):]
	}
}

// find returns where the lines of a part are printed, but for figures, one after another; -1 where
// they are not.
func find(part, printed []string) int {
	for at := range printed {
		if at+len(part) <= len(printed) && slices.EqualFunc(part, printed[at:at+len(part)],
			func(a, b string) bool { return slices.Equal(words(a), words(b)) }) {
			return at
		}
	}
	return -1
}

// copyTraces copies the recorded traces that pages name.
func copyTraces(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"AzureLLMInferenceTrace_conv.csv",
		"AzureLLMInferenceTrace_code.csv", "mooncake/conversation_trace.jsonl"} {
		data := testkit.Read(t, filepath.Join(from, name))
		testkit.OK(t, os.WriteFile(filepath.Join(to, filepath.Base(name)), data, 0o666))
	}
}
