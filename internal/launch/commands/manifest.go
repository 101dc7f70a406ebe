package commands

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// manifest is what Kubernetes manifests say beside the commands of containers.
type manifest struct {
	// configs are the files of ConfigMaps, by the names of these.
	configs map[string]map[string]string
	// scalers are the autoscalers, by the names of the objects that they scale.
	scalers map[string]map[string]any
	// runtimes are the containers of KServe's runtimes that InferenceServices name.
	runtimes map[string]map[string]any
	// bases are the configurations that LLMInferenceServices build on.
	bases map[string]map[string]any
	// set are the variables that all containers have.
	set variables
	// starts reports whether a command starts an engine.
	starts func(words []string) bool
	// commands lists the commands that were found, and engines how many of them start an engine.
	commands []Command
	engines  int
	// skipped are notes on what may start engines and is not read.
	skipped []string
}

// readContainers finds the commands of all containers in the documents of a manifest.
func readContainers(documents []map[string]any, given map[string]string,
	starts func([]string) bool) *manifest {
	m := &manifest{configs: map[string]map[string]string{}, scalers: map[string]map[string]any{},
		runtimes: map[string]map[string]any{}, bases: map[string]map[string]any{},
		set: newVariables(given), starts: starts}
	serves := slices.ContainsFunc(documents, func(document map[string]any) bool {
		return document["kind"] == "InferenceService"
	})
	for _, document := range documents {
		name, named := At(document, "metadata", "name").(string)
		switch kind := document["kind"]; {
		case named && serves && (kind == "ServingRuntime" || kind == "ClusterServingRuntime"):
			m.runtimes[name] = mainContainer(document["spec"])
		case named && kind == "LLMInferenceServiceConfig":
			m.bases[name], _ = document["spec"].(map[string]any)
		case named && kind == "ConfigMap":
			m.configs[name] = Texts(document["data"])
		case kind == "HorizontalPodAutoscaler":
			m.scalers[textAt(document, "spec", "scaleTargetRef", "name")] = document
		}
	}
	for _, document := range documents {
		name := textAt(document, "metadata", "name")
		if m.runtimes[name] != nil && document["kind"] != "InferenceService" {
			continue // which starts what an InferenceService gives it
		}
		if document["kind"] == "LLMInferenceServiceConfig" && len(documents) > len(m.bases) {
			continue // which starts what an LLMInferenceService makes of it
		}
		document = m.based(document)
		around := Place{Name: name, Scaler: m.scalers[name]}
		configs := m.named(document, nil)
		if len(configs) == 0 { // an excerpt without its volumes
			configs = slices.Sorted(maps.Keys(m.configs))
		}
		for _, config := range configs {
			around.Mounted = append(around.Mounted, m.configs[config])
		}
		m.byFields(document, around)
		m.collect(document, around)
	}
	return m
}

// based returns an LLMInferenceService with what it takes from the configurations that it names, in
// their order, and any other document as it is.
func (m *manifest) based(document map[string]any) map[string]any {
	references, _ := At(document, "spec", "baseRefs").([]any)
	if document["kind"] != "LLMInferenceService" || len(references) == 0 {
		return document
	}
	spec := map[string]any{}
	for _, reference := range references[:min(len(references), mostDocuments)] {
		merge(spec, m.bases[textAt(reference, "name")])
	}
	own, _ := document["spec"].(map[string]any)
	merge(spec, own)
	document = maps.Clone(document)
	document["spec"] = spec
	return document
}

// merge puts the values of a mapping into another one, mappings into mappings.
func merge(into, from map[string]any) {
	for name, value := range from {
		inner, both := into[name].(map[string]any)
		if more, ok := value.(map[string]any); ok && both {
			inner = maps.Clone(inner)
			merge(inner, more)
			value = inner
		}
		into[name] = value
	}
}

// Texts returns the values of a mapping that are text.
func Texts(value any) map[string]string {
	list := map[string]string{}
	object, _ := value.(map[string]any)
	for name, value := range object {
		if text, ok := value.(string); ok {
			list[name] = text
		}
	}
	return list
}

// named appends the names of the ConfigMaps that a value names at any depth, each once.
func (m *manifest) named(value any, names []string) []string {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			names = m.named(item, names)
		}
	case map[string]any:
		name, _ := At(v, "configMap", "name").(string)
		if m.configs[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = m.named(v[key], names)
		}
	}
	return names
}

