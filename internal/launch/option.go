package launch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// option says what a flag of an engine means for a scenario.
type option struct {
	// flags are its spellings.
	flags []string
	// key is what it sets in a scenario; empty where it changes no time.
	key string
	// value turns the flag's value into that of the key; nil where they are the same. An empty
	// result sets nothing.
	value func(text string) (string, error)
	// isSwitch is set where the flag takes no value: then the key is set to on, and by the form
	// --no-… to off, if these are given.
	isSwitch bool
	on, off  string
	// note says what the flag does that a scenario does not have.
	note string
}

// Flag returns the flag of an engine that sets a key of a scenario, and false where none does.
func Flag(engineName, key string) (string, bool) {
	e, err := find(engineName)
	if err != nil {
		return "", false
	}
	for _, o := range e.options() {
		if o.key == key {
			return o.flags[0], true
		}
	}
	return "", false
}

// key returns an option that sets a key.
func key(name string, flags ...string) option { return option{flags: flags, key: name} }

// read returns an option whose value is converted.
func read(name string, value func(string) (string, error), flags ...string) option {
	return option{flags: flags, key: name, value: value}
}

// ignored returns options that take a value and do not change how long anything takes.
func ignored(flags ...string) []option {
	list := make([]option, len(flags))
	for i, f := range flags {
		list[i] = option{flags: []string{f}}
	}
	return list
}

// ignoredSwitches returns options without a value that do not change how long anything takes.
func ignoredSwitches(flags ...string) []option {
	list := ignored(flags...)
	for i := range list {
		list[i].isSwitch = true
	}
	return list
}

// noted returns an option that takes a value and changes what a scenario does not have.
func noted(note string, flags ...string) option { return option{flags: flags, note: note} }

// notedSwitch is noted for an option without a value.
func notedSwitch(note string, flags ...string) option {
	return option{flags: flags, note: note, isSwitch: true}
}

// tokens reads a count as vLLM does: 32k is 32,000, and 32K is 32,768.
func tokens(text string) (string, error) {
	factors := map[byte]float64{'k': 1e3, 'm': 1e6, 'K': 1 << 10, 'M': 1 << 20}
	factor, digits := 1.0, text
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
	return text, nil
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
	case "fp8", "fp8_e4m3", "fp8_e5m2", "modelopt":
		return "fp8", nil
	case "int8", "w8a8_int8":
		return "int8", nil
	case "awq", "awq_marlin", "gptq", "gptq_marlin":
		return "int4", nil
	case "nvfp4", "fp4", "fp4_e2m1", "modelopt_fp4", "mxfp4":
		return "fp4", nil
	}
	return "", leftOut("known are auto, bfloat16, float16, fp8, int8, awq, gptq, nvfp4 and mxfp4")
}

// leftOut is why a value sets nothing.
type leftOut string

// Error returns the reason.
func (l leftOut) Error() string { return string(l) }

// chunk reads the size of SGLang's chunks.
func chunk(text string) (string, error) {
	if text == "-1" {
		return "", leftOut("prompts that are never cut are not simulated under SGLang")
	}
	return count(text)
}

// precision reads the number format of activations. Weights of 16 bits take the same time in both
// formats, and those of a checkpoint that is quantized stay as they are.
func precision(text string) (string, error) {
	if read, err := format(text); err != nil || read == "fp32" {
		return read, err
	}
	return "", nil
}

// mode reads the mode of disaggregation of SGLang and of Dynamo's workers.
func mode(text string) (string, error) {
	switch text {
	case "null", "agg", "prefill_and_decode":
		return "", nil
	case "prefill", "decode":
		return text, nil
	}
	return "", leftOut("known are prefill, decode, agg and null")
}

// shared returns the options that vLLM and SGLang spell alike and mean alike.
func shared() []option {
	list := []option{
		{flags: []string{"--kv-cache-dtype"}, key: "engine.kv-cache", value: format},
		read("engine.weights", precision, "--dtype"),
		noted("the link and the exchange of experts follow from the hardware", "--all2all-backend",
			"--deepep-mode"),
		noted(noKernels, "--attention-backend", "--moe-runner-backend",
			"--moe-backend", "--fp8-gemm-backend", "--decode-attention-backend",
			"--prefill-attention-backend", "--compilation-config", "-O"),
		noted("weights in host memory are not simulated", "--cpu-offload-gb"),
		noted("adapters are not simulated", "--lora-modules", "--lora-paths", "--max-loras",
			"--max-loras-per-batch", "--max-lora-rank"),
		notedSwitch("adapters are not simulated", "--enable-lora"),
		notedSwitch("balancing experts over accelerators is parallelism.redundant-experts",
			"--enable-eplb"),
		notedSwitch("which kernels reduce over accelerators follows from the hardware",
			"--disable-custom-all-reduce"),
	}
	list = append(list, ignored("--host", "--port", "--api-key", "--served-model-name",
		"--tokenizer-mode", "--chat-template", "--tool-call-parser", "--reasoning-parser",
		"--kv-events-config", "--revision", "--download-dir", "--load-format", "--nnodes",
		"--node-rank")...)
	return append(list, ignoredSwitches("--trust-remote-code")...)
}

const (
	noAcceptance = "speculative decoding needs an acceptance rate, which is a property of your " +
		"texts: set speculation, such as speculation={method: eagle, acceptance: 0.7}"
	noKernels  = "kernels follow from engine.preset"
	noSchedule = "whether the host schedules ahead follows from engine.preset"
)

// flags collects a command line.
type flags []string

// add appends a flag with its value.
func (f *flags) add(flag string, value any) { *f = append(*f, flag, fmt.Sprint(value)) }

// param appends a flag with a value that is neither empty nor 0.
func (f *flags) param(flag string, value any) {
	if text := fmt.Sprint(value); text != "" && text != "0" {
		f.add(flag, text)
	}
}

// degree appends a flag with a degree of parallelism above 1.
func (f *flags) degree(flag string, n int) {
	if n > 1 {
		f.add(flag, n)
	}
}

// graphs appends the flag that launches all steps kernel by kernel, or the one that bounds steps
// which are launched as a graph, where the scenario says so.
func (f *flags) graphs(d *deployed, none, most string) {
	if d.graph == 1 {
		*f = append(*f, none)
		return
	}
	f.param(most, d.graph)
}

// formats appends number formats as vLLM and SGLang name them, which differ in that of the cache.
func (f *flags) formats(d *deployed, cache string) {
	if flag, value := d.asksWeights(); flag != "" {
		f.add(flag, value)
	}
	if d.engine.KVCache == "fp8" {
		f.add("--kv-cache-dtype", cache)
	}
}

// asksWeights returns the flag that has weights stored otherwise than they are published; empty
// where no flag does.
func (d *deployed) asksWeights() (flag, value string) {
	full := map[hardware.DType]string{hardware.BF16: "bfloat16", hardware.FP16: "float16",
		hardware.FP32: "float32"}
	weights, published := hardware.DType(d.engine.Weights), d.server.Model.DType
	switch {
	case d.stored || full[published] == "":
		return "", ""
	case weights == "fp8":
		return "--quantization", "fp8"
	case full[weights] != "":
		return "--dtype", full[weights]
	}
	return "", ""
}

// caches reports whether a memory policy keeps prompts for later requests.
func caches(policy string) bool {
	return policy == "prefix-cache" || policy == "radix" || policy == "offload" ||
		policy == "hybrid"
}
