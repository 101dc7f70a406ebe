package options

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
)

// kind is how the value of an option translates to a term's.
type kind struct {
	// read returns the term's value for the option's. An empty one sets nothing.
	read func(text string) (string, error)
	// write returns the option's value for the term's, and false where it has no such value.
	write func(value string) (string, bool)
}

// leftOut is why a value sets nothing.
type leftOut string

// Error returns the reason.
func (l leftOut) Error() string { return string(l) }

// also is what is said of a value that is read.
type also string

// Error returns it.
func (a also) Error() string { return string(a) }

// notes are what several options do that a scenario does not have.
func notes(name string) string {
	switch name {
	case "kernels":
		return "kernels follow from engine.preset"
	}
	return name
}

// eager is the size of the largest captured graph where no graph is captured: it sets engine.eager.
const eager = "eager"

// decodeOnly ends the size of the largest captured graph where steps with prompts are launched
// without graphs: it sets engine.prompt-graphs.
const decodeOnly = " decode-only"

// inCheckpoint is how weights are quantised whose number format only the checkpoint knows.
const inCheckpoint = "as the checkpoint says"

// unread is the kind of options that are written, and say nothing where they are read; switches is
// the kind of variables that choose back ends together, and backend of options that name one.
const (
	unread   = "unread"
	switches = "switches"
	backend  = "backend"
	// refused is the kind of options that end the command, since they decide sizes or bytes that no
	// scenario has.
	refused = "refused"
)

// kindOf returns a kind by its name. It panics for a name that no kind has: tables are part of the
// program.
func kindOf(name string) kind {
	same := func(text string) (string, error) { return text, nil }
	as := func(value string) (string, bool) { return value, true }
	never := func(string) (string, bool) { return "", false }
	switch name {
	case "":
		return kind{same, as}
	case unread, switches, refused:
		return kind{words("", ""), as}
	case backend:
		return kind{func(text string) (string, error) {
			return engines.BackendName(text), nil
		}, as}
	case "count":
		return kind{count, as}
	case "tokens":
		return kind{tokens, as}
	case "share":
		return kind{share, as}
	case "largest":
		return kind{largest, as}
	case "chunk":
		return kind{chunk, as}
	case "format":
		return kind{format, oneOf("fp8", "fp8", "bf16", "bfloat16")}
	case "cache":
		return kind{format, oneOf("fp8", "fp8_e4m3", "bf16", "bfloat16")}
	case "stored":
		return kind{stored, oneOf("fp8", "fp8")}
	case "precision":
		return kind{precision, oneOf("bf16", "bfloat16", "fp16", "float16", "fp32", "float32")}
	case "order":
		return kind{words("fcfs", "", "priority", "priority"), oneOf("priority", "priority")}
	case "prefix-order":
		return kind{words("fcfs", "arrival", "lpm", "longest-prefix"),
			oneOf("arrival", "fcfs", "longest-prefix", "lpm")}
	case "redundant-experts":
		return kind{redundantExperts, func(n string) (string, bool) {
			return `{"num_redundant_experts":` + n + "}", true
		}}
	case "deepep-mode":
		return kind{words("auto", "", "normal", "normal", "low_latency", "low-latency"),
			oneOf("normal", "normal", "low-latency", "low_latency")}
	case "attention-config":
		return kind{attentionConfig, never}
	case "compilation":
		return kind{compilation, never}
	case "decode-only":
		return kind{words("", ""), oneOf("off", `{"cudagraph_mode":"FULL_DECODE_ONLY"}`)}
	case "level":
		return kind{level, never}
	case "transfer":
		return kind{transfer, func(string) (string, bool) {
			return `{"kv_connector":"NixlConnector","kv_role":"kv_both"}`, true
		}}
	case "phase":
		return kind{words("null", "", "agg", "", "prefill_and_decode", "", "hybrid", "",
			"prefill", "prefill", "decode", "decode"), as}
	case "server-role":
		return kind{words("CONTEXT", "prefill", "GENERATION", "decode"), never}
	case "gib":
		return bytesIn(1<<30, false)
	case "gb":
		return bytesIn(1e9, true)
	case "bytes":
		return bytesIn(1, true)
	case "offload-backend":
		return kind{words("native", "native", "lmcache", "lmcache"), as}
	case "write-policy":
		return kind{words("write_back", "back", "write_through", "through"),
			oneOf("back", "write_back", "through", "write_through")}
	case "v1":
		return kind{words("0", "vllm-v0", "1", ""), never}
	case "switch":
		return kind{words("0", "", "1", "true"), oneOf("true", "1")}
	case "overrides":
		return kind{overrides, never}
	case "none":
		return kind{func(string) (string, error) { return "true", nil }, oneOf("true", "null")}
	}
	return otherKind(name)
}

