package launch

// command is a simple command, with what stands around it.
type command struct {
	words []string
	place
}

// place is what stands around a command: the object of a manifest, or the arm of a case in a
// script. That of a command that stands alone is empty.
type place struct {
	// name is that of the object or the arm.
	name string
	// role is what it says that the command does: mixed, prefill or decode; empty where it says
	// nothing.
	role string
	// replicas is how often the command runs; 0 where that is not said.
	replicas int
	// stopped is set where the object says that it has no replica.
	stopped bool
	// copies is how many of the object there are, each with its replicas; 0 for one.
	copies int
	// size is the number of pods of a replica that spans nodes; 0 where that is not said.
	size int
	// mounted is the files of the ConfigMaps that the object names.
	mounted []map[string]string
	// ofPods is set where replicas counts pods, of which some may make up one replica of an engine.
	ofPods bool
	// looped is set where the command stands in a loop.
	looped bool
	// scaler is the HorizontalPodAutoscaler of the object, or what stands for one, nil where it has
	// none.
	scaler map[string]any
}

// mostReplicas bounds the numbers of replicas that are multiplied: a scenario has fewer.
const mostReplicas = 1 << 20

// within returns the place of what a mapping of a manifest holds.
func (p place) within(object map[string]any) place {
	if name, ok := at(object, "metadata", "name").(string); ok && p.name == "" {
		p.name = name
	}
	if role, ok := at(object, "metadata", "labels", "llm-d.ai/role").(string); ok {
		p.role = labelled(role)
	}
	for _, key := range []string{"componentType", "subComponentType"} { // of Dynamo
		if said, ok := object[key].(string); ok && phase(said) != "" {
			p.role = said
		}
	}
	if n, ok := object["size"].(int); ok && object["workerTemplate"] != nil {
		p.size = n
	}
	if n, ok := object["slices"].(int); ok && n > 0 { // of a DisaggregatedSet
		p.copies = min(n, mostReplicas)
	}
	if object["kind"] == "StatefulSet" {
		p.ofPods = true
	}
	if object["containers"] != nil {
		p = p.predictor(object)
	}
	n, ok := object["replicas"].(int)
	if ok {
		p.stopped = n == 0
	}
	if n > 0 {
		p.replicas = min(n, mostReplicas) * max(1, p.copies)
	}
	return p
}

// predictor returns the place of what the predictor of a KServe InferenceService holds: it says the
// least and the most replicas. Other objects with containers say neither.
func (p place) predictor(object map[string]any) place {
	least, most := object["minReplicas"], object["maxReplicas"]
	if n, ok := least.(int); ok && n > 0 {
		p.replicas = min(n, mostReplicas)
	}
	if most != nil && most != least {
		p.scaler = map[string]any{"spec": object}
	}
	return p
}

// labelled returns the role that a value of llm-d's label stands for
// (llm-d-inference-scheduler, docs/architecture.md); empty for another value.
func labelled(value string) string {
	switch value {
	case "prefill", "decode":
		return value
	case "both", "prefill-decode":
		return "mixed"
	}
	return ""
}

// at returns the value at a path of keys of decoded YAML; nil where there is none.
func at(value any, path ...string) any {
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}
