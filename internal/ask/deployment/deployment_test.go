package deployment

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/ask"
	"github.com/llmsim/llmsim/internal/testkit"
)

// A thread's deployment has the server of its command, the accelerator, and as many replicas as the
// command, a sentence or the number of accelerators says, in this order.
func TestDeploymentsOfThreads(t *testing.T) {
	const command = "\n```\nvllm serve meta-llama/Llama-2-70b-chat-hf " +
		"--tensor-parallel-size 4\n```\n"
	const manifest = "\n\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n" +
		"  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: a\n" +
		"        image: vllm/vllm-openai:v0.11.0\n        args: [--model, Qwen/Qwen3-8B]\n"
	for text, want := range map[string]struct{ replicas, note string }{
		"We run 8 H100s as two replicas:" + command:      {"2", "2 replicas from line 1"},
		"Ours are 8 H100s:" + command:                    {"2", "line 1 counts 8 accelerators"},
		"Ours are 12x NVIDIA H100 80GB SXM:" + command:   {"3", "counts 12"},
		"There are 3 vLLM replicas.\nOn H100s" + command: {"3", "from line 1"},
		"On 4 H100s, two instances:" + command:           {"2", "counts 4 accelerators"},
		"On an H100 node, 4 per replica:" + command:      {"", ", h100-sxm"},
		"On 80 GB H100 cards:" + command:                 {"", ", h100-sxm"},
		"Two replicas on H100:" + manifest:               {"3", `from "apiVersion`},
	} {
		p, err := ask.Read(text, ask.Options{})
		testkit.OK(t, err)
		d, err := Of(text, p, []string{"seed=2"})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var replicas []string
		for _, s := range d.Settings {
			if n, found := strings.CutPrefix(s, "replicas="); found {
				replicas = append(replicas, n)
			}
		}
		if !slices.Contains(d.Settings, "hardware=h100-sxm") ||
			strings.Join(replicas, "") != want.replicas ||
			!strings.Contains(d.Notes[0], want.note) ||
			d.Settings[len(d.Settings)-1] != "seed=2" {
			t.Errorf("%q: found %q, %q; want %+v", text, d.Settings, d.Notes, want)
		}
	}
	six := "On 6 H100s:" + command
	p, err := ask.Read(six, ask.Options{})
	testkit.OK(t, err)
	if _, err = Of(six, p, nil); err == nil ||
		err.Error() != "line 1 counts 6 accelerators, and a replica has 4: set replicas" {
		t.Error(err)
	}
	if _, err = Of(six, p, []string{"replicas=1"}); err != nil {
		t.Error(err)
	}
}
