package models

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// checkpointName is a checkpoint's name taken apart into words.
type checkpointName struct {
	// of is the name without the words that say how weights are stored, and with its organisation
	// where one is named.
	of string
	// weights is the number format that the name states; empty where it states none.
	weights hardware.DType
	// microscaled reports whether the format is MXFP8, whose scales are of 32 weights.
	microscaled bool
	// unmodelled is a stated format that is not modelled, and nearest the modelled one whose bytes
	// are nearest to it; that is weights where it has within 5 % of them.
	unmodelled string
	nearest    hardware.DType
	// draft is the word that says that the checkpoint drafts for another model; empty for others.
	draft string
}

var (
	// snapshot finds a repository in the path of a cache of Hugging Face's.
	snapshot = regexp.MustCompile(`models--([^/]+?)--([^/]+)`)
	// shard matches the end of the name of one of several files of a checkpoint.
	shard = regexp.MustCompile(`(?i)(-\d{5}-of-\d{5})?\.(gguf|safetensors)$`)
	// packed is the organisation of a model in the name that who packed it gave it.
	packed = regexp.MustCompile(`(?i)^(?:qwen|google|thudm|zai-org|mistralai|meta-llama|microsoft|` +
		`deepseek-ai|nvidia|openai|moonshotai|allenai|ibm-granite|nousresearch|arcee-ai|tencent|` +
		`baidu|huggingfacetb|liquidai|cohereforai|minimaxai|internlm|tiiuae|lgai-exaone|` +
		`bytedance-seed|open-thoughts|servicenow-ai)_`)
	// ggml finds a format of llama.cpp at the end of a name: Q4_K_M, IQ4_XS, F16.
	ggml = regexp.MustCompile(`(?i)[-._:](?:ud-)?(i?q\d(?:_[a-z0-9]+)+|tq\d_\d|b?f16|f32)(-gguf)?$`)
	// dated is a release: a month and a day, a year and a month, or all three.
	dated = regexp.MustCompile(`^(0[1-9]|1[0-2])([0-2]\d|3[01])$|^2[3-7](0[1-9]|1[0-2])$|` +
		`^20[2-3]\d(0[1-9]|1[0-2])?([0-2]\d|3[01])?$`)
	// sized is a number of parameters, in all or at work: 70b, a3b, 8x7b, 17b, 125m.
	sized = regexp.MustCompile(`^([ae]?|\d+x)\d+(\.\d+)?[bmt]$`)
)

// plainWord reports whether a word of a name changes no byte of a model: how it was trained, how it
// answers, who packed it.
func plainWord(word string) bool {
	switch word {
	case "instruct", "chat", "it", "hf", "thinking", "think", "base", "pt", "reasoning", "sft",
		"dpo", "rlhf", "qat", "ct", "preview", "exp", "terminus", "speciale", "unquantized",
		"original", "latest", "dspark", "meta", "nvidia", "vllm":
		return true
	}
	return dated.MatchString(word)
}

// formatWord returns the number format that a word states, and whether it states one; the format is
// empty where it is not modelled, and near then the nearest.
func formatWord(word string) (d, near hardware.DType, ok bool) {
	switch strings.TrimPrefix(word, "quantized.") {
	case "fp32", "f32", "float32":
		return hardware.FP32, "", true
	case "bf16", "bfloat16":
		return hardware.BF16, "", true
	case "fp16", "f16", "float16":
		return hardware.FP16, "", true
	case "fp8", "float8", "mxfp8":
		return hardware.FP8, "", true
	case "int8", "w8a8", "w8a16":
		return hardware.INT8, "", true
	case "int4", "w4a16", "w4a8", "w4afp8", "awq", "gptq", "autoround":
		return hardware.INT4, "", true
	case "nvfp4", "fp4", "nvfp4a16":
		return hardware.FP4, "", true
	case "mxfp4":
		return hardware.MXFP4, "", true
	case "q4_0":
		return hardware.Q4_0, "", true
	case "q4_k_m", "q4_k": // two names of one format (tools/quantize/README.md)
		return hardware.Q4KM, "", true
	case "q4_k_s", "q4_k_xl": // of Llama-3.1-8B 4.69 and 4.99 GB, where q4_k_m has 4.92
		return hardware.Q4KM, hardware.Q4KM, true
	case "q5_k_m", "q5_k":
		return hardware.Q5KM, "", true
	case "q5_k_s", "q5_k_l", "q5_k_xl":
		return hardware.Q5KM, hardware.Q5KM, true
	case "q6_k":
		return hardware.Q6K, "", true
	case "q6_k_l", "q6_k_xl":
		return hardware.Q6K, hardware.Q6K, true
	case "q8_0":
		return hardware.Q8_0, "", true
	case "bnb", "bitsandbytes", "nf4", "hqq", "aqlm", "exl2", "exl3", "quip", "4bit", "int3",
		"3bit", "2bit", "int2", "mobile", "w4a4", "mlx", "1bit", "vptq":
		return "", hardware.INT4, true
	case "8bit", "5bit", "6bit", "int5", "int6":
		return "", hardware.INT8, true
	case "mxfp6", "fp6":
		return "", hardware.FP8, true
	}
	if strings.HasPrefix(word, "q") || strings.HasPrefix(word, "iq") ||
		strings.HasPrefix(word, "tq") { // llama.cpp's, which ggml has found
		switch digits := strings.TrimLeft(word, "itq"); {
		case len(digits) > 1 && digits[1] == '_' && digits[0] >= '6' && digits[0] <= '8':
			return "", hardware.Q8_0, true
		case len(digits) > 1 && digits[1] == '_' && digits[0] >= '1' && digits[0] <= '5':
			return "", hardware.Q4KM, true
		}
	}
	return "", "", false
}

