package commands

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// starts says that a program "engine" is one that a text is read for.
func starts(words []string) bool {
	return len(words) > 0 && words[0] == "engine" || len(words) > 1 && words[0] == "exec" &&
		words[1] == "engine"
}

// enginesIn returns the commands of a text that start an engine.
func enginesIn(t rapid.TB, text string) (list []Command) {
	t.Helper()
	found, err := Read(text, nil, starts)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, c := range found.Commands {
		if starts(c.Words) {
			list = append(list, c)
		}
	}
	return list
}

// asYAML returns documents as a manifest.
func asYAML(t rapid.TB, documents ...any) string {
	t.Helper()
	var list []string
	for _, d := range documents {
		text, err := yaml.Marshal(d)
		testkit.OK(t, err)
		list = append(list, string(text))
	}
	return strings.Join(list, "---\n")
}

type object = map[string]any

// spelled makes up a word of a script, and how it is written: as it is, within quotes, with
// backslashes, by a variable, by arithmetic, or by several of these. The variables that it uses are
// set, each once.
func spelled(t *rapid.T, set map[string]string) (word, script string) {
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		part := rapid.StringMatching(`[a-z ./=:{},$"'\\-]{1,6}`).Draw(t, "part")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(part)
		variable := fmt.Sprintf("V%d", len(set))
		switch rapid.IntRange(0, 6).Draw(t, "spelling") {
		case 0:
			script += `"` + quoted + `"`
		case 1:
			part = strings.ReplaceAll(part, "'", "")
			script += "'" + part + "'"
		case 2:
			for _, letter := range part {
				script += `\` + string(letter)
			}
		case 3:
			set[variable] = `"` + quoted + `"`
			script += `"a$` + variable + `.b"`
			part = "a" + part + ".b"
		case 4:
			part = strings.ReplaceAll(part, " ", "")
			set[variable] = "'" + strings.ReplaceAll(part, "'", `'\''`) + "'"
			script += "x${" + variable + "}y"
			part = "x" + part + "y"
		case 5:
			var n int
			n, part = expression(t, set, 2)
			script += "$((" + part + "))"
			part = strconv.Itoa(n)
		default:
			part = "plain-9"
			script += part
		}
		word += part
	}
	return word, script
}

// expression makes up an expression of numbers and variables, and its value; no part of it is below
// 0 or as much as MostReplicas.
func expression(t *rapid.T, set map[string]string, depth int) (int, string) {
	n := rapid.IntRange(0, 30).Draw(t, "number")
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		x, left := expression(t, set, depth-1)
		y, right := expression(t, set, depth-1)
		switch op := rapid.IntRange(0, 3).Draw(t, "operator"); {
		case op == 0:
			return x * y, "(" + left + ") * (" + right + ")"
		case op == 1 && x >= y:
			return x - y, "(" + left + ") - (" + right + ")"
		case op == 2 && y > 0:
			return x / y, "(" + left + ") / (" + right + ")"
		}
		return x + y, left + " + (" + right + ")"
	case kind == 1:
		variable := fmt.Sprintf("N%d", len(set))
		set[variable] = strconv.Itoa(n)
		return n, rapid.SampledFrom([]string{variable, "$" + variable, "${" + variable + "}"}).
			Draw(t, "use")
	}
	return n, strconv.Itoa(n)
}

// The words of a script are read as a shell reads them, however they are spelled, and so are
// variables that are set once, in the script or before a command, and files that it writes.
func TestScriptsAreReadAsAShellReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]string{}
		words, line := []string{"engine"}, "engine"
		for range rapid.IntRange(0, 4).Draw(t, "words") {
			word, script := spelled(t, set)
			words, line = append(words, word), line+" "+script
		}
		script := ""
		for _, name := range slices.Sorted(maps.Keys(set)) {
			script += rapid.SampledFrom([]string{"", "export "}).Draw(t, "export") + name + "=" +
				set[name] + "\n"
		}
		set["MANY"] = "'b c'"
		script += "MANY='b c'\ncat <<END >/tmp/f.yaml\na: $MANY\nEND\n"
		words, line = append(words, "b", "c"), line+" $MANY"
		looped := rapid.Bool().Draw(t, "looped")
		switch line = "OWN='x y' " + line; {
		case looped:
			script += "for I in 1 2; do " + line + " & done\nengine after"
		default:
			script += line
		}
		found, err := Read(script, nil, starts)
		if err != nil {
			t.Fatalf("%v in\n%s", err, script)
		}
		all := slices.DeleteFunc(found.Commands, func(c Command) bool { return !starts(c.Words) })
		if !slices.Equal(all[0].Words, words) || all[0].Looped != looped ||
			all[0].Env["OWN"] != "x y" || all[0].Env["MANY"] != "b c" ||
			found.Written["f.yaml"] != "a: b c\n" {
			t.Fatalf("%s\nis read as %q, want %q; %+v, %q", script, all[0].Words, words, all[0],
				found.Written)
		}
		for _, word := range all[0].Words {
			testkit.OK(t, Closed(word))
		}
		if looped && (all[1].Looped || all[1].Env["OWN"] != "") {
			t.Fatalf("what comes after a loop is %+v", all[1])
		}
	})
}

// A line goes on behind a backslash with blanks or a comment, which a copy has, unless both are in
// quotes.
func TestLinesGoOnBehindWhatCopiesAdd(t *testing.T) {
	for script, words := range map[string][]string{
		"engine 'a\\ #' b \\ # don't\n c": {"engine", `a\ #`, "b", "c"},
		"engine \"a\\ \" b \\  \n c":      {"engine", `a\ `, "b", "c"},
		"bash -c 'engine b \\ \n c'":      {"engine", "b", "c"},
	} {
		found, err := Read(script, nil, starts)
		testkit.OK(t, err)
		if list := found.Commands; len(list) == 0 ||
			!slices.Equal(list[len(list)-1].Words, words) {
			t.Errorf("%s\nis read as %+v, want %q", script, list, words)
		}
	}
}

// A word that depends on more than a script says is not read: its line is named, or the line that
// sets its variable.
func TestWordsThatNeedAShellAreNamed(t *testing.T) {
	for script, line := range map[string]string{
		"engine\nengine $X":                               "2",
		"A=$(date)\n\nengine $A":                          "1",
		"A=1\nA=2\nengine $A":                             "2",
		"A=1\nfor B in 1; do A+=2; done\nengine \"$A\"":   "2",
		"A=1\nA+=2\nengine $A":                            "",
		"A='b c'\nengine x$A":                             "2",
		"A=1\nengine ${A:-2}":                             "",
		"engine ${A:-$B}":                                 "1",
		"A=$B\nengine ${A:-2}":                            "1",
		"engine ${A:?}":                                   "1",
		"engine \"$@\"":                                   "1",
		"A+=(1)\nengine ${A[@]}":                          "1",
		"engine $((A > 1 ? A : 1))":                       "1",
		"engine $((2 > 1 ? 3 : A))":                       "",
		"A=1\nengine ${#A}":                               "2",
		"engine `date`":                                   "1",
		"engine $'a'":                                     "1",
		"for A in 1; do engine $A; done":                  "1",
		"engine $((1 - 2))":                               "1",
		"engine $((1 / 0))":                               "1",
		"engine $((2 ** 3))":                              "1",
		"engine $((010))":                                 "1",
		"engine $((A))":                                   "1",
		fmt.Sprintf("engine $((%d))", MostReplicas):       "1",
		fmt.Sprintf("engine $((%d * 2))", MostReplicas/2): "1",
		fmt.Sprintf("engine $((%d + 0))", MostReplicas-1): "",
		"A=1\nengine $A":                                  "",
		"engine $((4 / 2 - 2))":                           "",
	} {
		all := enginesIn(t, script)
		words := all[len(all)-1].Words
		err := Closed(words[1])
		if (err == nil) != (line == "") || err != nil &&
			!strings.Contains(err.Error(), "line "+line) {
			t.Errorf("%s: %v in %q, want line %q", script, err, words, line)
		}
	}
}

// A condition on what is known is decided: what the script sets then is set as if the part that
// does not run were not there. One on what is not known is not.
func TestKnownConditionsAreDecided(t *testing.T) {
	for script, want := range map[string]string{
		`A=4; if [[ "$A" == 4 ]]; then B=1; else B=2; fi`:                  "1",
		`A=4; if [ "$A" != 4 ]; then B=1; else B=2; fi`:                    "2",
		`A=4; if [[ $A -gt 4 ]]; then B=1; elif (( A > 3 )); then B=2; fi`: "2",
		`A=; B=1; [ -n "$A" ] && B=2`:                                      "1",
		`A=x; B=1; [ -z "$A" ] || B+=2`:                                    "12",
		`A=x; [[ -n $A && ! $A == y* ]] && B=3`:                            "3",
		`A=fp8; case $A in bf16) B=1 ;; fp*) B=2 ;; *) B=3 ;; esac`:        "2",
		`A=(1); A+=(2 3); B="${#A[@]}"; B=1`:                               "",
		`if [[ "$C" == 4 ]]; then B=1; else B=2; fi`:                       "",
		`if test -f /tmp; then B=1; else B=2; fi`:                          "",
		`case ${1:-a} in a) B=1 ;; *) B=2 ;; esac`:                         "",
		`B=1; [ -n "$C" ] && B+=2`:                                         "",
	} {
		words := enginesIn(t, script+"\nengine \"$B\"")[0].Words
		if err := Closed(words[1]); want == "" && err == nil || want != "" &&
			words[1] != want {
			t.Errorf("%s: %q, %v, want %q", script, words, err, want)
		}
	}
	words := enginesIn(t, "A=(1 2)\nA+=(3)\n[ -n \"$C\" ] && A+=(4)\nengine \"${A[@]}\"")[0].Words
	if len(words) != 5 || words[3] != "3" || Closed(words[4]) == nil {
		t.Errorf("an array of 3 words and one that may be there is %q", words)
	}
}

// What stands around a command is what its arm of a case says, and only within the arm.
func TestArms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"mixed-0", "prefill-1", "decode-2", "prefill", "x-3"}).
			Draw(t, "name")
		n := rapid.IntRange(0, 2*MostReplicas).Draw(t, "replicas")
		script := fmt.Sprintf("engine before\ncase $1 in\n%s) # replicas: %d, of: 2, image: i:v1\n"+
			"engine in;;\na|b) engine of two;;\nesac\nengine after", name, n)
		all := enginesIn(t, script)
		want := Place{Replicas: min(n, MostReplicas), Image: "i:v1"}
		if role, _, _ := strings.Cut(name, "-"); role != "x" {
			want.Name, want.Role = name, role
		}
		for i, place := range []Place{{}, want, {}, {}} {
			got := all[i].Place
			if got.Name != place.Name || got.Role != place.Role || got.Image != place.Image ||
				got.Replicas != place.Replicas {
				t.Fatalf("%s\n%q stands in %+v, want %+v", script, all[i].Words, got, place)
			}
		}
	})
}

