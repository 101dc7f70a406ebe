package manifests

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/engines"
)

// dynamoVersion is the version of NVIDIA Dynamo whose manifests are written:
// github.com/ai-dynamo/dynamo, docs/reference/release-artifacts.md at 00552b23.
const dynamoVersion = "1.1.1"

// RouterMode returns the --router-mode of Dynamo's frontend that comes nearest to a routing policy,
// and whether it is the same: kv weighs the cached part of a prompt and the load of each worker
// (components/src/dynamo/common/configuration/groups/router_args.py at 028cab44).
func RouterMode(routing string) (mode string, same bool) {
	switch routing {
	case "", "round-robin":
		return "round-robin", true
	case "random":
		return "random", true
	case "prefix-aware", "dynamo":
		return "kv", true
	case "kv-aware", "session-affinity", "gateway-api", "llm-d":
		return "kv", false
	}
	return "round-robin", false
}

// RoutingOf returns the routing policy that a --router-mode means; empty for one that has no such
// policy.
func RoutingOf(mode string) string {
	return map[string]string{"round-robin": "round-robin", "random": "random",
		"kv": "prefix-aware", "power-of-two": "choices", "least-loaded": "least-requests"}[mode]
}

// Dynamo returns the manifest that starts the fleet under NVIDIA Dynamo, in place of Manifests; or
// nothing, and why.
func (b *Bundle) Dynamo() (text, why string, err error) {
	if why := b.beyondDynamo(); why != "" {
		return "", why, nil
	}
	all, err := parsed()
	if err != nil {
		return "", "", err
	}
	mode, _ := RouterMode(b.Routing)
	view := struct {
		*Bundle
		Short, Version, Image, Module, Mode string
	}{b, dynamoName(b.Name), dynamoVersion, imageOf(&b.Worker), b.Worker.Module, mode}
	var out strings.Builder
	err = all.ExecuteTemplate(&out, "dynamo.yaml", view)
	return out.String(), "", err
}

// imageOf returns the name of the worker's image.
func imageOf(w *engines.Dynamo) string {
	return "nvcr.io/nvidia/ai-dynamo/" + w.Image + ":" + dynamoVersion
}

// dynamoName returns the beginning of a name that leaves room for what Dynamo's scheduler appends:
// with the names of a component over several nodes and of its pods it has 45 characters at most
// (deploy/operator, validation of DynamoGraphDeployments).
func dynamoName(name string) string {
	const longest = 45 - len("prefill-00") - len("prefill-00-ldr")
	return strings.Trim(name[:min(len(name), longest)], "-")
}

// beyondDynamo returns why a fleet has no manifest for Dynamo; empty where it has one.
func (b *Bundle) beyondDynamo() string {
	roles := map[string]int{}
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.Resource != "nvidia.com/gpu" {
			return "Dynamo runs on accelerators of NVIDIA"
		}
		roles[s.Role]++
	}
	together := len(b.Servers) == 1 && roles["mixed"] == 1
	apart := len(b.Servers) == 2 && roles["prefill"] == 1 && roles["decode"] == 1
	if !together && !apart {
		return fmt.Sprintf("it has one pool, or one for prefill and one for decode, and here "+
			"are %d", len(b.Servers))
	}
	return ""
}

// notesOnDynamo says what of the scenario the manifest for Dynamo does not express, beside what no
// flag of the engine does.
func (b *Bundle) notesOnDynamo() []string {
	list := []string{fmt.Sprintf("Dynamo %s has %s %s in its image; the flags are those of %s",
		dynamoVersion, b.Engine, b.Worker.Version, b.Version)}
	if mode, same := RouterMode(b.Routing); !same {
		list = append(list, fmt.Sprintf("routing %s: --router-mode %s comes nearest", b.Routing,
			mode))
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; s.Autoscaler != nil {
			list = append(list, fmt.Sprintf("%s: all %d replicas run always; Dynamo scales by "+
				"its planner", s.Name, s.Replicas))
		}
	}
	return list
}
