package engines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
)

// drafter is what an engine is asked for to draft tokens.
type drafter struct {
	// method is as a scenario calls it, and model the checkpoint of the draft model or of the EAGLE
	// head; empty where the model itself has what drafts.
	method, model string
	// vocabulary is the number of tokens that an EAGLE-3 head can draft; 0 for another drafter.
	vocabulary int
	// tensor is the number of accelerators that share a draft model; 0 means the model's
	// accelerators.
	tensor int
	// tokens is the depth of a draft, width the candidates after each token of it, and nodes the
	// number of tokens to verify.
	tokens, width, nodes int
}

// head is a published EAGLE head, and its vocabulary if it has its own, as EAGLE-3's has.
type head struct {
	repository string
	vocabulary int
}

// headOf returns the published head of a model of the catalogue, for EAGLE or for EAGLE-3; the zero
// head where the engines' documents name no head: docs/features/spec_decode.md of vllm-project/vllm
// at 08fbd35d, docs/source/features/speculative-decoding.md of NVIDIA/TensorRT-LLM at 04c8822c.
func headOf(model string, vocabulary int) head {
	for _, h := range models.Heads() {
		if h.Model == model && h.Method == "eagle" && h.Vocabulary == vocabulary &&
			(vocabulary > 0) == isEAGLE3(h.Name) {
			return head{h.Name, h.Vocabulary}
		}
	}
	if vocabulary > 0 {
		return head{}
	}
	return map[string]head{
		"llama-2-7b":   {"yuhuili/EAGLE-llama2-chat-7B", 0},
		"llama-2-13b":  {"yuhuili/EAGLE-llama2-chat-13B", 0},
		"llama-2-70b":  {"yuhuili/EAGLE-llama2-chat-70B", 0},
		"llama-3-8b":   {"yuhuili/EAGLE-LLaMA3-Instruct-8B", 0},
		"llama-3-70b":  {"yuhuili/EAGLE-LLaMA3-Instruct-70B", 0},
		"mixtral-8x7b": {"yuhuili/EAGLE-mixtral-instruct-8x7B", 0},
	}[model]
}

// isEAGLE3 reports whether the name of a head says that it is one of EAGLE-3.
func isEAGLE3(name string) bool { return strings.Contains(strings.ToLower(name), "eagle3") }

// drafter returns the drafter that an engine is started with, nil where it is started without one,
// and what of the scenario's drafter its command lacks.
func (d *Replica) drafter(engine string) (*drafter, []string) {
	s := d.Speculation
	if s == nil {
		return nil, nil
	}
	f := &drafter{method: s.Method, vocabulary: s.Vocabulary, tensor: s.Tensor,
		tokens: cmp.Or(s.Tokens, 4), width: 1}
	f.nodes = f.tokens
	lacks := []string{"speculation.acceptance: it is a property of your texts"}
	say := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	own := headOf(d.Server.Model.Name, s.Vocabulary)
	if s.Head != "" {
		own = head{s.Head, s.Vocabulary}
	}
	why := ""
	switch alone := d.Ranks() > 1 && engine == "sglang"; {
	case s.Method == "layer-skip":
		why = "no engine drafts with layers of the model"
	case s.Method == "medusa":
		why = "a scenario names no checkpoint of its heads"
	case s.Accelerator != "":
		why = "its drafter shares the accelerators of the model"
	case alone && (s.Method == "draft-model" || s.Method == "n-gram"):
		why = "SGLang does not have it with --enable-dp-attention"
	case s.Method == "eagle" && s.Vocabulary == 0 && !isEAGLE3(s.Head) && engine == "trtllm":
		why = "TensorRT-LLM has EAGLE-3 heads only (speculation.vocabulary)"
	case s.Method == "eagle" && (own.repository == "" || own.vocabulary != s.Vocabulary):
		why = "no published head of " + d.Server.Model.Name + " is known here"
	}
	if why != "" {
		return nil, []string{fmt.Sprintf("speculation %s: no flag is written for it: %s", s.Method,
			why)}
	}
	switch s.Method {
	case "eagle":
		f.model = own.repository
	case "draft-model":
		var stored bool
		if f.model, stored = d.checkpointOf(s.Draft, hardware.DType(s.Weights)); !stored {
			say("speculation.weights %s: no published checkpoint of %s with such weights is known "+
				"here; name one", s.Weights, f.model)
		}
		if n := s.Tensor; n > 0 && n != max(1, d.Parallelism.Tensor) &&
			(n > 1 || engine != "vllm") {
			say("speculation.tensor %d: no flag of %s is written for it", n, engine)
			f.tensor = 0
		}
	}
	if s.Tree != nil && engine == "sglang" {
		f.width, f.nodes = s.Tree.Width, cmp.Or(s.Tree.Nodes, treeSize(s.Tree.Width, f.tokens))
	} else if s.Tree != nil {
		say("speculation.tree: no flag of %s is written for it; drafts are chains", engine)
	}
	if s.Length.Policy != "" && s.Length.Policy != "fixed" {
		say("speculation.length %s: no flag is written for it; %d tokens are drafted always",
			s.Length.Policy, f.tokens)
	}
	if d.Parallelism.Pipeline > 1 && engine == "vllm" {
		say("parallelism.pipeline %d: vLLM up to 0.15 does not draft in pipeline stages "+
			"(docs/features/spec_decode/README.md)", d.Parallelism.Pipeline)
	}
	if d.Given("speculation.scheduling") {
		say("speculation.scheduling %s: no flag is written for it", s.Scheduling)
	} else if engine == "trtllm" && s.Method != "mtp" && s.Method != "n-gram" {
		say("engine.scheduling: TensorRT-LLM schedules no step ahead with such a drafter " +
			"(docs/source/features/speculative-decoding.md)")
	}
	return f, lacks
}