// A container starts the words of its command and its arguments, wherever the one ends and the
// other begins, in a shell or not, with variables of its own; and the object around it says its
// name, role, accelerator, replicas, files and autoscaler, in whatever order the objects stand, in
// a List or not.
func TestContainersAreReadAsKubernetesStartsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, choices ...string) string {
			return rapid.SampledFrom(choices).Draw(t, name)
		}
		words := []string{"engine", "--size", "7", "$(OF)", "'quoted' \"word\" $x"}
		cut := rapid.IntRange(0, len(words)).Draw(t, "cut")
		var command []any
		for _, word := range words {
			if n, err := strconv.Atoi(word); err == nil && rapid.Bool().Draw(t, "number") {
				command = append(command, n)
				continue
			}
			command = append(command, word)
		}
		container := object{"name": "c", "image": "r/i:v1", "command": command[:cut],
			"args": command[cut:], "env": []any{object{"name": "OF", "value": "it is"},
				object{"name": "SECRET", "valueFrom": object{}}}}
		if shell := one("shell", "", "sh", "/bin/bash"); shell != "" {
			flag := one("flag", "-c", "-lc")
			line := `A=7; exec engine --size $A "$OF" "'quoted' \"word\" \$x"`
			container["command"], container["args"] = []any{shell, flag, line}, []any{}[:0]
			words = slices.Concat([]string{"exec"}, words)
		}
		words[len(words)-2] = "it is"
		role, meant := one("role", "prefill", "decode", "both", "prefill-decode", "other"), ""
		switch role {
		case "prefill", "decode":
			meant = role
		case "both", "prefill-decode":
			meant = "mixed"
		}
		product := one("product", "nvidia.com/gpu.product", "amd.com/gpu.product-name")
		replicas := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 2*MostReplicas)).
			Draw(t, "replicas")
		pod := object{"metadata": object{"labels": object{"llm-d.ai/role": role}}, "spec": object{
			"nodeSelector": object{product: "P"}, "containers": []any{container},
			"volumes": []any{object{"configMap": object{"name": "files"}}}}}
		of := object{"replicas": replicas, "template": pod}
		whole := object{"kind": one("kind", "Deployment", "StatefulSet"),
			"metadata": object{"name": "n"}, "spec": of}
		each := 1
		if rapid.Bool().Draw(t, "set") {
			each = rapid.IntRange(1, 3).Draw(t, "slices")
			whole = object{"kind": "DisaggregatedSet", "metadata": object{"name": "n"},
				"spec": object{"slices": each, "roles": []any{object{"spec": of}}}}
		}
		scaled := rapid.Bool().Draw(t, "scaled")
		documents := []any{whole,
			object{"kind": "ConfigMap", "metadata": object{"name": "files"}, "data": object{
				"f": "text", "n": 3}},
			object{"kind": "ConfigMap", "metadata": object{"name": "others"}, "data": object{
				"f": "of others"}}}
		if scaled {
			documents = append(documents, object{"kind": "HorizontalPodAutoscaler", "spec": object{
				"scaleTargetRef": object{"name": "n"}}})
		}
		documents = rapid.Permutation(documents).Draw(t, "order")
		if rapid.Bool().Draw(t, "list") {
			documents = []any{object{"kind": "List", "items": documents}}
		}
		text := asYAML(t, documents...)
		all := enginesIn(t, text)
		if len(all) != 1 {
			t.Fatalf("%d commands in\n%s", len(all), text)
		}
		c := all[0]
		if replicas > 0 {
			replicas = min(replicas, MostReplicas) * each
		}
		if !slices.Equal(c.Words, words) || c.Name != "n" || c.Role != meant || c.Product != "P" ||
			c.Image != "r/i:v1" || c.Replicas != replicas || c.Stopped != (replicas == 0) ||
			(c.Scaler != nil) != scaled || c.OfPods != (whole["kind"] == "StatefulSet") ||
			c.Env["OF"] != "it is" {
			t.Fatalf("%s\nis read as %+v, want %q", text, c, words)
		}
		if len(c.Mounted) == 0 || c.Mounted[0]["f"] != "text" || c.Mounted[0]["n"] != "" {
			t.Fatalf("files %v in\n%s", c.Mounted, text)
		}
	})
}

