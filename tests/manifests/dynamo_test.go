package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// graph is a DynamoGraphDeployment as it was written. Its types are not in the Go module proxy:
// dynamoFields says which fields it may have.
type graph struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            map[string]any `json:"spec"`
}

// dynamoFields returns the kinds of the fields of a DynamoGraphDeployment by their paths.
func dynamoFields() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "dynamo-fields.txt"))
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if path, kind, found := strings.Cut(line, " "); found && path != "#" {
			kinds[path] = strings.TrimSpace(kind)
		}
	}
	return kinds, nil
}

// checkGraph finds fields of a graph that Dynamo does not have, and values of the wrong kind.
func checkGraph(g *graph) error {
	kinds, err := dynamoFields()
	if err != nil {
		return err
	}
	return field(kinds, "spec", g.Spec)
}

// field checks the value at a path.
func field(kinds map[string]string, path string, value any) error {
	kind, known := kinds[path]
	if !known {
		return fmt.Errorf("%s is no field of a DynamoGraphDeployment", path)
	}
	switch name, rest, _ := strings.Cut(kind, " "); name {
	case "object":
		return fields(kinds, path, value)
	case "k8s:PodSpec": // inline, beside the main container
		pod := map[string]any{}
		for key, inner := range asObject(value) {
			if key == "mainContainer" {
				if err := field(kinds, path+"."+key, inner); err != nil {
					return err
				}
				continue
			}
			pod[key] = inner
		}
		return decodeAs(path, pod, new(core.PodSpec))
	case "k8s:Container":
		return decodeAs(path, value, new(core.Container))
	case "k8s:Probe":
		return decodeAs(path, value, new(core.Probe))
	case "k8s:[]EnvVar":
		return decodeAs(path, value, new([]core.EnvVar))
	case "texts":
		return decodeAs(path, value, new(map[string]string))
	case "yes-no":
		return decodeAs(path, value, new(bool))
	case "text":
		return decodeAs(path, value, new(string))
	case "text:":
		if text, ok := value.(string); !ok || !slices.Contains(strings.Fields(rest), text) {
			return fmt.Errorf("%s: found %v, allowed are %s", path, value, rest)
		}
	case "whole":
		least, _ := strconv.Atoi(strings.TrimPrefix(rest, "from "))
		if n, ok := value.(float64); !ok || n != float64(int32(n)) || int(n) < least {
			return fmt.Errorf("%s: found %v, want a whole number %s", path, value, rest)
		}
	default:
		return fmt.Errorf("%s has no kind %s", path, kind)
	}
	return nil
}

// fields checks what is under a path.
func fields(kinds map[string]string, path string, value any) error {
	object := asObject(value)
	if object == nil {
		return fmt.Errorf("%s: found %v, want a mapping", path, value)
	}
	for key, inner := range object {
		if _, any := kinds[path+".*"]; any {
			if err := field(kinds, path+".*", inner); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			continue
		}
		if err := field(kinds, path+"."+key, inner); err != nil {
			return err
		}
	}
	return nil
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// decodeAs decodes a value strictly.
func decodeAs(path string, value, into any) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = decodeStrictly(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// checkDynamo holds the manifest for Dynamo, if there is one, against the fields of its types, and
// against the fleet that kubernetes.yaml starts.
func checkDynamo(t *testing.T, name string, servers []any) {
	t.Helper()
	first := part{PodTemplateSpec: pods(servers)[0]}
	resource, _ := first.accelerators()
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if resource == "nvidia.com/gpu" { // on which alone Dynamo runs
			t.Errorf("there is no %s", filepath.Base(name))
		}
		return
	}
	objects, _ := decodeFile(t, name)
	g := objects[0].(*graph)
	configs := map[string]bool{}
	for _, object := range objects[1:] {
		configs[object.(*core.ConfigMap).Name] = true
	}
	services := asObject(g.Spec["services"])
	if want := len(pods(servers)) + 1; len(services) != want || services["Frontend"] == nil {
		t.Fatalf("found %d services, want a frontend and %d workers", len(services), want-1)
	}
	for name, service := range services {
		if err := checkService(g.Name, name, asObject(service), configs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkService finds what the fields allow and Dynamo's operator refuses, and what a worker lacks.
func checkService(graph, name string, s map[string]any, configs map[string]bool) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var service struct {
		ComponentType string
		Resources     struct{ Limits struct{ GPU string } }
		Multinode     struct{ NodeCount int }
		ExtraPodSpec  struct {
			Volumes       []core.Volume
			MainContainer core.Container
		}
	}
	if err := json.Unmarshal(data, &service); err != nil {
		return err
	}
	// The names of a PodCliqueSet, of its scaling group over nodes and of a clique in that have 45
	// characters at most (deploy/operator, validation of DynamoGraphDeployments).
	together := len(graph) + len(name)
	if service.Multinode.NodeCount > 1 {
		together += len(name + "-ldr")
	}
	main := &service.ExtraPodSpec.MainContainer
	n, err := strconv.Atoi(service.Resources.Limits.GPU)
	worker := service.ComponentType == "worker"
	switch {
	case together > 45:
		return fmt.Errorf("its names have %d characters", together)
	case !worker && service.ComponentType != "frontend":
		return fmt.Errorf("it is of type %q", service.ComponentType)
	case worker && (err != nil || n < 1):
		return fmt.Errorf("it has %q accelerators", service.Resources.Limits.GPU)
	case main.Image == "" || len(main.Command) != 3 || len(main.Args) == 0:
		return fmt.Errorf("its container is %v", main)
	}
	for _, mount := range main.VolumeMounts {
		at := slices.IndexFunc(service.ExtraPodSpec.Volumes, func(v core.Volume) bool {
			return v.Name == mount.Name
		})
		if at < 0 || !configs[service.ExtraPodSpec.Volumes[at].ConfigMap.Name] {
			return fmt.Errorf("it mounts %s, which is not there", mount.Name)
		}
	}
	return nil
}

// The check finds what a DynamoGraphDeployment does not have.
func TestGraphsAreCheckedStrictly(t *testing.T) {
	const good = `{"backendFramework": "vllm", "services": {"a": {"replicas": 2, "multinode": ` +
		`{"nodeCount": 2}, "extraPodSpec": {"mainContainer": {"image": "i"}, "volumes": []}}}}`
	for change, wrong := range map[[2]string]string{
		{"", ""}:                                "",
		{"backendFramework", "backend"}:         "spec.backend is no field",
		{`"vllm"`, `"llama"`}:                   "allowed are",
		{`"nodeCount": 2`, `"nodeCount": 1`}:    "whole number from 2",
		{`"nodeCount": 2`, `"nodes": 2`}:        "multinode.nodes is no field",
		{`"replicas": 2`, `"replicas": "2"`}:    "whole number",
		{`"image"`, `"picture"`}:                "unknown field",
		{`"volumes"`, `"mounts"`}:               "unknown field",
		{`{"nodeCount": 2}`, "2"}:               "want a mapping",
		{`"replicas": 2`, `"componentType": 1`}: "componentType",
	} {
		g := &graph{}
		text := strings.Replace(good, change[0], change[1], 1)
		if err := json.Unmarshal([]byte(`{"spec": `+text+`}`), g); err != nil {
			t.Fatal(err)
		}
		err := checkGraph(g)
		if wrong == "" && err != nil || wrong != "" &&
			(err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%v: error %v, want %q", change, err, wrong)
		}
	}
}
