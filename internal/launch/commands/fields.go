package commands

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// byFields adds the commands that a document gives by fields in place of words: a chart's values, a
// resource whose operator makes the command, or a recipe.
func (m *manifest) byFields(document map[string]any, around Place) {
	spec, _ := document["spec"].(map[string]any)
	switch kind, _ := document["kind"].(string); {
	case kind == "LLMInferenceService":
		m.inferenceService(spec, around)
	case kind == "InferenceService" && At(spec, "predictor", "model") != nil:
		m.predictor(spec, around)
	case kind == "Model" && spec["url"] != nil:
		m.kubeAI(spec, around)
	}
	specs, _ := At(document, "servingEngineSpec", "modelSpec").([]any)
	for _, item := range specs {
		if model, ok := item.(map[string]any); ok {
			m.productionStack(model, around)
		}
	}
	catalog, _ := document["catalog"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(catalog)) {
		if model, ok := catalog[name].(map[string]any); ok && model["url"] != nil {
			place := around
			place.Name = name
			m.kubeAI(model, place)
		}
	}
	if artifacts, ok := document["modelArtifacts"].(map[string]any); ok && len(artifacts) > 0 {
		m.modelService(document, around)
	}
	if backend, ok := document["backend"].(map[string]any); ok {
		m.recipe(document, backend, around)
	}
	if text, ok := spec["serveConfigV2"].(string); ok { // of a RayService
		if inner, err := Decode(text); err == nil && len(inner) == 1 {
			m.byFields(inner[0], around)
		}
	}
	if name, ok := document["model"].(string); ok { // the file of vllm serve --config
		m.configuration(name, document, around)
	}
	list, _ := document["applications"].([]any)
	for _, item := range list {
		configs, _ := At(item, "args", "llm_configs").([]any)
		for _, config := range configs {
			if fields, ok := config.(map[string]any); ok {
				m.rayConfig(fields, around)
			}
		}
	}
}

// configuration adds the command whose options a file for --config of vLLM has.
func (m *manifest) configuration(model string, options map[string]any, around Place) {
	for name := range options {
		switch strings.ReplaceAll(name, "_", "-") {
		case "tensor-parallel-size", "max-model-len", "gpu-memory-utilization", "max-num-seqs",
			"max-num-batched-tokens", "served-model-name":
			m.engine("vllm", model, options, around)
			return
		}
	}
}

// modelOf returns the name of a model at an address such as hf://NAME or pvc://CLAIM/NAME.
func modelOf(address any) string {
	text, _ := address.(string)
	scheme, name, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	name, _, _ = strings.Cut(name, "?")
	if before, tag, _ := strings.Cut(Base(name), ":"); scheme == "oci" {
		if name = strings.TrimPrefix(before, "modelcar-"); name == "catalog" {
			name = tag // it has models as tags
		}
	}
	if scheme == "pvc" || scheme == "s3" || scheme == "gs" || scheme == "file" {
		name = Base(name)
	}
	// Caches of checkpoints name their folders so.
	if owner, rest, split := strings.Cut(name, "--"); split {
		return owner + "/" + rest
	}
	return name
}

// flag is a flag with the field that gives its value.
type flag struct {
	field string
	name  string
}

// flags returns the words of fields that are given.
func flags(object any, list ...flag) (words []string) {
	for _, f := range list {
		words = append(words, flagOf(f.name, At(object, strings.Split(f.field, ".")...))...)
	}
	return words
}

// flagOf returns the words of a flag with a decoded value; for null it returns nil, and for false
// the negation.
func flagOf(name string, value any) []string {
	switch v := value.(type) {
	case nil:
		return nil
	case bool:
		if v {
			return []string{name}
		}
		return []string{"--no-" + strings.TrimPrefix(name, "--")}
	case []any:
		words := []string{name}
		for _, item := range v {
			words = append(words, fmt.Sprint(item))
		}
		return words
	case map[string]any:
		text, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return []string{name, string(text)}
	}
	return []string{name, fmt.Sprint(value)}
}

// allFlags returns the words of a mapping of options to values, in the order of the names. Options
// that are off are left out of the words of an engine without negations.
func allFlags(options map[string]any, negate bool, without ...string) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value := options[name]
		if slices.Contains(without, name) || value == false && !negate {
			continue
		}
		words = append(words, flagOf("--"+strings.ReplaceAll(name, "_", "-"), value)...)
	}
	return words
}