// A replica over several nodes is started by its leader, or by its workers where there is no
// leader; the size of the group is a variable of both.
func TestLeadersStartReplicas(t *testing.T) {
	part := func(name string) object {
		return object{"spec": object{"containers": []any{object{"name": name, "command": []any{
			"engine", name, "$(LWS_GROUP_SIZE)"}}}}}
	}
	for _, c := range []struct {
		leader string
		want   []string
	}{{"engine", []string{"leader"}}, {"", []string{"worker"}}} {
		group := object{"size": 4, "workerTemplate": part("worker")}
		if c.leader != "" {
			group["leaderTemplate"] = part("leader")
		}
		var got []string
		for _, found := range enginesIn(t, asYAML(t, object{"kind": "LeaderWorkerSet",
			"spec": object{"leaderWorkerTemplate": group}})) {
			if got = append(got, found.Words[1]); found.Words[2] != "4" {
				t.Errorf("a group of %s", found.Words[2])
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("started by %q, want %q", got, c.want)
		}
	}
	worker := func(role, name string) object {
		return object{"componentType": "worker", "subComponentType": role, "replicas": 2,
			"command": []any{"engine", name}}
	}
	all := enginesIn(t, asYAML(t, object{"kind": "DynamoGraphDeployment", "spec": object{
		"services": object{"A": worker("decode", "a"), "B": worker("prefill", "b"),
			"C": object{"envs": []any{object{"name": "DYN_ROUTER_MODE", "value": "kv"}}}}}}))
	if len(all) != 2 || all[0].Role != "prefill" || all[1].Role != "decode" {
		t.Errorf("Dynamo's workers are %+v", all)
	}
}

// The predictor of KServe has its least replicas, with an autoscaler where it may have more; a
// model without a command is said to be skipped.
func TestPredictors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least, most := rapid.IntRange(0, 5).Draw(t, "least"), rapid.IntRange(0, 5).Draw(t, "most")
		predictor := object{"minReplicas": least, "containers": []any{object{
			"command": []any{"engine"}}}}
		if most > 0 {
			predictor["maxReplicas"] = most
		}
		text := asYAML(t, object{"kind": "InferenceService",
			"spec": object{"predictor": predictor}})
		c := enginesIn(t, text)[0]
		if c.Replicas != least || (c.Scaler != nil) != (most > 0 && most != least) {
			t.Fatalf("%s\nis read as %+v", text, c)
		}
	})
	found, err := Read("kind: Pod\ncontainers: [{name: c, command: [sh, -c, 'if engine']}]", nil,
		starts)
	if err != nil || len(found.Skipped) != 1 || !strings.Contains(found.Skipped[0], "container c") {
		t.Errorf("a script that does not end: %+v, %v", found, err)
	}
}

