package launch

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/engines"
)

// vendor is a maker of accelerators, as Kubernetes sees it.
type vendor struct {
	Name string
	// Resource is the name under which its device plugin counts accelerators.
	Resource string
	// Label is the label of nodes that names their accelerator; empty without one.
	Label string
	// Source says where both are from.
	Source string
}

// vendorOf returns the vendor of an accelerator. The error says why no cluster starts an engine on
// it.
func vendorOf(a *hardware.Accelerator) (vendor, error) {
	generation := a.Generation
	switch {
	case generation == "apple":
		return vendor{}, fmt.Errorf("no engine has an image for %s: vLLM is built from source on "+
			"Apple silicon (docs.vllm.ai, Installation, CPU)", a.Name)
	case a.Kind == "cpu":
		return vendor{}, fmt.Errorf("%s is a CPU: vLLM's image vllm/vllm-openai-cpu takes the "+
			"size of its cache and its cores from variables (VLLM_CPU_KVCACHE_SPACE, "+
			"VLLM_CPU_OMP_THREADS_BIND) for each NUMA node, which a scenario does not have "+
			"(docs.vllm.ai, Installation, CPU)", a.Name)
	case strings.HasPrefix(generation, "cdna"):
		return vendor{"AMD", "amd.com/gpu", "amd.com/gpu.product-name",
			"ROCm/k8s-device-plugin, README.md and cmd/k8s-node-labeller"}, nil
	case generation == "battlemage":
		return vendor{"Intel", "gpu.intel.com/xe", "",
			"intel/intel-device-plugins-for-kubernetes, cmd/gpu_plugin/README.md"}, nil
	case strings.HasPrefix(generation, "gaudi"):
		return vendor{"Intel Gaudi", "habana.ai/gaudi", "",
			"docs.habana.ai, Intel Gaudi Device Plugin for Kubernetes"}, nil
	case strings.HasPrefix(generation, "trainium"):
		return vendor{"AWS Neuron", "aws.amazon.com/neuron", "node.kubernetes.io/instance-type",
			"awsdocs-neuron, containers/kubernetes-getting-started"}, nil
	case strings.HasPrefix(generation, "tpu"):
		return vendor{"Google TPU", "google.com/tpu", "cloud.google.com/gke-tpu-accelerator",
			"cloud.google.com/kubernetes-engine/docs/concepts/tpus"}, nil
	}
	for _, own := range []string{"volta", "turing", "ampere", "ada", "hopper", "blackwell"} {
		if generation == own || generation == own+"-rtx" {
			return vendor{"NVIDIA", "nvidia.com/gpu", "nvidia.com/gpu.product",
				"NVIDIA/k8s-device-plugin, README.md and docs/gpu-feature-discovery"}, nil
		}
	}
	return vendor{}, fmt.Errorf("%s has generation %q, whose vendor is not known, and so not the "+
		"resource by which a cluster counts it", a.Name, generation)
}

// products are the values of the vendors' labels by the names of accelerators, as public
// manifests and tables of nodes have (nodeSelectors of ai-dynamo/dynamo recipes and NVIDIA GPU
// operator tables; README of amd-gpu-operator for MI300X).
func products() map[string]string {
	return map[string]string{
		"a100-80gb-sxm": "NVIDIA-A100-SXM4-80GB", "a100-40gb-sxm": "NVIDIA-A100-SXM4-40GB",
		"h100-sxm": "NVIDIA-H100-80GB-HBM3", "h200-sxm": "NVIDIA-H200", "b200-sxm": "NVIDIA-B200",
		"mi300x": "AMD_Instinct_MI300X_OAM",
	}
}

// productLabel returns the value of the vendor's label on nodes with an accelerator; empty where it
// is not known.
func productLabel(accelerator string) string { return products()[accelerator] }

