package options

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
)

// drawTerms makes up terms that a table has options for.
func drawTerms(t *rapid.T, table *Table) Terms {
	values := map[string][]string{"memory.utilization": {"0.5", "0.91"},
		"memory.static-share": {"0.8"}, "memory.kv-share": {"0.9"}, "model": {"m", "a/b c"},
		"engine.kv-cache": {"fp8"}, "engine.weights": {"fp8", "fp32"},
		"batching.policy": {"priority"}, "batching.wait-tokens": {"0.25"},
		"memory.cpu": {"64GB"}, "memory.write": {"back", "through"},
		"offload-backend":        {"native", "lmcache"},
		"engine.experts-backend": {"triton", "cutlass", "deepgemm"},
		"pool":                   {"prefill", "decode"}, "engine.eager": {"true"}}
	terms := Terms{"model": "m"}
	for _, o := range table.Options {
		choices := values[o.Term]
		switch {
		case o.Term == "" || o.Term == "config" || o.Kind == unread ||
			len(o.Flags) == 0 || !rapid.Bool().Draw(t, o.Term):
			continue
		case o.isSwitch() && o.Off != "":
			choices = []string{o.On, o.Off}
		case o.isSwitch() && choices == nil:
			choices = []string{o.On}
		case choices == nil:
			choices = []string{rapid.SampledFrom([]string{"8", "16", "512"}).Draw(t, "count")}
		}
		terms[o.Term] = rapid.SampledFrom(choices).Draw(t, "value")
	}
	if terms["engine.eager"] != "" { // without graphs, the largest says nothing
		delete(terms, "engine.graph")
	}
	if terms["engine.eager"] == "false" { // as it is without the flag
		delete(terms, "engine.eager")
	}
	return terms
}

// optionsOf cuts a command into its options, each with its values; the first may be the model.
func optionsOf(words []string) (list [][]string) {
	for _, word := range words {
		if len(list) == 0 || strings.HasPrefix(word, "-") {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], word)
	}
	return list
}

// reads returns what a table reads in a command, beside a file.
func reads(t *rapid.T, table *Table, file string, words ...string) *Reading {
	t.Helper()
	r, err := table.Read(&Command{Words: words, File: func(string) (string, bool) {
		return file, file != ""
	}})
	if err != nil {
		t.Fatalf("%q beside %q: %v", words, file, err)
	}
	return r
}

// What a command sets does not depend on the spelling of its options, with hyphens or underscores,
// joined to their values or not, nor on options in between that a scenario has nothing for, of
// however many values. Each of these is named in its place, and an unknown one with a value too.
func TestOptionsDoNotDisturbEachOther(t *testing.T) {
	for _, name := range names() {
		table := Load(name)
		var idle []string // published, and without a meaning
		for _, flag := range slices.Sorted(maps.Keys(table.published)) {
			if o, _ := table.lookUp(flag); o == nil && table.known[flag[:2]] == nil {
				idle = append(idle, flag)
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			plain := table.Write(drawTerms(t, table), table.Version, 1, Server)
			var words, left []string
			for i, option := range optionsOf(plain.Words) {
				if i > 0 && rapid.Bool().Draw(t, "between") {
					flag := rapid.SampledFrom(idle).Draw(t, "idle")
					words, left = append(words, flag), append(left, flag)
					switch table.published[flag] {
					case one:
						if rapid.Bool().Draw(t, "joined") {
							words[len(words)-1] += "=v"
						} else {
							words = append(words, "v")
						}
					case several:
						words = append(words, []string{"v", "w", "x"}[:rapid.IntRange(0, 3).
							Draw(t, "values")]...)
					}
				}
				if i > 0 && rapid.Bool().Draw(t, "unknown") {
					more := rapid.SampledFrom([][]string{{"--zzzz"}, {"--zzzz", "v"},
						{"--zzzz=v"}}).Draw(t, "form")
					words, left = append(words, more...), append(left, "--zzzz")
				}
				if flag, joined := option[0], rapid.Bool().Draw(t, "joined"); i > 0 {
					option = slices.Clone(option)
					if rapid.Bool().Draw(t, "underscores") && strings.HasPrefix(flag, "--") {
						option[0] = "--" + strings.ReplaceAll(flag[2:], "-", "_")
					}
					if len(option) == 2 && joined {
						option = []string{option[0] + "=" + option[1]}
					}
				}
				words = append(words, option...)
			}
			want, got := reads(t, table, "", plain.Words...), reads(t, table, "", words...)
			if !maps.Equal(got.Terms, want.Terms) {
				t.Fatalf("%q sets %v\n%q sets %v", plain.Words, want.Terms, words, got.Terms)
			}
			ignored := slices.DeleteFunc(slices.Clone(got.Ignored), func(name string) bool {
				return slices.Contains(want.Ignored, name)
			})
			if !slices.Equal(ignored, left) {
				t.Fatalf("%q leaves out %q, want %q", words, ignored, left)
			}
		})
	}
}