// A service of Docker Compose is read alike whether its command is a line or a list, is split into
// an entrypoint or not, and whether its variables are a list or a mapping.
func TestServicesAreReadAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := []string{"engine", "$word", "a b"}
		service := object{"image": "r/i:v1"}
		cut := rapid.IntRange(0, len(words)).Draw(t, "cut")
		for key, part := range map[string][]string{"entrypoint": words[:cut],
			"command": words[cut:]} {
			line, list := "", []any{}
			for _, word := range part {
				word = strings.ReplaceAll(word, "$", "$$")
				line, list = line+" '"+word+"'", append(list, word)
			}
			if service[key] = any(list); len(part) > 0 && rapid.Bool().Draw(t, key) {
				service[key] = strings.TrimSpace(line)
			}
		}
		if service["environment"] = any(object{"A": "b=c", "D": 1}); rapid.Bool().Draw(t, "list") {
			service["environment"] = []any{"A=b=c", "D"}
		}
		replicas := rapid.IntRange(-1, 3).Draw(t, "replicas")
		service["deploy"] = object{"replicas": replicas}
		service["configs"] = []any{object{"source": "s", "target": "/x/f"},
			object{"source": "none", "target": "g"}}
		name := rapid.SampledFrom([]string{"decode-1", "x"}).Draw(t, "name")
		role, labels := map[string]string{"decode-1": "decode"}[name], object{}
		if rapid.Bool().Draw(t, "role") {
			labels["llm-d.ai/role"], role = "both", "mixed"
		}
		if rapid.Bool().Draw(t, "component") {
			labels["app.kubernetes.io/component"] = "g"
		}
		service["labels"] = labels
		text := asYAML(t, object{"services": object{name: service},
			"configs": object{"s": object{"content": "cost: $$1"}}})
		c := enginesIn(t, text)[0]
		if labels["app.kubernetes.io/component"] != nil {
			name = ""
		}
		if !slices.Equal(c.Words, words) || c.Env["A"] != "b=c" || c.Name != name ||
			c.Role != role || c.Image != "r/i:v1" || c.Replicas != max(0, replicas) ||
			c.Stopped != (replicas == 0) || c.Mounted[0]["f"] != "cost: $1" {
			t.Fatalf("%s\nis read as %+v, want %q", text, c, words)
		}
	})
}