// mainContainer returns the container that runs the engine.
func mainContainer(template any) map[string]any {
	list, _ := At(template, "containers").([]any)
	for _, item := range list {
		container, _ := item.(map[string]any)
		if container["name"] == "main" || len(list) == 1 {
			return container
		}
	}
	return nil
}

// inferenceService adds the commands of KServe's LLMInferenceService
// (https://kserve.github.io/website, LLMInferenceService): the well-known configurations start vLLM
// with the model, the parallelism and VLLM_ADDITIONAL_ARGS.
func (m *manifest) inferenceService(spec map[string]any, around Place) {
	name := cmp.Or(textAt(spec, "model", "name"), modelOf(At(spec, "model", "uri")))
	if m.nameless(name, "LLMInferenceService", around) {
		return
	}
	shared := m.drafted(spec)
	workload := func(spec map[string]any, role string) {
		container := mainContainer(spec["template"])
		if container["command"] != nil { // which is read as any container's
			for _, key := range []string{"command", "args"} {
				container[key] = mounted(container[key], name)
			}
			return
		}
		words := append([]string{"vllm", "serve", name}, flags(spec["parallelism"],
			flag{"tensor", "--tensor-parallel-size"}, flag{"pipeline", "--pipeline-parallel-size"},
			flag{"data", "--data-parallel-size"})...)
		if At(spec, "parallelism", "expert") == true {
			words = append(words, "--enable-expert-parallel")
		}
		words = slices.Concat(words, shared, stringsOf(container["args"]), additional(m, container))
		place := around.within(spec)
		place.Role = role
		m.add(Command{Words: words, Env: m.environment(container["env"]).values, Place: place})
	}
	prefill, apart := spec["prefill"].(map[string]any)
	if !apart {
		workload(spec, "")
		return
	}
	workload(prefill, "prefill")
	workload(spec, "decode")
}

// mounted returns the words of a command with the name of the model in place of the folder in which
// KServe puts it.
func mounted(words any, name string) any {
	list, _ := words.([]any)
	for i, word := range list {
		if text, ok := word.(string); ok {
			list[i] = strings.ReplaceAll(text, "/mnt/models", name)
		}
	}
	return words
}

// drafted returns the words that the drafter of an LLMInferenceService and its store for KV caches
// in host memory add to the commands of its pools.
func (m *manifest) drafted(spec map[string]any) (words []string) {
	if config, ok := At(spec, "speculator", "config").(map[string]any); ok {
		config = maps.Clone(config)
		if address := At(spec, "speculator", "model", "uri"); address != nil {
			config["model"] = modelOf(address)
		}
		for name, value := range config { // numbers are texts there
			if n, err := strconv.Atoi(fmt.Sprint(value)); err == nil {
				config[name] = n
			}
		}
		words = flagOf("--speculative-config", config)
	}
	store := spec["kvCacheOffloading"]
	if store == nil {
		return words
	}
	text, _ := At(store, "cpu", "size").(string)
	size, err := strconv.ParseFloat(strings.TrimRight(text, "TGMi"), 64)
	units := map[string]float64{"Ti": 1 << 10, "Gi": 1, "Mi": 1.0 / (1 << 10)}
	unit, known := units[strings.TrimLeft(text, "0123456789.")]
	if err != nil || !known || At(store, "mode") != "cpu" {
		m.skipped = append(m.skipped, "kvCacheOffloading was left out: its size in host memory is "+
			"memory.cpu, with memory.policy vllm-offload; other stores are memory.disk and "+
			"memory.pool")
		return words
	}
	return append(words, "--kv-offloading-size", fmt.Sprint(size*unit))
}

// nameless reports whether an object names no model, and notes that it is not read.
func (m *manifest) nameless(name, kind string, around Place) bool {
	if name == "" {
		m.skipped = append(m.skipped, fmt.Sprintf("the fields of the %s %s name no model, and are "+
			"not read", kind, around.Name))
	}
	return name == ""
}