// A configuration file with the names of flags says what these say, a switch by true or false, with
// values of JSON as mappings, and values that are there again by aliases; a field of TensorRT-LLM
// that is null says nothing.
func TestAFileSaysWhatFlagsSay(t *testing.T) {
	for _, name := range names() {
		table := Load(name)
		rapid.Check(t, func(t *rapid.T) {
			terms := drawTerms(t, table)
			for _, term := range []string{"pool", "engine.scheduling"} { // by several flags
				delete(terms, term)
			}
			w := table.Write(terms, table.Version, 1, Server)
			want := reads(t, table, "", slices.Concat(w.Words, []string{"--zzzz"})...)
			file, anchors := "", map[string]string{}
			if name == "trtllm" && terms["engine.max-model-len"] == "" {
				file = "max_seq_len: null\n"
			}
			var model []string
			for _, option := range optionsOf(w.Words) {
				flag, value := strings.TrimLeft(option[0], "-"), "true"
				switch {
				case flag == option[0] || flag == "model-path":
					model = option
					continue
				case len(option) == 2 && anchors[option[1]] != "":
					value = "*" + anchors[option[1]]
				case len(option) == 2:
					anchor := fmt.Sprint("a", len(anchors))
					anchors[option[1]] = anchor
					value = "&" + anchor + " " + option[1]
				}
				if bare, off := strings.CutPrefix(flag, "no-"); off {
					flag, value = bare, "false"
				}
				file += flag + ": " + value + "\n"
			}
			got := reads(t, table, file+"zzzz: 1\n", slices.Concat([]string{"--config", "/f/c"},
				model)...)
			if !maps.Equal(got.Terms, want.Terms) {
				t.Fatalf("%q sets %v\n%s sets %v", w.Words, want.Terms, file, got.Terms)
			}
			if len(got.Ignored) != len(want.Ignored) {
				t.Fatalf("%q leaves out %q\n%s leaves out %q", w.Words, want.Ignored, file,
					got.Ignored)
			}
		})
	}
}

// The limit that a command gives for each data-parallel rank is the least with which all ranks
// together have what was asked for; no other term is divided.
func TestLimitsOfRanks(t *testing.T) {
	for _, name := range names() {
		table := Load(name)
		each := map[string]bool{}
		for _, o := range table.Options {
			each[o.Term] = each[o.Term] || o.Per == "rank"
		}
		rapid.Check(t, func(t *rapid.T) {
			ranks := rapid.IntRange(1, 9).Draw(t, "ranks")
			terms := drawTerms(t, table)
			delete(terms, "pool")
			w := table.Write(terms, table.Version, ranks, Server)
			words := slices.Concat(w.Words, []string{"--config", "c"})
			r := reads(t, table, cmp.Or(w.Config, "{}"), words...)
			further := rapid.SampledFrom([]string{"memory.tokens", "rank-blocks"}).
				Draw(t, "further")
			before := maps.Clone(r.Terms)
			r.OfAllRanks(ranks, further)
			for term, was := range before {
				n, all := Terms(before).count(was), Terms(r.Terms).count(r.Terms[term])
				times := 1
				if each[term] || term == further {
					times = ranks
				}
				if all != n*times {
					t.Fatalf("%s: %s of a rank, and %s of %d", term, was, r.Terms[term], ranks)
				}
				if asked := terms.count(terms[term]); each[term] &&
					(all < asked || all >= asked+ranks) {
					t.Fatalf("%s: asked for %d, got %d of %d ranks", term, asked, all, ranks)
				}
			}
			if len(r.Terms) != len(before) {
				t.Fatalf("%v became %v", before, r.Terms)
			}
		})
	}
}

// count returns a number, and 0 for other text.
func (Terms) count(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

// An amount of memory is read as the whole number of bytes that is nearest to it.
func TestAmountsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Float64Range(1, 1e15).Draw(t, "bytes")
		if unit := rapid.SampledFrom([]float64{0, 1, 1e9, 1 << 30}).Draw(t, "unit"); unit > 0 {
			bytes = unit * math.Ceil(bytes/unit)
		}
		text := Amount(bytes)
		if got, err := units.ParseBytes(text); err != nil || got != math.Round(bytes) {
			t.Fatalf("%g bytes are written %s, and read as %g: %v", bytes, text, got, err)
		}
	})
}

