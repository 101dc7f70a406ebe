package commands

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// Command is a simple command, with what stands around it.
type Command struct {
	Words []string
	// Env are the variables that are set for it, with the values that are known.
	Env map[string]string
	Place
	// Around are the words of the command that gives it to a shell, such as docker run IMAGE, up to
	// the shell; nil where no command does.
	Around []string
}

// Place is what stands around a command: the object of a manifest, or the arm of a case in a
// script. A command that stands alone has an empty one.
type Place struct {
	// Name is the object's or the arm's.
	Name string
	// Role is what it says that the command does: mixed, prefill or decode; empty where it says
	// nothing.
	Role string
	// Image is the container image in which it runs; empty where that is not said.
	Image string
	// Product is the accelerator that the label of nodes says which its pods select, as the vendor
	// writes it, or the one that a recipe names.
	Product string
	// Precision is the number format of the weights that a recipe names, such as fp4.
	Precision string
	// Installed are the releases of packages that the text around installs, by their names.
	Installed map[string]string
	// Replicas is how often the command runs; 0 where that is not said.
	Replicas int
	// Stopped is set where the object says that it has no replica.
	Stopped bool
	// copies is how many of the object there are, each with its replicas; 0 for one.
	copies int
	// size is the number of pods of a replica that spans nodes; 0 where that is not said.
	size int
	// Mounted is the files of the ConfigMaps that the object names.
	Mounted []map[string]string
	// OfPods is set where Replicas counts pods; several pods may make up one replica of an engine.
	OfPods bool
	// Looped is set where the command stands in a loop.
	Looped bool
	// Branch tells the conditions of a script apart in which commands stand; 0 outside of one.
	Branch int
	// Scaler is the HorizontalPodAutoscaler of the object, or what replaces one, nil without one.
	Scaler map[string]any
}

// installed names a release of a package of Python: vllm==0.8.5, sglang[all]==0.4.3.post2.
var installed = regexp.MustCompile(`\b(vllm|sglang|tensorrt[-_]llm|lmdeploy)(?:\[[\w,-]*\])?` +
	`==(\d+\.\d+[\w.]*)`)

// Releases returns the releases that a text installs, of each package one: of several nothing
// follows.
func Releases(text string) map[string]string {
	list := map[string]string{}
	for _, found := range installed.FindAllStringSubmatch(text, mostKeys) {
		name, release := strings.ReplaceAll(found[1], "_", "-"), strings.TrimRight(found[2], ".")
		if before, twice := list[name]; twice && before != release {
			release = ""
		}
		list[name] = release
	}
	return list
}

// MostReplicas bounds the numbers of replicas that are multiplied: a scenario has fewer.
const MostReplicas = 1 << 20

// within returns the place of what a mapping of a manifest holds.
func (p Place) within(object map[string]any) Place {
	if name, ok := At(object, "metadata", "name").(string); ok && p.Name == "" {
		p.Name = name
	}
	if role, ok := At(object, "metadata", "labels", "llm-d.ai/role").(string); ok {
		p.Role = labelled(role)
	}
	for _, key := range []string{"componentType", "subComponentType"} { // of Dynamo
		if said, ok := object[key].(string); ok && Phase(said) != "" {
			p.Role = said
		}
	}
	if n, ok := object["size"].(int); ok && object["workerTemplate"] != nil {
		p.size = n
	}
	if n, ok := object["slices"].(int); ok && n > 0 { // of a DisaggregatedSet
		p.copies = min(n, MostReplicas)
	}
	if object["kind"] == "StatefulSet" {
		p.OfPods = true
	}
	terms, _ := At(object, "affinity", "nodeAffinity",
		"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").([]any)
	for _, label := range []string{"nvidia.com/gpu.product", "amd.com/gpu.product-name",
		"cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator",
		"node.kubernetes.io/instance-type"} {
		if product, ok := At(object, "nodeSelector", label).(string); ok {
			p.Product = product
		}
		for _, term := range terms {
			list, _ := At(term, "matchExpressions").([]any)
			for _, item := range list {
				values := stringsOf(At(item, "values"))
				if At(item, "key") == label && At(item, "operator") == "In" && len(values) == 1 {
					p.Product = values[0]
				}
			}
		}
	}
	if object["containers"] != nil {
		p = p.predictor(object)
	}
	n, ok := cmp.Or(object["replicaCount"], object["replicas"]).(int) // the first of charts
	if ok {
		p.Stopped = n == 0
	}
	if n > 0 {
		p.Replicas = min(n, MostReplicas) * max(1, p.copies)
	}
	return p
}

// replicate sets how often the command runs to a number of decoded YAML, where it is one above 0.
func (p *Place) replicate(number any) {
	if n, ok := number.(int); ok && n > 0 {
		p.Replicas = min(n, MostReplicas)
	}
}

// predictor returns the place of what the predictor of a KServe InferenceService holds: it says the
// least and the most replicas. Other objects with containers say neither.
func (p Place) predictor(object map[string]any) Place {
	least, most := object["minReplicas"], object["maxReplicas"]
	p.replicate(least)
	if most != nil && most != least {
		p.Scaler = map[string]any{"spec": object}
	}
	return p
}

// labelled returns the role that a value of llm-d's label means (llm-d-inference-scheduler,
// docs/architecture.md); empty for another value.
func labelled(value string) string {
	switch value {
	case "prefill", "decode":
		return value
	case "both", "prefill-decode":
		return "mixed"
	}
	return ""
}

// At returns the value at a path of keys of decoded YAML; nil without one.
func At(value any, path ...string) any {
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// textAt returns the text at a path of keys of decoded YAML; empty without one.
func textAt(value any, path ...string) string {
	text, _ := At(value, path...).(string)
	return text
}

// stringsOf returns a list of words, nil for anything else.
func stringsOf(value any) []string {
	items, ok := value.([]any)
	if !ok {
		return nil
	}
	words := make([]string, 0, len(items))
	for _, item := range items {
		switch item := item.(type) {
		case string:
			words = append(words, item)
		case int: // which Kubernetes asks to be quoted
			words = append(words, strconv.Itoa(item))
		default:
			return nil
		}
	}
	return words
}

// Phase returns a role that is one of the two phases, and nothing for another.
func Phase(role string) string {
	if role == "prefill" || role == "decode" {
		return role
	}
	return ""
}

// MostText bounds the text of a command or a manifest, in bytes: the longest that people write by
// hand is a thousandth of it.
const MostText = 1 << 20

// Programs is what a text says of programs that are started.
type Programs struct {
	Commands []Command
	// Written are the files that a script writes from text of its own, by their names without
	// folders.
	Written map[string]string
	// Documents are the documents of manifests; nil for a script.
	Documents []map[string]any
	// Skipped are notes on what may start engines and is not read.
	Skipped []string
}
