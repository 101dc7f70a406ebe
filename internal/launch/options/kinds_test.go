package options

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/units"
)

// Counts, shares and tokens are read as the numbers that they are, within their bounds: of tokens a
// small letter stands for powers of a thousand and a capital one for powers of 1,024. The largest
// of counts is taken. An amount of memory is read back as it was written, in its unit.
func TestKindsReadNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(-2, 3), rapid.IntRange(-2, 70_000)).Draw(t, "n")
		text := strconv.Itoa(n)
		reads := func(of func(string) (string, error), text, want string, ok bool) {
			t.Helper()
			if got, err := of(text); (err == nil) != ok || ok && got != want {
				t.Errorf("%q is read as %q, %v, want %q, %v", text, got, err, want, ok)
			}
		}
		reads(count, text, text, n >= 1)
		reads(count, text+".5", "", false)
		reads(chunk, text, text, n >= 1)
		if _, err := chunk("-1"); err == nil || strings.Contains(err.Error(), "whole number") {
			t.Errorf("prompts that are never cut: %v", err)
		}
		for letter, factor := range map[string]int{"": 1, "k": 1000, "m": 1_000_000, "K": 1024,
			"M": 1 << 20} {
			if unset := letter == "" && (n == 0 || n == -1); unset { // the engine's own choice
				reads(tokens, text, "", true)
				continue
			}
			reads(tokens, text+letter, strconv.Itoa(n*factor), n >= 1)
		}
		reads(tokens, "1e12", "1000000000000", true)
		reads(tokens, "1000001m", "", false)
		reads(tokens, "", "", false)
		x := float64(n) / 1000
		want := fmt.Sprint(x)
		if n == 0 {
			want = ""
		}
		reads(share, fmt.Sprint(x), want, n >= 0)
		other := rapid.IntRange(1, 70_000).Draw(t, "other")
		reads(largest, fmt.Sprintf("[%d, %d]", n, other), strconv.Itoa(max(n, other)), n >= 1)
		reads(largest, fmt.Sprintf("%d %d", other, other), strconv.Itoa(other), true)
		reads(largest, "", "", true)
		reads(redundantExperts, fmt.Sprintf(`{"num_redundant_experts": %d}`, n), map[bool]string{
			true: text}[n >= 1], true)
		reads(redundantExperts, "{", "", false)
		reads(compilation, fmt.Sprintf(`{"max_cudagraph_capture_size": %d}`, n), text, n >= 1)
		reads(compilation, fmt.Sprintf(`{"cudagraph_capture_sizes": [%d, 3], `+
			`"max_cudagraph_capture_size": 4}`, n), strconv.Itoa(max(n, 4)), true)
		reads(compilation, `{"cudagraph_mode": "NONE"}`, eager, true)
		reads(compilation, `{"cudagraph_mode": "FULL_AND_PIECEWISE"}`, "", true)
		for _, unit := range []float64{1, 1e9, 1 << 30} {
			of := bytesIn(unit, true)
			got, err := of.read(text)
			size, wrong := 0.0, error(nil)
			if got != "" {
				size, wrong = units.ParseBytes(got)
			}
			if (err == nil) != (n >= 0) || wrong != nil || n >= 0 && size != float64(n)*unit {
				t.Errorf("%d times %g bytes are %q, %v, %v", n, unit, got, err, wrong)
			}
			if back, ok := of.write(got); n > 0 && (!ok || back != text) {
				t.Errorf("%q is written as %q, want %d", got, back, n)
			}
		}
		if got, ok := bytesIn(1e9, true).write(fmt.Sprintf("%dB", 1_500_000_000)); got != "1" ||
			!ok {
			t.Errorf("1.5 GB in whole GB are %q", got)
		}
		if got, ok := bytesIn(1e9, false).write("1500000000B"); got != "1.5" || !ok {
			t.Errorf("1.5 GB are %q", got)
		}
		if _, ok := bytesIn(1e9, true).write("5B"); ok {
			t.Error("5 bytes are whole GB")
		}
	})
	for value, ok := range map[float64]bool{1e18: true, 1.1e18: false, math.Inf(1): false} {
		if _, err := bytesIn(1, false).read(fmt.Sprint(value)); (err == nil) != ok {
			t.Errorf("%g bytes: %v", value, err)
		}
	}
}

// Words are read in any case of letters as what they mean, and others name the known ones; formats
// by all of their names.
func TestKindsReadWords(t *testing.T) {
	read := words("on", "1", "off", "2", "auto", "")
	for text, want := range map[string]string{"ON": "1", "off": "2", "Auto": ""} {
		if got, err := read(text); err != nil || got != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	if _, err := read("x"); err == nil || err.Error() != "known are on, off and auto" {
		t.Errorf("another word: %v", err)
	}
	for text, want := range map[string]string{"AUTO": "", "bfloat16": "bf16", "half": "fp16",
		"float":    "fp32",
		"fp8_e5m2": "fp8", "int8": "int8", "gptq_marlin": "int4", "mxfp4": "mxfp4",
		"nvfp4": "fp4"} {
		got, err := format(text)
		weights, wrong := stored(text)
		if err != nil || wrong != nil || got != want || weights != want {
			t.Errorf("%s is %q and %q, want %q: %v, %v", text, got, weights, want, err, wrong)
		}
		if kept, err := precision(text); err != nil || (kept == "fp32") != (want == "fp32") ||
			kept != "" && kept != "fp32" {
			t.Errorf("activations in %s: %q, %v", text, kept, err)
		}
	}
	for text, want := range map[string]string{"kv_producer": "prefill", "kv_consumer": "decode",
		"kv_both": "mixed"} {
		config := fmt.Sprintf(`{"kv_connector":"NixlConnector","kv_role":%q}`, text)
		got, err := kindOf("transfer").read(config)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
		// So is it beside a store in host memory, whose size is asked for.
		config = fmt.Sprintf(`{"kv_connector":"MultiConnector","kv_role":"kv_both",`+
			`"kv_connector_extra_config":{"connectors":[%s,`+
			`{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}]}}`, config)
		got, err = kindOf("transfer").read(config)
		if _, asked := errors.AsType[Ask](err); !asked || got != want {
			t.Errorf("%s is %q, %v", config, got, err)
		}
	}
	if got, err := level("0"); err != nil || got != eager {
		t.Errorf("level 0 is %q, %v", got, err)
	}
	if got, _ := level("3"); got != "" {
		t.Errorf("level 3 is %q", got)
	}
}
