package openai

import (
	"bytes"
	"encoding/json"
)

// Endpoint is an endpoint that generates text.
type Endpoint int

// The endpoints.
const (
	Completions Endpoint = iota
	Chat
	Responses
)

// Each field of a request of OpenAI's API or of vLLM is read into body, refused by name, or changes
// neither the time nor the tokens of an answer (harmless, in the tests, lists these and says why).
// The last are ignored, as are fields that neither API has, as in vLLM.

// refusal is a field that made-up answers cannot follow.
type refusal struct {
	name, why string
	// allowed is a value which asks for what every answer does, as JSON without spaces.
	allowed string
}

// refused lists the fields that are refused by name.
func refused() []refusal {
	return []refusal{
		{"stop_token_ids", "this server stops at texts only, see stop", ""},
		{"return_token_ids", "this server returns texts only, see /tokenize", ""},
		{"return_tokens_as_token_ids", "this server returns texts only, see /tokenize", ""},
		{"return_prompt_text", "this server does not repeat prompts", ""},
		{"prompt_logprobs", "this server has no probabilities of prompts", ""},
		{"logprob_token_ids", "this server tells the likeliest tokens only", ""},
		{"logit_bias", "this server does not draw tokens", ""},
		{"logits_processors", "this server does not draw tokens", ""},
		{"watermarking", "this server does not draw tokens", ""},
		{"allowed_token_ids", "this server does not draw tokens", ""},
		{"bad_words", "this server does not draw tokens", ""},
		{"repetition_detection", "this server ends no answers for repeating themselves", ""},
		{"best_of", "this server compares no answers", "1"},
		{"use_beam_search", "this server searches no beams", ""},
		{"truncate_prompt_tokens", "this server takes prompts whole", ""},
		{"truncation", "this server takes prompts whole", `"disabled"`},
		{"context_management", "this server takes prompts whole", ""},
		{"previous_response_id", "this server keeps no responses: send the whole conversation", ""},
		{"previous_response", "this server keeps no responses: send the whole conversation", ""},
		{"previous_input_messages",
			"this server keeps no responses: send the whole conversation", ""},
		{"conversation", "this server keeps no responses: send the whole conversation", ""},
		{"background", "this server keeps no responses: wait for the answer", ""},
		{"enable_response_messages", "this server returns the answer only", ""},
		{"include", "this server returns the answer only", `["reasoning.encrypted_content"]`},
		{"adapters", "name the adapter in model, if the scenario has it", ""},
		{"cache_salt", "this server shares its cache among all requests", ""},
		{"kv_transfer_params", "the scenario says where KV blocks go", ""},
		{"ec_transfer_params", "the model reads text only", ""},
		{"stream_interval", "this server sends each token as it comes", "1"},
		{"moderation", "this server moderates nothing", ""},
		{"vllm_xargs", "this server has no extensions", ""},
		{"prompt_embeds", "the model reads text only", ""},
		{"audio", "the model writes text only", ""},
		{"modalities", "the model writes text only", `["text"]`},
		{"mm_processor_kwargs", "the model reads text only", ""},
		{"media_io_kwargs", "the model reads text only", ""},
		{"documents", "this server has no template for them: write them into messages", ""},
		{"chat_template", "conversations have one form here", ""},
		{"continue_final_message", "this server begins a message of its own", ""},
		{"prediction", "this server does not draft from what clients predict", ""},
		{"web_search_options", "this server searches nothing", ""},
		{"functions", "this server knows them as tools", ""},
		{"function_call", "this server knows it as tool_choice", `"auto"`},
		{"structural_tag", "this server knows schemas only", ""},
		{"guided_whitespace_pattern", "this server has one form of JSON", ""},
	}
}

// prompting lists the fields that hold the prompt, by endpoint.
func prompting() [][]string {
	return [][]string{
		Completions: {"prompt"}, Chat: {"messages"}, Responses: {"input", "instructions"},
	}
}

// refuseFields returns an error that names a field which asks for something that is not followed,
// among the fields of a request to an endpoint.
func refuseFields(endpoint Endpoint, fields map[string]json.RawMessage) error {
	for _, f := range refused() {
		value := fields[f.name]
		// prompt_logprobs counts alternatives beside the token itself, so 0 asks for something.
		asks := !idle(value) || f.name == "prompt_logprobs" && !absent(value) &&
			string(value) != "false"
		if asks && (f.allowed == "" || f.allowed != compact(value)) {
			return Invalid(f.name, "%s: %s", f.name, f.why)
		}
	}
	for other, names := range prompting() {
		for _, name := range names {
			if Endpoint(other) != endpoint && !idle(fields[name]) {
				return Invalid(name, "%s: this endpoint reads %s", name, prompting()[endpoint][0])
			}
		}
	}
	return nil
}

func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return ""
	}
	return out.String()
}

// idle reports whether a field asks for nothing: it is absent, false, zero or empty.
func idle(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", "0", "[]", "{}", `""`:
		return true
	}
	return false
}

// absent reports whether a field was not given or is null.
func absent(raw json.RawMessage) bool {
	return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}