// otherKind is kindOf for the kinds of engines that are read as another one is simulated.
func otherKind(name string) kind {
	never := func(string) (string, bool) { return "", false }
	switch name {
	case "model-format": // of LMDeploy
		return kind{words("hf", "", "awq", "int4", "gptq", "int4", "fp8", "fp8", "mxfp4", "mxfp4"),
			never}
	case "quantize": // of Text Generation Inference
		return kind{words("awq", "int4", "gptq", "int4", "marlin", inCheckpoint, "exl2",
			inCheckpoint, "compressed-tensors", inCheckpoint, "eetq", "int8", "bitsandbytes",
			"int8", "bitsandbytes-nf4", "int4", "bitsandbytes-fp4", "int4", "fp8", "fp8"), never}
	case "repository": // whose file in Q4_K_M is taken unless a tag or its name says another
		return kind{func(text string) (string, error) {
			_, says := models.ReadRelease(text)
			if strings.HasSuffix(strings.ToLower(text), "-gguf") && !says {
				text += ":Q4_K_M"
			}
			return text, nil
		}, never}
	case "single": // of the shares of a model by accelerators
		return kind{func(text string) (string, error) {
			used := 0
			for share := range strings.SplitSeq(strings.ReplaceAll(text, "/", ","), ",") {
				if x, err := strconv.ParseFloat(share, 64); err == nil && x > 0 {
					used++
				}
			}
			if used > 1 {
				return "", fmt.Errorf("found %q: several accelerators are not simulated under "+
					"llama.cpp", text)
			}
			return "", nil
		}, never}
	case "quant-policy":
		return kind{words("0", "", "8", "int8", "4", "fp4"), never}
	case "ggml":
		return kind{words("f16", "fp16", "bf16", "bf16", "f32", "fp32", "q8_0", "int8",
			"q4_0", "fp4"), never}
	case "graph-sizes": // of Text Generation Inference
		return kind{func(text string) (string, error) {
			if text == "0" {
				return eager, nil
			}
			return largest(text)
		}, never}
	case "flash":
		return kind{words("on", "flash", "off", "naive", "auto", "flash", "1", "flash", "0",
			"naive", "-1", "flash", "true", "flash", "false", "naive", "enabled", "flash",
			"disabled", "naive"), never}
	case "count-or-auto":
		return kind{func(text string) (string, error) {
			if text == "0" || text == "-1" { // the engine's own choice
				return "", nil
			}
			return count(text)
		}, never}
	}
	panic("options: no kind " + name)
}

// oneOf returns a writer of certain values: each in turn with its spelling.
func oneOf(pairs ...string) func(string) (string, bool) {
	return func(value string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == value {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// words returns a reader of certain words, in any case of letters: each in turn with its meaning.
func words(pairs ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		var known []string
		for i := 0; i < len(pairs); i += 2 {
			if strings.EqualFold(pairs[i], text) {
				return pairs[i+1], nil
			}
			known = append(known, pairs[i])
		}
		last := len(known) - 1
		return "", leftOut("known are " + strings.Join(known[:last], ", ") + " and " + known[last])
	}
}

// tokens reads a count as vLLM does: 32k is 32,000, and 32K is 32,768.
func tokens(text string) (string, error) {
	factors := map[byte]float64{'k': 1e3, 'm': 1e6, 'K': 1 << 10, 'M': 1 << 20}
	factor, digits := 1.0, text
	if text == "0" || text == "-1" || text == "auto" { // the engine's own choice
		return "", nil
	}
	if text != "" {
		if f, ok := factors[text[len(text)-1]]; ok {
			factor, digits = f, text[:len(text)-1]
		}
	}
	x, err := strconv.ParseFloat(digits, 64)
	if x *= factor; err != nil || x < 1 || x > 1e12 {
		return "", fmt.Errorf("found %q; want a count of tokens, such as 8192, 32k or 128K", text)
	}
	return strconv.FormatInt(int64(x), 10), nil
}

// count reads a whole number that is at least 1.
func count(text string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return "", fmt.Errorf("found %q; want a whole number, 1 at least", text)
	}
	return strconv.Itoa(n), nil
}

// share reads a number above 0; 0 means that it is not set.
func share(text string) (string, error) {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || x < 0:
		return "", fmt.Errorf("found %q; want a number, 0 at least", text)
	case x == 0:
		return "", nil
	}
	return strconv.FormatFloat(x, 'g', -1, 64), nil
}