// predictor adds the command of KServe's InferenceService whose runtime is given a model and
// arguments. Its runtime for Hugging Face serves with vLLM.
func (m *manifest) predictor(spec map[string]any, around Place) {
	predictor, _ := spec["predictor"].(map[string]any)
	model, _ := predictor["model"].(map[string]any)
	place := around.within(predictor).predictor(predictor)
	var name string
	var words []string
	runtime := textAt(model, "runtime")
	place.Image = cmp.Or(textAt(m.runtimes[runtime], "image"), place.Image)
	for _, word := range append(stringsOf(m.runtimes[runtime]["args"]),
		stringsOf(model["args"])...) {
		key, value, _ := strings.Cut(word, "=")
		switch strings.ReplaceAll(key, "-", "_") {
		case "__model_id":
			name = value
		case "__model_name", "__model_dir", "__backend", "__task", "__model", "__served_model_name",
			"__port":
		default:
			words = append(words, word)
		}
	}
	set := m.environment(model["env"])
	name = cmp.Or(name, modelOf(model["storageUri"]), textAt(model, "storage", "path"),
		set.values["MODEL_ID"])
	if m.nameless(name, "InferenceService", around) {
		return
	}
	words = append([]string{"vllm", "serve", name}, words...)
	words = append(words, flags(predictor["workerSpec"], // each worker is a node of the engine
		flag{"tensorParallelSize", "--tensor-parallel-size"},
		flag{"pipelineParallelSize", "--pipeline-parallel-size"})...)
	words = set.expand(append(words, additional(m, model)...))
	m.add(Command{Words: words, Env: set.values, Place: place})
}

// kubeAI adds the command of a Model of KubeAI (https://www.kubeai.org/reference/kubernetes-api).
func (m *manifest) kubeAI(spec map[string]any, around Place) {
	name := modelOf(spec["url"])
	engine, _ := spec["engine"].(string)
	place := around.within(spec)
	if place.Replicas == 0 {
		place.replicate(spec["minReplicas"])
	}
	// Profiles are named like nvidia-gpu-l4:2 (charts/kubeai/values.yaml).
	profile, _ := spec["resourceProfile"].(string)
	if _, product, named := strings.Cut(profile, "-gpu-"); named {
		place.Product, _, _ = strings.Cut(product, ":")
	}
	start, known := map[string][]string{"": {"vllm", "serve"}, "VLLM": {"vllm", "serve"},
		"SGLang": {"sglang", "serve", "--model-path"}, "LlamaCpp": {"llama-server", "-m"}}[engine]
	if !known {
		m.skipped = append(m.skipped, fmt.Sprintf("the engine %s of the model %s is not read; "+
			"KubeAI's VLLM, SGLang and LlamaCpp are", engine, name))
		return
	}
	m.add(Command{Words: slices.Concat(start, []string{name}, stringsOf(spec["args"])),
		Env: m.environment(spec["env"]).values, Place: place})
}

// productionStack adds the command of a model in the values of vLLM's production-stack
// (helm/templates/deployment-vllm-multi.yaml of vllm-project/production-stack).
func (m *manifest) productionStack(model map[string]any, around Place) {
	name, _ := model["modelURL"].(string)
	words := append([]string{"vllm", "serve", name}, flags(model["vllmConfig"],
		flag{"enablePrefixCaching", "--enable-prefix-caching"},
		flag{"enableChunkedPrefill", "--enable-chunked-prefill"},
		flag{"maxModelLen", "--max-model-len"}, flag{"dtype", "--dtype"},
		flag{"tensorParallelSize", "--tensor-parallel-size"},
		flag{"pipelineParallelSize", "--pipeline-parallel-size"},
		flag{"maxNumSeqs", "--max-num-seqs"},
		flag{"gpuMemoryUtilization", "--gpu-memory-utilization"})...)
	if At(model, "lmcacheConfig", "enabled") == true {
		role := cmp.Or(textAt(model, "lmcacheConfig", "kvRole"), "kv_both")
		words = append(words, "--kv-transfer-config", fmt.Sprintf(
			`{"kv_connector":"LMCacheConnectorV1","kv_role":%q}`, role))
	}
	words = append(words, stringsOf(At(model, "vllmConfig", "extraArgs"))...)
	place := around
	place.Name, _ = model["name"].(string)
	if n, ok := model["replicaCount"].(int); ok {
		place.Replicas, place.Stopped = min(max(0, n), MostReplicas), n == 0
	}
	if image, ok := model["repository"].(string); ok {
		place.Image = fmt.Sprintf("%s:%v", image, model["tag"])
	}
	m.add(Command{Words: words, Env: m.modelVariables(model), Place: place})
}