// Numbers and booleans among words and variables are texts, as they are written; null is none.
func TestNumbersAreReadAsTheyAreWritten(t *testing.T) {
	const list = "[engine, 8192, 0.90, 1e3, 010, True, x]"
	words := []string{"engine", "8192", "0.90", "1e3", "010", "True", "x"}
	const pod = "kind: Pod\nspec: {containers: [{command: " + list + ", env: "
	for _, text := range []string{
		"services: {s: {image: i, entrypoint: " + list + ", environment: {A: 0.90, B: null}}}",
		"x: &e {A: 0.90, B: null}\nservices: {s: {image: i, command: " + list +
			", environment: {<<: [*e], B: }}}",
		"x: &e {A: 0.90}\nservices: {s: {build: b, command: " + list + ", environment: *e}}",
		"services: {s: {image: i, command: " + list + ", environment: [A=0.90, B]}}",
		pod + "[{name: A, value: 0.90}, {name: B, value: ~}]}]}",
		pod + "{A: 0.90, B: null}}]}",
		"resources: {}\ncommand: [engine]\nargs: " + strings.Replace(list, "engine, ", "", 1) +
			"\nenvs: {A: 0.90, B: ~}",
	} {
		c := enginesIn(t, text)[0]
		if _, given := c.Env["B"]; !slices.Equal(c.Words, words) || c.Env["A"] != "0.90" || given {
			t.Errorf("%s\nis read as %q, %q, want %q", text, c.Words, c.Env, words)
		}
	}
	const within = "services: {s: {image: i, environment: &e {<<: *e, A: 1}}}"
	if _, err := Read(within, nil, starts); err == nil {
		t.Error("variables that contain themselves are read")
	}
}

