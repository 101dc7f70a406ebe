package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The fields of requests:
//   - of OpenAI's Chat and Completions (openai/openai-python, src/openai/types at 04448952 and
//     08b8179a) and Responses (openai/openai-ruby, lib/openai/models/responses at 03850168);
//   - of vLLM (vllm/entrypoints/openai: chat_completion/protocol.py and completion/protocol.py at
//     002032ee, responses/protocol.py at 010a69ce), with those that older versions had.
var published = strings.Fields(`
messages model audio frequency_penalty function_call functions logit_bias logprobs
max_completion_tokens max_tokens metadata modalities n parallel_tool_calls prediction
presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format
safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
top_logprobs top_p user verbosity web_search_options

prompt best_of echo suffix

background context_management conversation include input instructions max_output_tokens
max_tool_calls moderation previous_response_id prompt_cache_options reasoning text truncation

use_beam_search top_k min_p repetition_penalty length_penalty stop_token_ids
include_stop_str_in_output ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens
truncate_prompt_tokens prompt_logprobs allowed_token_ids bad_words add_generation_prompt
continue_final_message add_special_tokens documents chat_template chat_template_kwargs
mm_processor_kwargs media_io_kwargs structured_outputs guided_json guided_choice guided_regex
guided_grammar structural_tag guided_decoding_backend guided_whitespace_pattern priority request_id
logits_processors return_tokens_as_token_ids return_token_ids cache_salt kv_transfer_params
vllm_xargs include_reasoning thinking_token_budget repetition_detection prompt_embeds
enable_response_messages previous_input_messages previous_response watermarking truncation_side
logprob_token_ids session_id routed_experts_prompt_start return_token_offsets return_prompt_text
return_mm_kwargs ec_transfer_params stream_interval chat_template_content_format

adapters`)

// harmless lists the fields that change neither the time nor the tokens of an answer, and why.
func harmless() map[string]string {
	return map[string]string{
		"frequency_penalty":             "tokens are not sampled",
		"presence_penalty":              "tokens are not sampled",
		"repetition_penalty":            "tokens are not sampled",
		"seed":                          "tokens are not sampled",
		"top_k":                         "tokens are not sampled",
		"min_p":                         "tokens are not sampled",
		"length_penalty":                "it orders beams, which are refused",
		"skip_special_tokens":           "answers have no special tokens",
		"spaces_between_special_tokens": "answers have no special tokens",
		"add_special_tokens":            "prompts have no special tokens",
		"add_generation_prompt":         "conversations have one form, which ends with it",
		"chat_template_kwargs":          "conversations have one form, without a template",
		"chat_template_content_format":  "conversations have one form, without a template",
		"reasoning":                     "the scenario says how long answers are",
		"reasoning_effort":              "the scenario says how long answers are",
		"verbosity":                     "the scenario says how long answers are",
		"include_reasoning":             "answers show no reasoning",
		"thinking_token_budget":         "answers show no reasoning",
		"parallel_tool_calls":           "an answer calls one function at most",
		"max_tool_calls":                "it counts calls on the server, which are refused",
		"guided_decoding_backend":       "backends do not differ in what they allow",
		"metadata":                      "it describes what OpenAI keeps, and nothing is kept",
		"store":                         "nothing is kept, and previous_response_id is refused",
		"service_tier":                  "it is a price of OpenAI",
		"prompt_cache_key":              "it is a hint for OpenAI's routers",
		"prompt_cache_retention":        "the memory of the scenario says what is kept",
		"prompt_cache_options":          "the memory of the scenario says what is kept",
		"session_id":                    "it is a hint for routers",
		"truncation_side":               "truncate_prompt_tokens is refused",
		"routed_experts_prompt_start":   "answers show no experts",
		"return_token_offsets":          "vLLM ignores it where it generates",
		"return_mm_kwargs":              "vLLM ignores it where it generates",
		"request_id":                    "answers have names of their own",
	}
}

// Each field that clients may send is read, harmless, or refused by its name, and only one of them.
// A harmless one changes nothing in what is asked for.
func TestFieldsAreReadHarmlessOrRefused(t *testing.T) {
	places := map[string]int{}
	for i := range reflect.TypeFor[body]().NumField() {
		places[reflect.TypeFor[body]().Field(i).Tag.Get("json")]++
	}
	parse := func(name, value string) (*Request, error) {
		text := `{"prompt":"x"}`
		if name != "" {
			text = fmt.Sprintf(`{"prompt":"x",%q:%s}`, name, value)
		}
		return Parse(Completions, []byte(text))
	}
	plain, err := parse("", "")
	testkit.OK(t, err)
	for name, why := range harmless() {
		places[name]++
		if r, err := parse(name, "1"); err != nil || !reflect.DeepEqual(r, plain) || why == "" {
			t.Errorf("%s: asks for %+v, %v, want %+v", name, r, err, plain)
		}
	}
	for _, f := range refused() {
		places[f.name]++
		_, err := parse(f.name, `{"some":"thing"}`)
		var e *Error
		if !errors.As(err, &e) || e.Param != f.name || !strings.HasPrefix(e.Message, f.name+": ") {
			t.Errorf("%s: found %v, want a refusal that names it", f.name, err)
		}
		for _, value := range []string{"null", f.allowed} {
			if value == "" {
				continue
			}
			if _, err := parse(f.name, value); err != nil {
				t.Errorf("%s of %s asks for nothing: %v", f.name, value, err)
			}
		}
	}
	for _, name := range published {
		if places[name] == 0 {
			t.Errorf("%s is ignored in silence", name)
		}
	}
	for name, n := range places {
		if n != 1 {
			t.Errorf("%s has %d places, want one", name, n)
		}
	}
}

// A prompt in the field of another endpoint is not dropped.
func TestPromptsOfOtherEndpointsAreRefused(t *testing.T) {
	fields := map[string]string{"prompt": `"x"`, "messages": `[{"role":"user","content":"x"}]`,
		"input": `"x"`}
	for endpoint, names := range prompting() {
		for name, value := range fields {
			asked := map[string]json.RawMessage{names[0]: json.RawMessage(fields[names[0]]),
				name: json.RawMessage(value)}
			_, err := Parse(Endpoint(endpoint), mustMarshal(asked))
			if (err == nil) != (name == names[0]) {
				t.Errorf("endpoint %d with %s: %v", endpoint, name, err)
			}
		}
	}
}
