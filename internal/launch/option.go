package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	return "", errFormat
}

// errFormat is that of a number format that is not simulated.
var errFormat = errors.New("known are auto, bfloat16, float16, fp8, int8, awq, gptq, nvfp4 and " +
	"mxfp4")

// flags collects a command line.
type flags []string

// add appends a flag with its value.
func (f *flags) add(flag string, value any) { *f = append(*f, flag, fmt.Sprint(value)) }

// param appends a flag with the value of a policy's parameter, if the policy has it.
func (f *flags) param(flag, value string) {
	if value != "" && value != "0" {
		f.add(flag, value)
	}
}

// caches reports whether a memory policy keeps prompts for later requests.
func caches(policy string) bool {
	return policy == "prefix-cache" || policy == "radix" || policy == "offload"
}