// acceleratorNamed returns the accelerator that a label of a node, or a recipe, names: NVIDIA-A10G,
// nvidia-tesla-t4, A100-80G, gb300. It is empty where it is not known.
//
// The labels of Google's that are no names of the catalogue are from
// cloud.google.com/kubernetes-engine/docs/how-to/gpus, the types of EC2's from
// docs.aws.amazon.com/ec2/latest/instancetypes/ac.html.
func acceleratorNamed(product string) string {
	name := strings.ReplaceAll(strings.ToLower(product), "_", "-") // as Slurm has them
	for accelerator, label := range products() {
		if strings.ReplaceAll(strings.ToLower(label), "_", "-") == name {
			return accelerator
		}
	}
	switch name {
	case "nvidia-tesla-a100": // the one with 80 GB is nvidia-a100-80gb
		return "a100-40gb-sxm"
	case "nvidia-tesla-v100":
		return "v100-16gb-sxm2"
	case "nvidia-h100-mega-80gb":
		return "h100-sxm"
	}
	if size, _, is := strings.Cut(name, "."); is { // a type of EC2's, such as g5.8xlarge
		name = map[string]string{"g4dn": "t4", "g5": "a10g", "g6": "l4", "g6e": "l40s",
			"p4d": "a100-40gb", "p4de": "a100-80gb", "p5": "h100", "p5e": "h200", "p5en": "h200",
			"p6-b200": "b200"}[size]
	}
	for _, maker := range []string{"nvidia-", "tesla-", "geforce-", "amd-", "instinct-"} {
		name = strings.TrimPrefix(name, maker)
	}
	if strings.HasSuffix(name, "-40g") || strings.HasSuffix(name, "-80g") { // as Ray has it
		name += "b"
	}
	catalogue, err := hardware.Load()
	if err != nil {
		return ""
	}
	a, err := catalogue.Accelerator(strings.TrimSuffix(strings.TrimSuffix(name, "-oam"), "-shared"))
	if err != nil {
		return ""
	}
	return a.Name
}

// imageOf returns the container image of an engine on an accelerator, and false where the engine
// runs there, but no image of it by version is known. The error says why it does not run there.
//
// ROCm has vllm/vllm-openai-rocm from vLLM v0.14.0 on (its release notes), and SGLang's tags with
// -rocm700-mi30x and -mi35x (docs.sglang.ai, platforms/amd_gpu, v0.5.7).
func imageOf(engine string, v engines.Version, a *hardware.Accelerator) (string, bool, error) {
	vendor, err := vendorOf(a)
	if err != nil {
		return "", false, err
	}
	tag := v.String()
	if strings.Count(tag, ".") == 1 {
		tag += ".0"
	}
	rocm, _ := engines.ParseVersion("0.14.0")
	switch {
	case engine == "trtllm" && vendor.Name != "NVIDIA":
		return "", false, fmt.Errorf("TensorRT-LLM runs on accelerators of NVIDIA, and %s is one "+
			"of %s: choose vllm or sglang", a.Name, vendor.Name)
	case engine == "trtllm":
		return "nvcr.io/nvidia/tensorrt-llm/release:" + tag, true, nil
	case vendor.Name == "NVIDIA" && engine == "vllm":
		return "vllm/vllm-openai:v" + tag, true, nil
	case vendor.Name == "NVIDIA":
		return "lmsysorg/sglang:v" + tag, true, nil
	case vendor.Name == "AMD" && engine == "vllm" && v.Compare(rocm) >= 0:
		return "vllm/vllm-openai-rocm:v" + tag, true, nil
	case vendor.Name == "AMD" && engine == "sglang" && a.Generation == "cdna3":
		return "lmsysorg/sglang:v" + tag + "-rocm700-mi30x", true, nil
	case vendor.Name == "AMD" && engine == "sglang":
		return "lmsysorg/sglang:v" + tag + "-rocm700-mi35x", true, nil
	}
	// Capital letters are in no image: a pod with it says so, and does not start another.
	return strings.ToUpper(strings.ReplaceAll("IMAGE OF "+engine+" FOR "+vendor.Name, " ", "-")),
		false, nil
}