// The image of vLLM starts its engine with arguments that name no program; other images start
// nothing by themselves.
func TestImagesThatStartAnEngine(t *testing.T) {
	for line, enters := range map[string]bool{"": true, "--model m": true, "org/model -tp 2": true,
		"/bin/sh -c x": false, "python3 -m x": false} {
		words := strings.Fields(line)
		want := words
		if enters {
			want = slices.Concat([]string{"vllm", "serve"}, words)
		}
		if got := Entered("r.io/vllm/vllm-openai:v1", words); !slices.Equal(got, want) {
			t.Errorf("%q starts %q", line, got)
		}
		if got := Entered("other", words); !slices.Equal(got, words) {
			t.Errorf("%q starts %q in another image", line, got)
		}
	}
}

// A text at each of the bounds is read, and one beyond it is refused by what it has too much of.
func TestBoundsOfTexts(t *testing.T) {
	keys := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("k%d: 1", i)
		}
		return "kind: P\nx: {" + strings.Join(list, ", ") + "}\n"
	}
	nested := func(n int) string {
		return "engine " + strings.Repeat("{a,", n) + strings.Repeat("}", n)
	}
	script := func(n int) string { return "engine " + strings.Repeat("x", n-len("engine ")) }
	for what, c := range map[string]struct {
		most int
		make func(n int) string
	}{"keys": {mostKeys, keys}, "bytes": {mostScript, script}, "brackets": {mostNested, nested},
		"documents": {mostDocuments - 1, func(n int) string {
			return strings.Repeat("kind: P\n---\n", n) + "kind: P\n"
		}}} {
		if _, err := Read(c.make(c.most-1), nil, starts); err != nil {
			t.Errorf("%d %s: %v", c.most-1, what, err)
		}
		if _, err := Read(c.make(c.most+1), nil, starts); err == nil ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("%d %s: %v", c.most+1, what, err)
		}
	}
	_, err := Read("kind: P\na: {{ .B }}\n", nil, starts)
	if err == nil || !strings.Contains(err.Error(), "line 2 of the manifest has a template") {
		t.Errorf("a template: %v", err)
	}
}