// collect adds the commands that a value holds at any depth: lists of words under the keys command
// and args.
func (m *manifest) collect(value any, around Place) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			m.collect(item, around)
		}
	case map[string]any:
		around = around.within(v)
		m.container(v, around)
		for _, key := range []string{"env", "envs"} {
			set := m.environment(v[key]).values
			if mode, ok := set["DYN_ROUTER_MODE"]; ok { // which Dynamo reads, too
				m.add(Command{Words: []string{"python3", "-m", "dynamo.frontend", "--router-mode",
					mode}, Place: around})
			}
		}
		leader := false
		for _, key := range inOrder(v) {
			if key == "workerTemplate" && leader {
				continue // workers are parts of the engine that the leader starts
			}
			before := m.engines
			m.collect(v[key], around)
			leader = leader || key == "leaderTemplate" && m.engines > before
		}
	}
}

// inOrder returns the keys of a mapping in their order, but the keys of Dynamo's decode workers
// last: prefill comes before decode.
func inOrder(object map[string]any) []string {
	keys := slices.Sorted(maps.Keys(object))
	decodes := func(key string) int {
		if At(object[key], "subComponentType") == "decode" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(keys, func(a, b string) int { return decodes(a) - decodes(b) })
	return keys
}

// container adds the commands of a container. The files that its script writes are at hand for
// them.
func (m *manifest) container(container map[string]any, around Place) {
	words := append(stringsOf(container["command"]), stringsOf(container["args"])...)
	for _, key := range []string{"command", "run", "customCommand", "script"} {
		if line, ok := container[key].(string); ok && strings.Contains(line, " ") {
			words = append([]string{"sh", "-c", line, "sh"}, stringsOf(container["args"])...)
		}
	}
	if lines := stringsOf(container["commands"]); len(words) == 0 && len(lines) > 0 { // of dstack
		words = []string{"sh", "-c", strings.Join(lines, "\n")}
	}
	image, _ := container["image"].(string)
	if name, ok := At(container, "image", "repository").(string); ok && (len(words) > 0 ||
		strings.Contains(name, "/nim/")) { // of charts, and of NIM's operator
		image = fmt.Sprintf("%s:%v", name, At(container, "image", "tag"))
	}
	if image != "" {
		words = Entered(image, words)
	}
	around.Image = image
	set := m.environment(container["env"])
	if container["env"] == nil {
		set = m.environment(container["envs"])
	}
	job := skyPilot(At(container, "resources", "accelerators"))
	if container["commands"] != nil {
		job = dstack(At(container, "resources", "gpu"))
	}
	job.tell(set)
	around.Product = cmp.Or(around.Product, job.product)
	around.replicate(At(container, "service", "replicas")) // of SkyPilot
	around.replicate(At(container, "service", "replica_policy", "min_replicas"))
	m.ranges(At(container, "service", "replica_policy", "max_replicas"), around)
	// Those of dstack are a range.
	if from, to, ranged := strings.Cut(fmt.Sprint(container["replicas"]), ".."); ranged {
		n, _ := strconv.Atoi(from)
		most, _ := strconv.Atoi(to)
		around.Replicas = min(max(0, n), MostReplicas)
		m.ranges(most, around)
	}
	if around.size > 0 {
		set.values["LWS_GROUP_SIZE"] = strconv.Itoa(around.size)
	}
	if words = set.expand(words); len(words) == 0 {
		return
	}
	if len(words) == 1 && strings.Contains(words[0], " ") { // a line, as Dynamo's operator takes it
		words = []string{"sh", "-c", words[0]}
	}
	script, arguments, ok := shellScript(words)
	for _, list := range [][]string{words, arguments} {
		for i, word := range list {
			if word != script {
				list[i] = unnamed(word)
			}
		}
	}
	if !ok {
		m.add(Command{Words: words, Env: set.values, Place: around})
		return
	}
	set.lists = map[string][]string{"@": arguments}
	inner, written, err := shellCommands(script, set)
	if err != nil {
		m.skipped = append(m.skipped, fmt.Sprintf("the script of the container %v cannot be "+
			"read: %v", container["name"], err))
		return
	}
	around.Mounted = append(slices.Clip(around.Mounted), written)
	for _, c := range inner {
		around.Looped, around.Branch = c.Looped, c.Branch
		m.add(Command{Words: c.Words, Env: c.Env, Place: around, Around: c.Around})
	}
}

// ranges notes that an autoscaler of others may start more replicas than are read.
func (m *manifest) ranges(most any, place Place) {
	if n, ok := most.(int); ok && n > max(1, place.Replicas) {
		m.skipped = append(m.skipped, fmt.Sprintf("of the autoscaler's %d to %d replicas %d are "+
			"read: fleet.pools[].scaling starts more", max(1, place.Replicas), n,
			max(1, place.Replicas)))
	}
}

// add adds a command.
func (m *manifest) add(c Command) {
	m.commands = append(m.commands, c)
	if m.starts(c.Words) {
		m.engines++
	}
}

// environment returns the variables of a container that a manifest gives the values of.
func (m *manifest) environment(value any) variables {
	set := m.set
	set.values = maps.Clone(set.values)
	items, _ := value.([]any)
	for _, item := range items {
		variable, _ := item.(map[string]any)
		name, named := variable["name"].(string)
		text, ok := variable["value"].(string)
		if from := At(variable, "valueFrom", "configMapKeyRef"); from != nil {
			text, ok = m.configs[textAt(from, "name")][textAt(from, "key")]
		}
		if pair, is := item.(string); is { // of dstack
			name, text, ok = strings.Cut(pair, "=")
			named = ok
		}
		if ok && named && !set.given[name] {
			set.values[name] = text
		}
	}
	object, _ := value.(map[string]any)
	for name, value := range object {
		switch value.(type) {
		case string, int:
			if !set.given[name] {
				set.values[name] = fmt.Sprint(value)
			}
		}
	}
	return set
}

// additional are the words that the variables of a container add to vLLM's command, as the shell
// that runs it takes them.
func additional(m *manifest, container any) []string {
	list, _ := At(container, "env").([]any)
	text := m.environment(list).values["VLLM_ADDITIONAL_ARGS"]
	if words := stringsOf(m.wordsOf("vllm " + text)); len(words) > 0 && words[0] == "vllm" {
		return words[1:]
	}
	return strings.Fields(strings.ReplaceAll(text, "'", ""))
}

// modelVariables returns the variables of a model in the values of vLLM's production-stack, with
// those for which the chart has fields.
func (m *manifest) modelVariables(model map[string]any) map[string]string {
	set := m.environment(model["env"]).values
	if size := At(model, "lmcacheConfig", "cpuOffloadingBufferSize"); size != nil && size != "" {
		set["LMCACHE_MAX_LOCAL_CPU_SIZE"] = fmt.Sprint(size)
	}
	if size := At(model, "lmcacheConfig", "diskOffloadingBufferSize"); size != nil && size != "" {
		set["LMCACHE_LOCAL_DISK"], set["LMCACHE_MAX_LOCAL_DISK_SIZE"] = "True", fmt.Sprint(size)
	}
	return set
}

// expand returns words with the variables that Kubernetes puts into commands and arguments, as
// $(NAME).
func (v variables) expand(words []string) []string {
	var pairs []string
	longest := 0
	for _, name := range slices.Sorted(maps.Keys(v.values)) {
		value := v.values[name]
		pairs, longest = append(pairs, "$("+name+")", value), max(longest, len(value))
	}
	replace := strings.NewReplacer(pairs...)
	for i, word := range words {
		if uses := strings.Count(word, "$("); uses > 0 && uses*longest <= *v.left {
			words[i] = replace.Replace(word)
			*v.left -= len(words[i])
		}
	}
	return words
}

// Entered returns the command of a container with certain arguments. Images of engines start a
// program with the arguments that do not name one.
func Entered(image string, words []string) []string {
	named := len(words) > 0 && !strings.HasPrefix(words[0], "-") &&
		!strings.HasPrefix(words[0], "$(") &&
		(!strings.Contains(words[0], "/") || strings.HasPrefix(words[0], "/"))
	if named {
		return words
	}
	for _, own := range [][]string{
		{"vllm-openai", "vllm", "serve"},
		{"text-generation-inference", "text-generation-launcher"}, // its Dockerfile
		{"llama.cpp:server", "llama-server"},                      // .devops/cuda.Dockerfile
	} {
		if strings.Contains(image, own[0]) {
			return append(slices.Clone(own[1:]), words...)
		}
	}
	// Images of NVIDIA's NIM have a model, and are configured by variables.
	if _, path, found := strings.Cut(image, "/nim/"); found && len(words) == 0 {
		name, _, _ := strings.Cut(path, ":")
		own := []string{"nim-container", "--nim-image", name}
		if !strings.HasSuffix(name, "/llm-nim") { // which serves any model
			own = append(own, "--nim-model", name)
		}
		return own
	}
	return words
}