// The version of an image does not depend on the registry that it is from, nor on what follows the
// version in its tag.
func TestTheVersionIsInTheTag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 30).Draw(t, name) }
		version := fmt.Sprintf("%d.%d", n("major"), n("minor"))
		if rapid.Bool().Draw(t, "patch") {
			version += fmt.Sprintf(".%d", n("third"))
		}
		one := func(name string, choices ...string) string {
			return rapid.SampledFrom(choices).Draw(t, name)
		}
		image := one("registry", "", "localhost:5000/", "r.io/2.0/") + "repository:" +
			one("before", "", "v", "rocm6.4_vllm_") + version +
			one("after", "", "-cu12", "_20251210", "@sha256:12ab")
		if got := VersionOf(image).String(); got != version {
			t.Fatalf("%s has the version %s, read %q", image, version, got)
		}
	})
}

// The size of the largest graph, no graphs at all, and the roles of a pool are read from each of
// the spellings that an engine has for them. Of two roles the more exact one counts.
func TestSpellingsMeanOneThing(t *testing.T) {
	for text, want := range map[string]string{
		"-O0": "engine.eager=true", "-O=0": "engine.eager=true", "-O 0": "engine.eager=true",
		"--optimization-level 0":                    "engine.eager=true",
		"--enforce-eager":                           "engine.eager=true",
		`-cc={"cudagraph_mode":"NONE"}`:             "engine.eager=true",
		"-cc.cudagraph_mode=PIECEWISE":              "",
		`-cc={"cudagraph_mode":"FULL_DECODE_ONLY"}`: "engine.prompt-graphs=off",
		`-cc={"cudagraph_mode":"full_decode_only",` +
			`"max_cudagraph_capture_size":8}`: "engine.graph=8 engine.prompt-graphs=off",
		"-dcp 8":                                         "parallelism.decode-context=8",
		"-dcp 1 -pcp 1 --cpu-offload-gb 0.0":             "parallelism.decode-context=1",
		"--prefill-context-parallel-size=1":              "",
		"--compilation-config.cudagraph_mode=NONE":       "engine.eager=true",
		`--compilation-config={"cudagraph_mode":"FULL"}`: "",
		"--cudagraph-capture-sizes 1 2 4 8":              "engine.graph=8",
		"--cudagraph-capture-sizes=[1,8,2]":              "engine.graph=8",
		"--cudagraph-capture-sizes 8 --enforce-eager":    "engine.eager=true",
		"--enforce-eager --no-enforce-eager":             "contradicts",
		"--no-enforce-eager":                             "",
		"--enforce-eager=False":                          "",
		"--enforce-eager True":                           "engine.eager=true",
		"--enable-prefix-caching=false --enforce-eager": "engine.eager=true " +
			"memory.policy=paged",
		"--enable-prefix-caching False": "memory.policy=paged",
		"--is-prefill-worker":           "pool=prefill",
		`--rope-scaling {"rope_type":"yarn","factor":4.0} --max-model-len 131072`: "engine.max-" +
			"model-len=131072 engine.stretch-context=true",
		`--hf-overrides {"rope_scaling":{"rope_type":"yarn","factor":4}}`: "engine.stretch-" +
			"context=true",
		`--hf-overrides {"text_config":{"max_position_embeddings":9}}`: "engine." +
			"stretch-context=true",
		`--hf-overrides {"architectures":["X"]}`:                        "",
		`--is-decode-worker --kv-transfer-config {"kv_role":"kv_both"}`: "pool=decode",
		`--kv-transfer-config {"kv_role":"kv_both"} --is-decode-worker`: "pool=decode",
		"--kv-transfer-config.kv_role kv_consumer":                      "pool=decode",
		"--eplb-config.num_redundant_experts=32": "parallelism." +
			"redundant-experts=32",
		"-cc.cudagraph_mode none -cc.pass_config.fuse_x=True": "engine.eager=true",
		"--speculative-config.method mtp " +
			"--speculative_config.num_speculative_tokens 3": `drafter={"method":` +
			`"mtp","num_speculative_tokens":3}`,
		"--speculative-model=m --num-speculative-tokens 4": "drafter-model=m drafter-steps=4",
		`--kv-transfer-config={"kv_connector":"OffloadingConnector",` +
			`"kv_connector_extra_config":{"cpu_bytes_to_use":1}}`: "memory.cpu=1B " +
			"offload-backend=native",
		"--kv-offloading-size 1.5 --kv-offloading-backend LMCache": "memory.cpu=1610612736B " +
			"offload-backend=lmcache",
	} {
		r, err := Load("vllm").Read(&Command{Words: strings.Fields(text)})
		if want == "contradicts" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		testkit.OK(t, err)
		var got []string
		for _, term := range slices.Sorted(maps.Keys(r.Terms)) {
			got = append(got, term+"="+r.Terms[term])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s sets %q, want %s", text, got, want)
		}
	}
}