// largest reads counts with commas or spaces between them; the largest counts.
func largest(text string) (string, error) {
	most := 0
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return strings.ContainsRune(", []", r)
	}) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return "", fmt.Errorf("found %q; want whole numbers, 1 at least", text)
		}
		most = max(most, n)
	}
	if most == 0 {
		return "", nil
	}
	return strconv.Itoa(most), nil
}

// chunk reads the size of SGLang's chunks.
func chunk(text string) (string, error) {
	if text == "-1" {
		return "", leftOut("prompts that are never cut are not simulated under SGLang")
	}
	return count(text)
}

// format reads the name of a number format.
func format(text string) (string, error) {
	switch strings.ToLower(text) {
	case "auto":
		return "", nil
	case "bfloat16", "bf16":
		return "bf16", nil
	case "half", "float16", "fp16":
		return "fp16", nil
	case "float", "float32":
		return "fp32", nil
	case "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "fp8_e4m3fn",
		"fp8_per_token_head", "modelopt":
		return "fp8", nil
	case "int8", "int8_per_token_head", "w8a8_int8":
		return "int8", nil
	case "awq", "awq_marlin", "gptq", "gptq_marlin":
		return "int4", nil
	case "mxfp4":
		return "mxfp4", nil
	case "nvfp4", "fp4", "fp4_e2m1", "modelopt_fp4":
		return "fp4", nil
	}
	return "", fmt.Errorf("found %q; known are auto, bfloat16, float16, float32, fp8, int8, awq, "+
		"gptq, nvfp4 and mxfp4", text)
}

// stored reads how weights are quantized. BitsAndBytes without a quantized checkpoint is NF4
// (docs.vllm.ai/en/v0.15.1/features/quantization/bnb). A method that the engines do not have is an
// error: with the weights as published, the answer would be about another server.
func stored(text string) (string, error) {
	switch strings.ToLower(text) {
	case "bitsandbytes":
		return "int4", nil
	case "modelopt_fp8", "w8a8_fp8", "fbgemm_fp8", "ptpc_fp8":
		return "fp8", nil
	case "petit_nvfp4":
		return "fp4", nil
	}
	read, err := format(text)
	if err == nil {
		return read, nil
	}
	others := []string{"aqlm", "auto-round", "auto_round", "compressed-tensors",
		"experts_int8", "gguf", "hqq", "inc", "marlin", "modelopt_mixed", "modelopt_mxfp8",
		"modelslim", "moe_wna16", "qoq", "quark", "quark_int4fp8_moe", "torchao", "w4afp8"}
	if slices.Contains(others, strings.ToLower(text)) {
		return inCheckpoint, nil
	}
	return "", fmt.Errorf("found %q; allowed: auto, fp8, int8, awq, gptq, bitsandbytes, nvfp4, "+
		"mxfp4 and %s", text, strings.Join(others, ", "))
}

// precision reads the number format of activations. Weights of 16 bits take the same time in both
// formats, and the weights of a checkpoint that is quantized stay as they are.
func precision(text string) (string, error) {
	if read, err := format(text); err != nil || read == "fp32" {
		return read, err
	}
	return "", nil
}

// redundantExperts reads the copies of experts in the settings of vLLM's load balancer.
func redundantExperts(text string) (string, error) {
	var config struct {
		Redundant any `json:"num_redundant_experts"` // a number, or its text
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("found %q; want JSON: %w", text, err)
	}
	if n, err := strconv.Atoi(fmt.Sprint(config.Redundant)); err == nil && n < 1 ||
		config.Redundant == nil {
		return "", nil
	}
	return count(fmt.Sprint(config.Redundant))
}