// treeSize is the number of tokens of a draft with width candidates at depth 1, and width for each
// of width tokens at each further depth.
func treeSize(width, depth int) int { return width + (depth-1)*width*width }

// checkpointOf returns the checkpoint of a model that a scenario calls by a name, with weights in a
// format, and whether one is published that is known.
func (d *Replica) checkpointOf(called string, weights hardware.DType) (string, bool) {
	if catalogue, err := models.Load(); err == nil {
		if model, err := catalogue.Lookup(called); err == nil {
			return models.ReleaseOf(model, called, weights, d.Server.Accelerator.Generation)
		}
	}
	return called, weights == ""
}

// vllmDrafter is --speculative-config of vLLM (vllm/config/speculative.py, v0.15).
type vllmDrafter struct {
	Method string `json:"method,omitempty"`
	Model  string `json:"model,omitempty"`
	Tokens int    `json:"num_speculative_tokens,omitempty"`
	Tensor int    `json:"draft_tensor_parallel_size,omitempty"`
}

// vllmMethods returns vLLM's names of drafters by the scenario's names; EAGLE-3 has one of its own.
func vllmMethods() map[string]string {
	return map[string]string{"draft-model": "draft_model", "eagle": "eagle", "mtp": "mtp",
		"n-gram": "ngram"}
}

// expressDrafter sets the terms of the drafter that starts in an engine.
func (d *Replica) expressDrafter(engine string, t options.Terms) {
	f, _ := d.drafter(engine)
	if f == nil {
		return
	}
	t.Set("drafter-model", f.model)
	steps := strconv.Itoa(f.tokens)
	eagle3 := f.vocabulary > 0 || f.method == "eagle" && isEAGLE3(f.model)
	switch engine {
	case "vllm":
		v := vllmDrafter{vllmMethods()[f.method], f.model, f.tokens, f.tensor}
		if eagle3 {
			v.Method = "eagle3"
		}
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // texts and numbers
		}
		delete(t, "drafter-model")
		t["drafter"] = string(text)
	case "sglang":
		t["drafter"] = map[string]string{"draft-model": "STANDALONE", "eagle": "EAGLE",
			"mtp": "EAGLE", "n-gram": "NGRAM"}[f.method]
		if eagle3 {
			t["drafter"] = "EAGLE3"
		}
		t["drafter-tokens"] = strconv.Itoa(f.nodes + 1) // with the last token of the text
		if f.method == "n-gram" {
			t["drafter-breadth"] = "1"
			return
		}
		t["drafter-steps"], t["drafter-width"] = steps, strconv.Itoa(f.width)
		if f.method == "draft-model" && d.asksWeights() == string(hardware.FP8) {
			t["drafter-weights"] = "unquant" // else it is quantised as the model is
		}
	case "trtllm":
		t["drafter"] = map[string]string{"draft-model": "DraftTarget", "eagle": "Eagle",
			"mtp": "MTP", "n-gram": "NGram"}[f.method]
		t["drafter-steps"] = steps
		if f.method == "mtp" {
			t["drafter-layers"] = steps
		}
	}
}