// A file that cannot be read is an error that names it; TensorRT-LLM, whose file is no list of
// flags, starts without it, which is said by its name. Each word that an error names as allowed is
// read, or left out by name.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	for _, name := range names() {
		for _, text := range []string{"", "a: [", "- a"} {
			r, err := Load(name).Read(&Command{Words: []string{"--config=/etc/c.yaml"},
				File: func(file string) (string, bool) {
					return text, file == "c.yaml" && text != ""
				}})
			if name == "trtllm" {
				if err != nil || !slices.Equal(r.Ignored, []string{"/etc/c.yaml"}) {
					t.Errorf("%q under %s: %v, left out %q", text, name, err, r.Ignored)
				}
			} else if err == nil || !strings.Contains(err.Error(), "/etc/c.yaml") {
				t.Errorf("%q under %s: %v", text, name, err)
			}
		}
	}
	_, err := stored("x")
	_, list, _ := strings.Cut(err.Error(), "allowed: ")
	for _, method := range strings.FieldsFunc(strings.ReplaceAll(list, " and ", ", "),
		func(r rune) bool { return strings.ContainsRune(", ", r) }) {
		r, err := Load("vllm").Read(&Command{Words: []string{"-q", method}})
		if _, sets := r.Terms["engine.weights"]; err != nil || sets == (r.Unknown != "") &&
			method != "auto" {
			t.Errorf("--quantization %s: %v, sets %v, asks %q", method, err, r.Terms, r.Unknown)
		}
	}
}

// What decides how many accelerators there are or what they hold, and is not simulated, ends the
// command, in each engine that has it; and its value of no effect sets nothing.
func TestSizesThatAreNotReadEndTheCommand(t *testing.T) {
	for text, want := range map[string]string{
		"vllm --prefill-context-parallel-size 2": "contexts",
		"vllm --cpu-offload-gb 10":               "host memory",
		"sglang --cpu-offload-gb=2":              "host memory",
		"vllm --kv-cache-memory-bytes 1000000":   "memory.tokens",
		"sglang --attn-cp-size 2":                "contexts", "trtllm --cp_size 2": "contexts",
		"sglang --enable-nsa-prefill-context-parallel": "contexts",
		"llama.cpp -ts 3,1":                            "several",
		"llama.cpp --tensor-split 1/1/0":               "several",
		"vllm --kv-cache-dtype turboquant_k8v4":        `found "turboquant_k8v4"`,
		"sglang --kv-cache-dtype int2":                 `found "int2"`,
		"sglang --torchao-config int4wo-128":           "set engine.weights",
		"vllm --dtype float8":                          `found "float8"`,
		"vllm --compilation-config.cudagraph_mode=OFF": `found cudagraph_mode "OFF"`,
	} {
		words := strings.Fields(text)
		r, err := Load(words[0]).Read(&Command{Words: words[1:]})
		if err == nil && len(r.Asks) == 1 {
			err = r.Asks[0]
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An unknown flag is named with the published one that it is a letter away from, and alone where
// there is none.
func TestUnknownFlagsNameTheirNeighbour(t *testing.T) {
	for flag, want := range map[string]string{"--max-mun-seqs": "did you mean --max-num-seqs",
		"--zzzzzzzz": ""} {
		r, err := Load("vllm").Read(&Command{Words: []string{flag, "4"}})
		testkit.OK(t, err)
		if said := strings.Contains(r.Notes[0], "did you mean"); len(r.Notes) != 1 ||
			said != (want != "") || !strings.Contains(r.Notes[0], want) {
			t.Errorf("%s: notes %q", flag, r.Notes)
		}
	}
}

// The environment says what it says for the engine that reads it; a flag stands above it.
func TestTheEnvironmentIsRead(t *testing.T) {
	for _, c := range []struct{ engine, name, value, want string }{
		{"vllm", "VLLM_USE_V1", "0", "engine.preset=vllm-v0"}, {"vllm", "VLLM_USE_V1", "1", ""},
		{"llama.cpp", "LLAMA_ARG_KV_UNIFIED", "0", "unified=false"},
		{"llama.cpp", "LLAMA_ARG_KV_UNIFIED", "on", "unified=true"},
		{"sglang", "VLLM_USE_V1", "0", ""}, {"vllm", "--enforce-eager", "true", ""},
	} {
		r, err := Load(c.engine).Read(&Command{Env: map[string]string{c.name: c.value}})
		testkit.OK(t, err)
		term, value, _ := strings.Cut(c.want, "=")
		if r.Terms[term] != value || c.want == "" && len(r.Terms) > 0 {
			t.Errorf("%s=%s sets %v under %s", c.name, c.value, r.Terms, c.engine)
		}
	}
}