// overrides reads the keys of a model's config that JSON replaces. Those of sizes and formats are
// an error, in any part of it. Those of RoPE or of the longest context stretch it, and others are
// left out.
func overrides(text string) (string, error) {
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("found %q; want JSON: %w", text, err)
	}
	stretches := false
	for open := []map[string]any{config}; len(open) > 0; open = open[1:] {
		for _, key := range slices.Sorted(maps.Keys(open[0])) {
			if inner, is := open[0][key].(map[string]any); is {
				open = append(open, inner)
			}
			if sizes.MatchString(key) {
				return "", fmt.Errorf("%s is another model: name it by the path of such a "+
					"config.json", key)
			}
			stretches = stretches || strings.HasPrefix(key, "rope_") ||
				key == "max_position_embeddings"
		}
	}
	if stretches {
		return "true", nil
	}
	return "", leftOut("it changes no size")
}

// sizes matches the keys of a model's config that decide its sizes or formats.
var sizes = regexp.MustCompile(`^(?:num_|n_|head_|v_head|.*(?:_size|_dim|_rank|_window|dtype|` +
	`quantization_config|layer_types)$)`)

// attentionConfig reads the back end in vLLM's settings of attention (vllm/config/attention.py).
func attentionConfig(text string) (string, error) {
	var config struct{ Backend string }
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("found %q; want JSON: %w", text, err)
	}
	if config.Backend == "" {
		return "", leftOut(notes("kernels"))
	}
	return engines.BackendName(config.Backend), nil
}

// compilation reads which steps vLLM launches as a graph (vllm/config/compilation.py, v0.15).
func compilation(text string) (string, error) {
	var config struct {
		Mode  string `json:"cudagraph_mode"`
		Sizes []int  `json:"cudagraph_capture_sizes"`
		Most  int    `json:"max_cudagraph_capture_size"`
		// Without compilation, and up to 0.10 by a key of its own, nothing is captured
		// (vllm/config, __post_init__).
		Compiled *int  `json:"mode"`
		Level    *int  `json:"level"`
		Captures *bool `json:"use_cudagraph"`
	}
	err := json.Unmarshal([]byte(text), &config)
	most := config.Most
	if len(config.Sizes) > 0 {
		most = max(most, slices.Max(config.Sizes))
	}
	off := func(level *int) bool { return level != nil && *level == 0 }
	if text == "0" || err == nil && config.Mode == "" && (off(config.Compiled) ||
		off(config.Level) || config.Captures != nil && !*config.Captures) {
		return eager, nil
	}
	if err != nil || config.Mode == "" && most < 1 {
		return "", leftOut(notes("kernels"))
	}
	size := ""
	if most > 0 {
		size = strconv.Itoa(most)
	}
	return graphs(config.Mode, size)
}

// graphs reads a cudagraph_mode beside the size of the largest graph (vllm/config/compilation.py,
// v0.15, CUDAGraphMode). PIECEWISE leaves attention out of graphs, and FULL captures steps with
// prompts whole: both are read as FULL_AND_PIECEWISE, the default, and said to be.
func graphs(mode, size string) (string, error) {
	switch strings.ToUpper(mode) {
	case "NONE":
		return eager, nil
	case "FULL_DECODE_ONLY":
		return size + decodeOnly, nil
	case "", "FULL_AND_PIECEWISE":
		return size, nil
	case "PIECEWISE", "FULL":
		return size, also("cudagraph_mode " + mode + " is read as FULL_AND_PIECEWISE, whose " +
			"steps that only decode are one graph with attention")
	}
	return "", fmt.Errorf("found cudagraph_mode %q; allowed: NONE, PIECEWISE, FULL, "+
		"FULL_DECODE_ONLY, FULL_AND_PIECEWISE", mode)
}

// level reads vLLM's level of optimization; level 0 captures no graphs (vllm/config/vllm.py, v0.15,
// OptimizationLevel).
func level(text string) (string, error) {
	if text == "0" {
		return eager, nil
	}
	return "", leftOut(notes("kernels"))
}