// interpretDrafter turns the terms of a drafter into keys of a scenario. What it is called says
// whether a head is one of EAGLE-3, whose published heads draft 32,000 tokens.
func (r *Reading) interpretDrafter(engine string) {
	name, given := r.Take("drafter")
	model, _ := r.Take("drafter-model")
	f := drafter{model: model, tokens: r.Number("drafter-steps", r.Number("drafter-layers", 0)),
		width: r.Number("drafter-width", 1), nodes: r.Number("drafter-tokens", 1) - 1}
	for _, term := range []string{"drafter-steps", "drafter-layers", "drafter-width",
		"drafter-tokens", "drafter-breadth"} {
		r.Take(term)
	}
	if !given && (engine != "vllm" && engine != "llama.cpp" || model == "") || name == "none" {
		return
	}
	if model == "[ngram]" { // of vLLM up to 0.8
		name, f.model = "ngram", ""
	}
	if engine == "vllm" && given {
		var v vllmDrafter
		if err := json.Unmarshal([]byte(name), &v); err != nil {
			r.Refuse("--speculative-config: found %q; want JSON: %v", name, err)
			return
		}
		name, f.model, f.tokens, f.tensor = v.Method, v.Model, v.Tokens, v.Tensor
	}
	// llama.cpp's names begin with draft-, or are ngram-simple and the like.
	switch lower := strings.TrimPrefix(strings.ToLower(name), "draft-"); {
	case lower == "eagle3", engine == "trtllm" && lower == "eagle", name == "" && isEAGLE3(f.model):
		f.method, f.vocabulary = "eagle", 32000
	case lower == "nextn", lower == "mtp", strings.HasSuffix(lower, "_mtp"),
		lower == "eagle" && f.model == "":
		f.method = "mtp"
	case lower == "eagle", name == "" && strings.Contains(strings.ToLower(f.model), "eagle"):
		f.method = "eagle"
	case strings.HasPrefix(lower, "ngram"):
		f.method, f.tokens, f.width = "n-gram", cmp.Or(f.tokens, f.nodes), 1
	case lower == "draft_model", lower == "standalone", lower == "simple", lower == "drafttarget",
		name == "" && f.model != "":
		f.method = "draft-model"
	default:
		r.Refuse("%s: drafts by %s are not simulated", strings.Join(r.Drafters, ", "), name)
		return
	}
	r.Set("speculation.method", f.method)
	if f.vocabulary > 0 {
		r.Set("speculation.vocabulary", strconv.Itoa(f.vocabulary))
	}
	if f.tokens > 0 {
		r.Set("speculation.tokens", strconv.Itoa(f.tokens))
	}
	if f.method == "draft-model" {
		r.setDraft(&f)
	}
	if f.width > 1 && f.method != "mtp" {
		r.Set("speculation.tree.width", strconv.Itoa(f.width))
		if f.nodes > 0 && f.nodes != treeSize(f.width, f.tokens) {
			r.Set("speculation.tree.nodes", strconv.Itoa(f.nodes))
		}
	}
}

// setDraft names the draft model, and the format of its weights if the checkpoint is a form of it.
func (r *Reading) setDraft(f *drafter) {
	if f.tensor > 0 {
		r.Set("speculation.tensor", strconv.Itoa(f.tensor))
	}
	r.Set("speculation.draft", f.model)
	catalogue, err := models.Load()
	if err != nil {
		return
	}
	if _, err := catalogue.Lookup(f.model); err == nil {
		return
	}
	if form, ok := models.ReadRelease(f.model); ok {
		r.Set("speculation.draft", form.Of)
		r.Set("speculation.weights", string(form.Weights))
	}
}
