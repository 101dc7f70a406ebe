package timeline_test

import (
	"context"
	"log"
	"os"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Two users come at once, and their prompts share the steps' budget of tokens. Where did the time
// of the second go?
func Example() {
	file, err := scenarios.Parse("two.yaml", []byte(`
model: llama-3.1-8b
hardware: h100-sxm
steps: {prefill: {step: 5ms, token: 100us}, decode: {step: 10ms, token: 100us}}
batching: {policy: vllm-v1, token-budget: 256}
workload: {requests: 2, arrivals: at-once, prompt: 384, output: 20}
`))
	if err != nil {
		log.Fatal(err)
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		log.Fatal(err)
	}
	life, err := timeline.RecordLife(context.Background(), simulation, 1)
	if err != nil {
		log.Fatal(err)
	}
	err = doc.Print(os.Stdout, timeline.Waterfalls([]timeline.Waterfall{{Name: "two users",
		Life: life}}))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// two users
	// Request 1, 384 prompt and 20 output tokens, arrives at 0 s: 114.1 ms to the
	// first token, 307.7 ms to the last.
	//
	// queued     ███▏                               30.6 ms    9.9%
	// prefill    ████████                           76.4 ms     25%  3 steps
	// decode     ████████████████████▏             193.6 ms     63%  19 steps
	// front-end  ▊                                  7.12 ms    2.3%
	//
	//       0 s queued     ····                               30.6 ms
	//   30.6 ms prefill       ▒▒▒▒                            30.6 ms  128 tokens
	//   61.2 ms prefill          ▒▒▒▒▒                        35.6 ms  255 tokens
	//   96.8 ms prefill              ▒▒                       10.2 ms  1 token
	//    107 ms decode                █████████████████████  193.6 ms  19 steps
	//  300.6 ms front-end                                 ·   7.12 ms
	//
	// queued: waits for its first step; prefill: steps that compute its prompt;
	// decode: steps that give it tokens; front-end: takes the request in, and sends
	// its tokens.
}
