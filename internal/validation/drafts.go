package validation

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/policies/speculation"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// drafts are those of multi-token prediction: the number of tokens that are drafted in a row, and
// the probability that one is accepted if those before it were.
type drafts struct {
	tokens int
	rate   float64
}

// method returns the name of the method of speculative decoding; "" without it.
func (d drafts) method() string {
	if d.tokens == 0 {
		return ""
	}
	return "mtp"
}

// acceptance is that probability by the beginnings of the names of models. With three drafted
// tokens a step gives 2.46 and 2.61 tokens for DeepSeek-V3 and V3.2, and 3.12 and 3.31 for
// Qwen3.5-397B (sgl-project/sgl-cookbook, docs/autoregressive, 7b5bd9c0, accept length):
// 1 + a + a² + a³ is the mean of each.
var acceptance = map[string]float64{"deepseek": 0.7, "qwen3.5": 0.856}

// draft has the server draft a number of tokens, and reports whether the acceptance is known.
func (d *deployment) draft(tokens int) bool {
	for name, rate := range acceptance {
		if strings.HasPrefix(d.model.Name, name) && tokens > 0 && tokens <= maxDrafted {
			d.drafts = drafts{tokens, rate}
			d.graph *= tokens + 1 // it counts sequences, and each has its drafts in the step
			return true
		}
	}
	return false
}

// maxDrafted bounds the tokens that are drafted in a row.
const maxDrafted = 16

var draftSteps = regexp.MustCompile(`steps=(\d+)`)

// draftedSteps returns the number of tokens that a text such as "EAGLE steps=3 topk=1" names; 0
// where it names none.
func draftedSteps(text string) int {
	m := draftSteps.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// nightlyDrafts returns the number of tokens that servers of InferenceX' application, whose rows do
// not say it, are taken to draft: three, as flags of TensorRT-LLM's runs in silicon_2026 have it.
// With data-parallel attention one is assumed, of which no flag is known.
func nightlyDrafts(engine string, ranks bool) int {
	if engine == "trtllm" && ranks {
		return 1
	}
	return 3
}

// speculator returns what drafts on a server: one more layer of the model, spread as it is.
func (d *deployment) speculator(s *servers.Server, verify sim.StepClock) (sim.Speculator, error) {
	law, err := speculation.Constant(d.drafts.rate)
	if err != nil {
		return nil, err
	}
	c := s.Config
	c.Model = speculation.PredictionModule(d.model)
	c.Parallel.TwoBatch = false
	c.Engine.HostStep, c.Engine.HostSequence, c.Engine.Lookahead = 0, 0, 0
	clock, err := c.NewClock()
	if err != nil {
		return nil, err
	}
	return speculation.New(speculation.Config{Acceptance: law,
		Shape:   speculation.Shape{Depth: d.drafts.tokens, Width: 1},
		Drafter: speculation.NewModel(clock, false), Lengths: speculation.Fixed{},
		Verify: verify, Recompute: true})
}
