package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// aliases returns n lists, each of several times the one before it, the first of a.
func aliases(n int) string {
	var list strings.Builder
	before := "a"
	for i := range n {
		name := fmt.Sprintf("b%d", i)
		fmt.Fprintf(&list, "%s: &%[1]s [*%s, *%[2]s, *%[2]s, *%[2]s]\n", name, before)
		before = name
	}
	return list.String()
}

// What is no text is refused, and says so.
func TestNoTexts(t *testing.T) {
	for text, want := range map[string]string{
		"vllm serve m\x00 -tp 2\n":          "line 1 has the byte 0x0",
		"a\n\x7fELF\x02\x01":                "line 2 has the byte",
		"\xff\xfev\x00l\x00l\x00m\x00 \x00": "the byte",
		"kind: Pod\na: \"\x01\"":            "the byte 0x1",
	} {
		if r, err := Read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, r, err, want)
		}
	}
}

// Whatever a text uses again and again, reading it takes little time and memory.
func TestHostileTexts(t *testing.T) {
	often, long := strings.Repeat, strings.Repeat("x", 30_000)
	keys := func(n int) string {
		var list strings.Builder
		for i := range n {
			fmt.Fprintf(&list, "k%d: '',", i)
		}
		return list.String()
	}
	config := "kind: ConfigMap\nmetadata: {name: c}\ndata: {" + keys(1_000) + "}\n---\n"
	for name, text := range map[string]string{
		"a variable in a word": "A=" + long + "\nvllm serve m \"" + often("$A", 15_000) + `"`,
		"a variable of a word": "A=" + long + "\nvllm serve m" + often(` "$A"`, 6_000),
		"a variable of words": "A='" + often("x ", 15_000) + "'\nvllm serve m" +
			often(" $A", 10_000),
		"a variable of variables": "A=" + long + often("\nB=$A", 6_000) + "\nvllm serve m",
		"a variable of files": "A=" + long + often("\ncat >f <<E\n$A\nE", 2_000) +
			"\nvllm serve m",
		"brackets":      "vllm serve m -tp $((" + often("(", 500_000),
		"a long script": often("if ", 300_000),
		"unknown flags": "kind: D\ncommand: [vllm, serve, m" +
			often(", --zz", 50_000) + "]",
		"a long flag": "kind: D\ncommand: [vllm, serve, m, --" +
			often(long, 30) + "]",
		"a proxy with many files": "cat >f <<E\ncontext_servers: {urls: [" + often("a,", 15_000) +
			"]}\nE\nvllm serve m\ntrtllm-serve disaggregated -c" + often(" f", 15_000),
		"a variable of a manifest": "kind: D\nenv: [{name: A, value: " + long + "}]\n" +
			"command: [vllm, serve, m" + often(", $(A)", 30_000) + "]",
		"a file that is named often": config + "kind: D\nv: [" +
			often("{configMap: {name: c}},", 20_000) + "]\ncommand: [vllm, serve, m]",
		"many keys": "kind: D\na: {" + keys(50_000) + "}",
		"leaders in leaders": "kind: D\na: " + often("{leaderTemplate: ", 3_000) + "[" +
			often("{command: [vllm, serve, m]},", 20_000) + "]" + often("}", 3_000),
		"a million lines":    often("\n", 1_000_000),
		"lines of a text":    often("a\n", 500_000),
		"a deep manifest":    "kind: Pod\nspec: " + often("{a: ", 100_000) + often("}", 100_000),
		"a list in a list":   "kind: Pod\nspec: " + often("[", 500_000),
		"aliases of aliases": "kind: Pod\na: &a [x, x, x]\n" + aliases(60),
		"brackets of Python": "from vllm import LLM\nLLM(\"m\", tensor_parallel_size=" +
			often("(", 100_000) + "2",
		"commands in commands": "vllm serve " + often("$(", 30_000),
		"choices":              "vllm serve m " + often("{a,b}", 10_000),
		"defaults in defaults": "vllm serve " + often("${A:-", 10_000) + "m" + often("}", 10_000),
		"compose's defaults": "services: {v: {image: vllm/vllm-openai, command: [--model, \"" +
			often("${A:-", 100_000) + "m" + often("}", 100_000) + "\"]}}",
		"a value of itself": "x: &x {a: *x}\nkind: Pod\n",
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Bounded(t, len(text), func() { _, _ = Read(text) })
		})
	}
}