// modelService adds the commands of the values of llm-d's modelservice chart
// (llm-d-incubation/llm-d-modelservice, values.yaml).
func (m *manifest) modelService(document map[string]any, around Place) {
	name := cmp.Or(textAt(document, "modelArtifacts", "name"),
		modelOf(At(document, "modelArtifacts", "uri")))
	_, apart := document["prefill"].(map[string]any)
	apart = apart && At(document, "prefill", "create") != false
	for _, role := range []string{"prefill", "decode"} {
		part, _ := document[role].(map[string]any)
		list, _ := part["containers"].([]any)
		if part == nil || part["create"] == false || len(list) == 0 {
			continue
		}
		container, _ := list[0].(map[string]any)
		if container["modelCommand"] != "vllmServe" {
			continue // a command of its own, which is read as any container's
		}
		place := around.within(part)
		if place.Role = ""; apart {
			place.Role = role
		}
		words := append([]string{"vllm", "serve", name}, flags(part["parallelism"],
			flag{"tensor", "--tensor-parallel-size"}, flag{"data", "--data-parallel-size"})...)
		words = append(words, stringsOf(container["args"])...)
		m.add(Command{Words: words, Env: m.environment(container["env"]).values, Place: place})
	}
}

// recipe adds the commands of a recipe of srt-slurm (github.com/ishandhanani/srt-slurm): options of
// the engine for each pool, and how many workers there are.
func (m *manifest) recipe(document, backend map[string]any, around Place) {
	engine := cmp.Or(textAt(backend, "type"), "sglang")
	configs, _ := backend[engine+"_config"].(map[string]any)
	for _, pool := range []string{"prefill", "decode", "aggregated"} {
		options, ok := configs[pool].(map[string]any)
		if !ok {
			continue
		}
		place := around
		place.Name, place.Role = pool, Phase(pool)
		workers, _ := At(document, "resources", strings.Replace(pool, "aggregated", "agg", 1)+
			"_workers").(int)
		place.Replicas = min(max(1, workers), MostReplicas)
		place.Image = textAt(document, "model", "container")
		place.Precision = textAt(document, "model", "precision")
		place.Product = textAt(document, "resources", "gpu_type")
		name := textAt(document, "model", "path")
		if strings.HasPrefix(name, "dsr1") { // as recipes abbreviate it
			name = "deepseek-ai/DeepSeek-R1"
		}
		if served := textAt(options, "served-model-name"); engine != "trtllm" &&
			strings.Contains(served, "/") {
			name = served
		}
		if !m.engine(engine, name, options, place) {
			m.skipped = append(m.skipped, fmt.Sprintf("the engine %s of the recipe is not known",
				engine))
			return
		}
	}
}

// engine adds the command of an engine with options by their names, and reports whether the engine
// is known.
func (m *manifest) engine(engine, name string, options map[string]any, around Place) bool {
	without := []string{"model", "model-path", "model_path", "served-model-name", "task", "runner"}
	var words []string
	switch engine {
	case "trtllm":
		m.engineFile("trtllm-serve", name, options, around)
		return true
	case "vllm":
		words = append([]string{"vllm", "serve", name}, allFlags(options, true, without...)...)
	case "sglang":
		words = append([]string{"sglang", "serve", "--model-path", name},
			allFlags(options, false, without...)...)
	default:
		return false
	}
	m.add(Command{Words: words, Place: around})
	return true
}

// engineFile adds a command of TensorRT-LLM whose options stand in a file.
func (m *manifest) engineFile(program, name string, options map[string]any, around Place) {
	delete(options, "model")
	text, err := json.Marshal(options)
	if err != nil {
		return
	}
	around.Mounted = append(slices.Clip(around.Mounted),
		map[string]string{"engine.yaml": string(text)})
	m.add(Command{Words: []string{program, name, "--extra_llm_api_options", "engine.yaml"},
		Place: around})
}

// rayConfig adds the command of an LLMConfig of Ray Serve
// (https://docs.ray.io/en/latest/serve/api, ray.serve.llm.LLMConfig).
func (m *manifest) rayConfig(config map[string]any, around Place) {
	loading := config["model_loading_config"]
	name := cmp.Or(textAt(loading, "model_source"), textAt(loading, "model_id"))
	options, _ := config["engine_kwargs"].(map[string]any)
	place := around
	deployment := config["deployment_config"]
	place.replicate(At(deployment, "num_replicas"))
	place.replicate(At(deployment, "autoscaling_config", "min_replicas"))
	m.ranges(At(deployment, "autoscaling_config", "max_replicas"), place)
	place.Product = cmp.Or(textAt(config, "accelerator_type"), place.Product)
	engine := "vllm"
	if strings.Contains(fmt.Sprint(config["server_cls"]), "SGLang") {
		engine = "sglang"
	}
	m.engine(engine, name, options, place)
}
