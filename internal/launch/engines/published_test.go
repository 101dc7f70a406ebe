package engines_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/options"
)

// Every command that is written, of leaders and workers too, parses by the options that its engine
// publishes.
func TestCommandsParseByPublishedOptions(t *testing.T) {
	for _, e := range engines.All() {
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				settings := draw(t, e)
				if e.Name != "trtllm" && rapid.Bool().Draw(t, "nodes") {
					settings = append(settings, "model=deepseek-v2-lite", "fleet.pools=[]",
						rapid.SampledFrom([]string{"parallelism={tensor: 16}",
							"parallelism={tensor: 8, pipeline: 2}",
							"parallelism={tensor: 1, data: 16}"}).Draw(t, "over nodes"))
				}
				s, err := build(settings)
				if err != nil {
					t.Skip(err)
				}
				b, err := launch.NewBundle(s, e.Name)
				if err != nil {
					t.Fatalf("%q: %v", settings, err)
				}
				servers := b.Servers
				for i := range servers {
					for _, command := range [][]string{servers[i].Command, servers[i].Leader,
						servers[i].Worker} {
						if len(command) == 0 || command[0] == "/bin/sh" {
							continue // a worker's shell command has the leader's options
						}
						words := command[e.Starts(command):]
						if e.Name != "sglang" {
							words = words[1:] // the model
						}
						if err := e.Table.Check(words, options.Server); err != nil {
							t.Fatalf("%q: %v", command, err)
						}
					}
					if err := e.Table.Check(servers[i].WorkerArgs, options.Worker); err != nil {
						t.Fatalf("%q: %v", servers[i].WorkerArgs, err)
					}
				}
			})
		})
	}
}