// qualifies reports whether a word after a format says more of the format only.
func qualifies(word string) bool {
	switch word {
	case "dynamic", "static", "pertensor", "block", "kv", "v2", "v3", "qad", "mixed", "sym",
		"asym", "quantized", "w", "a", "w4a4", "preview", "ct", "marlin", "g128", "g32", "g64",
		"awq", "gptq", "autoround", "mtp", "ar", "tensorwise", "perchannel":
		return true
	}
	return false
}

// contextWord returns the longest context that a word states, in tokens: 1048k, 1M; 0 for another
// word.
func contextWord(word string) int {
	digits := strings.TrimRight(word, "kKmM")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || len(word) != len(digits)+1 {
		return 0
	}
	if strings.ContainsAny(word, "mM") {
		n = min(n, 1<<20) << 10
	}
	if n > 1<<14 { // 560m is a size
		return 0
	}
	return n << 10
}

// draftWord reports whether a word says that a checkpoint is a head, or a small model, which drafts
// for another.
func draftWord(word string) bool {
	word, _, _ = strings.Cut(word, ".eagle")
	switch word {
	case "eagle", "eagle2", "eagle3", "eagle3.1", "draft", "drafter", "dflash", "medusa", "hydra",
		"speculator", "nextn", "mtp", "assistant":
		return true
	}
	return false
}

// readName reads the name of a checkpoint: an identifier on a hub, perhaps with a revision after @
// or a tag after a colon, or a path, whose last part counts.
func readName(name string) checkpointName {
	organisation, last := splitName(name)
	var words []string
	if found := ggml.FindStringSubmatchIndex(last); found != nil {
		words = append(strings.FieldsFunc(last[:found[0]], isSeparator), last[found[2]:found[3]])
	} else {
		words = strings.FieldsFunc(last, isSeparator)
	}
	var n checkpointName
	var rest []string
	stated := map[string]bool{}
	for i, word := range words {
		lower := strings.ToLower(word)
		after := len(stated) > 0 && i > 0
		if d, near, ok := formatWord(lower); ok && i > 0 {
			width := strings.TrimSuffix(lower, "bit")
			switch {
			case width != lower && (stated["awq"] || stated["gptq"] || stated["int4"] ||
				stated["int8"]) && (width == "4" || width == "8"):
				d = integerType(int64(width[0] - '0'))
				n.weights = d
			case lower == "w4a4" && n.weights != "":
			case d == "":
				n.unmodelled, n.nearest = word, near
			case d == hardware.INT8 && n.weights == hardware.FP8: // FP8-W8A8
			case d == hardware.FP8 && stated["w8a8"]:
				n.weights = d
			case d == hardware.INT8 && (stated["awq"] || stated["gptq"]):
				n.weights = d
			case n.weights == "" || standardFormat(d).Bits < standardFormat(n.weights).Bits:
				n.weights, n.nearest = d, near
			}
			stated[lower] = true
			n.microscaled = n.microscaled || lower == "mxfp8"
			continue
		}
		switch {
		case after && qualifies(lower):
			if lower == "block" && n.weights == hardware.FP8 {
				n.weights = hardware.FP8Block
			}
			continue
		case (lower == "w" || lower == "quantized") && i+1 < len(words):
			if _, _, ok := formatWord(strings.ToLower(words[i+1])); ok {
				continue
			}
		case draftWord(lower) && (i > 0 || strings.HasPrefix(lower, "eagle") && len(words) > 2):
			n.draft = word
		case lower == "gguf" && i > 0:
			stated[lower] = true
			continue
		case i > 0 && lower == strings.ToLower(words[i-1]): // MiMo-MiMo-V2
			continue
		}
		rest = append(rest, word)
	}
	switch wide := n.weights == "" || standardFormat(n.weights).Bits == 16; {
	case stated["gguf"] && wide && slices.Contains(words, "oss"):
		n.weights = hardware.MXFP4 // whose experts stay as they were published
	case stated["gguf"] && n.weights == "" && n.unmodelled == "":
		n.unmodelled, n.nearest = "GGUF", hardware.Q4KM
	}
	n.of = strings.Join(rest, "-")
	if organisation != "" {
		n.of = organisation + "/" + n.of
	}
	lower := strings.ToLower(name)
	if n.weights == hardware.FP8 && len(stated) == 1 && slices.ContainsFunc(blockPublishers(),
		func(prefix string) bool { return strings.HasPrefix(lower, prefix) }) &&
		strings.HasSuffix(lower, "-fp8") {
		n.weights = hardware.FP8Block
	}
	return n
}

