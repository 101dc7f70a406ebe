package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

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
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Bounded(t, len(text), func() { _, _ = Read(text) })
		})
	}
}