func isSeparator(r rune) bool { return r == '-' || r == '_' || r == ' ' }

// splitName returns the organisation of a name, empty where there is none, and the last part
// without revision, with a tag as one more word.
func splitName(name string) (organisation, last string) {
	name = strings.TrimSpace(name)
	if found := snapshot.FindStringSubmatch(name); found != nil {
		if _, file := cutLast(name); shard.MatchString(file) {
			return found[1], shard.ReplaceAllString(file, "")
		}
		return found[1], found[2]
	}
	name, _, _ = strings.Cut(name, "@")
	name = strings.TrimRight(name, "/")
	organisation, last = cutLast(name)
	if _, inner := cutLast(organisation); inner != organisation {
		organisation = "" // a path
	}
	if len(last) > longestName {
		return organisation, ""
	}
	last = shard.ReplaceAllString(packed.ReplaceAllString(last, ""), "")
	return organisation, strings.TrimSuffix(strings.ReplaceAll(last, ":", "-"), "-latest")
}

// longestName bounds the last part of a name that is read by its words, in bytes. Hubs allow 96.
const longestName = 200

// cutLast cuts a path before its last part.
func cutLast(path string) (before, last string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// blockPublishers begin the names of checkpoints in FP8 whose scales are of blocks of 128×128:
// Qwen/Qwen3-32B-FP8, sgl-project/DeepSeek-V4-Flash-FP8 and the others of checkpoints.csv.
func blockPublishers() []string {
	return []string{"qwen/", "deepseek-ai/", "minimaxai/", "sgl-project/"}
}

// explain returns why a name that is not known stands for no model; nil where it says nothing of
// that.
func (n checkpointName) explain(name string) error {
	switch {
	case n.draft != "":
		return fmt.Errorf("%q is a draft (%s), which proposes tokens for another model: give the "+
			"model itself here, and the draft under speculation", name, n.draft)
	case n.unmodelled != "":
		return fmt.Errorf("%q has weights in a format that is not modelled (%s); the nearest is "+
			"%s: name the model without it and set engine.weights: %s, or give the path of its "+
			"config.json", name, n.unmodelled, n.nearest, n.nearest)
	}
	return nil
}

// withoutPlain returns the shorter and shorter names that are left of one when the words that
// change no byte go, the last one first. Dates and words stay where nothing is left that tells
// releases or sizes apart.
func withoutPlain(name string) (shorter []string) {
	words := strings.FieldsFunc(strings.ToLower(name), isSeparator)
	for i := len(words) - 1; i >= 0; i-- {
		if !plainWord(words[i]) {
			continue
		}
		left := slices.Delete(slices.Clone(words), i, i+1)
		text := strings.Join(left, "-")
		if !strings.ContainsAny(text, "0123456789") {
			continue
		}
		words = left
		shorter = append(shorter, text)
	}
	return shorter
}

// otherParts reports whether a word beside the name of a model tells of another size, or of parts
// that the model lacks.
func otherParts(word string) bool {
	switch word {
	case "vl", "vision", "omni", "audio", "speech", "tts", "asr", "embedding", "embeddings",
		"embed", "reranker", "moe", "merged", "merge", "pruned", "reap", "lora", "adapter", "mini",
		"nano", "small", "lite", "large", "xl", "xxl", "tiny", "mamba", "linear", "diffusion",
		"multimodal", "ocr", "image", "video", "next", "unquantised", "sparse", "distill":
		return true
	}
	return sized.MatchString(word) && word != "1m" || draftWord(word) // 1m is a context
}

// tellsRelease reports whether the words of a model's name have its size and its release. A name
// such as qwen-7b is used of several releases.
func tellsRelease(words []string) bool {
	size, release := false, false
	for _, w := range words {
		switch {
		case sized.MatchString(w):
			size = true
			release = release || strings.Contains(w, "x")
		case w == "oss", strings.ContainsAny(w, "0123456789"):
			release = true
		}
	}
	return size && release
}

// storedAs returns the model with all matrices of its layers stored in one format; itself where
// that is the standard one and what is published.
func (a *Architecture) storedAs(f Format) *Architecture {
	standard := f == standardFormat(f.DType)
	if standard && f.DType == a.DType {
		return a
	}
	changed := *a
	changed.DType = f.DType
	changed.Groups = slices.Clone(a.Groups)
	for i := range changed.Groups {
		g := &changed.Groups[i]
		g.Formats = nil
		if standard {
			continue
		}
		all := Formats{}
		for _, p := range g.parts() {
			for _, l := range p.linears(a.Hidden, 1) {
				if l.Quantised {
					all[l.Name] = f
				}
			}
		}
		g.Formats = &all
	}
	return &changed
}
