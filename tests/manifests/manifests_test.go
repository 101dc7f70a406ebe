// Package manifests holds the Kubernetes manifests that llmsim writes against the Go types of
// Kubernetes, LeaderWorkerSet, the Gateway API and its Inference Extension, and against the fields
// that the types of NVIDIA Dynamo have. It is a module of its
// own, so that the simulator does not depend on these.
package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"
	inference "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/llmsim/llmsim/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// build builds llmsim once.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "llmsim")
	out, err := testkit.Command(t, "go", "build", "-C", filepath.Join("..", ".."), "-o", program,
		"./cmd/llmsim").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// fleets are scenarios of every kind that manifests are written for.
var fleets = map[string]struct {
	args  []string
	kinds string
}{
	"one replica": {[]string{"llama2-70b"}, "Deployment Service Claim"},
	"TensorRT-LLM": {[]string{"llama2-70b", "--engine", "trtllm"},
		"Deployment ConfigMap Service Claim"},
	"FP8 of TensorRT-LLM": {[]string{"llama2-70b", "--engine", "trtllm", "--set",
		"model=llama-3.3-70b", "--set", "hardware=h100-sxm", "--set", "engine.weights=fp8"},
		"Deployment ConfigMap Service Claim"},
	"AMD": {[]string{"llama2-70b", "--set", "hardware=mi300x", "--set", "replicas=2"},
		"Deployment Budget Service Claim"},
	"SGLang on AMD": {[]string{"llama2-70b", "--engine", "sglang", "--set", "hardware=mi355x"},
		"Deployment Service Claim"},
	"Gaudi": {[]string{"llama2-70b", "--set", "hardware=gaudi3"}, "Deployment Service Claim"},
	"Trainium": {[]string{"llama2-70b", "--set", "hardware=trainium2"},
		"Deployment Service Claim"},
	"exact index": {[]string{"pools.yaml", "--set", "routing=llm-d", "--set",
		"memory=prefix-cache"}, "Deployment Budget Deployment Service Claim"},
	"two nodes": {[]string{"two-nodes.yaml"}, "LeaderWorkerSet Service Claim"},
	"two nodes of SGLang": {[]string{"two-nodes.yaml", "--engine", "sglang"},
		"LeaderWorkerSet Service Claim"},
	"pools over nodes": {[]string{"wide-pools.yaml"}, "LeaderWorkerSet HorizontalPodAutoscaler " +
		"Budget LeaderWorkerSet Service Claim"},
	"wide experts": {[]string{"wide.yaml"}, "LeaderWorkerSet Service Claim"},
	"pools":        {[]string{"pools.yaml"}, "Deployment Budget Deployment Service Claim"},
	"pools of SGLang": {[]string{"pools.yaml", "--engine", "sglang"},
		"Deployment Budget Deployment Service Claim"},
	"pools of TensorRT-LLM": {[]string{"pools.yaml", "--engine", "trtllm"},
		"Deployment ConfigMap Budget Deployment ConfigMap Service Claim"},
	"scaled": {[]string{"scaled.yaml"},
		"Deployment HorizontalPodAutoscaler Budget Service Claim"},
}

func TestManifestsDecodeStrictly(t *testing.T) {
	program := build(t)
	for name, fleet := range fleets {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"scenario", "--emit", dir}, fleet.args...)
			cmd := testkit.Command(t, program, args...)
			cmd.Dir = "testdata"
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			objects, kinds := decodeFile(t, filepath.Join(dir, "kubernetes.yaml"))
			kinds = strings.NewReplacer("PodDisruptionBudget", "Budget",
				"PersistentVolumeClaim", "Claim").Replace(kinds)
			if kinds != fleet.kinds {
				t.Errorf("found %s, want %s", kinds, fleet.kinds)
			}
			checkStart(t, readEmitted(t, dir, objects))
			checkLLMD(t, filepath.Join(dir, "llm-d.yaml"), objects)
			checkDynamo(t, filepath.Join(dir, "dynamo.yaml"), objects)
			if out, err := testkit.Command(t, "sh", "-n",
				filepath.Join(dir, "start.sh")).CombinedOutput(); err != nil {
				t.Errorf("start.sh: %v\n%s", err, out)
			}
		})
	}
}

// decodeFile decodes all documents of a file, and returns them with their kinds in turn.
func decodeFile(t *testing.T, name string) (objects []any, kinds string) {
	t.Helper()
	manifests, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, strings.TrimSpace(kinds)
		}
		if err != nil {
			t.Fatal(err)
		}
		object, kind, err := decode(document)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects, kinds = append(objects, object), kinds+" "+kind
	}
}

// decode decodes a document strictly as the type that it names.
func decode(document []byte) (object any, kind string, err error) {
	data, err := yaml.ToJSON(document)
	if err != nil {
		return nil, "", err
	}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, "", err
	}
	if problems := validation.IsDNS1123Label(head.Metadata.Name); len(problems) > 0 {
		return nil, "", fmt.Errorf("name %q: %v", head.Metadata.Name, problems)
	}
	object, known := map[string]any{
		"apps/v1 Deployment":                           new(apps.Deployment),
		"v1 Service":                                   new(core.Service),
		"v1 ServiceAccount":                            new(core.ServiceAccount),
		"v1 PersistentVolumeClaim":                     new(core.PersistentVolumeClaim),
		"policy/v1 PodDisruptionBudget":                new(policy.PodDisruptionBudget),
		"v1 ConfigMap":                                 new(core.ConfigMap),
		"rbac.authorization.k8s.io/v1 Role":            new(rbac.Role),
		"rbac.authorization.k8s.io/v1 RoleBinding":     new(rbac.RoleBinding),
		"autoscaling/v2 HorizontalPodAutoscaler":       new(autoscaling.HorizontalPodAutoscaler),
		"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet":  new(lws.LeaderWorkerSet),
		"gateway.networking.k8s.io/v1 HTTPRoute":       new(gateway.HTTPRoute),
		"inference.networking.k8s.io/v1 InferencePool": new(inference.InferencePool),
		"nvidia.com/v1alpha1 DynamoGraphDeployment":    new(graph),
	}[head.APIVersion+" "+head.Kind]
	if !known {
		return nil, "", fmt.Errorf("unknown kind %s %s", head.APIVersion, head.Kind)
	}
	if err := decodeStrictly(data, object); err != nil {
		return nil, "", err
	}
	return object, head.Kind, check(object)
}

// decodeStrictly decodes JSON whose fields are all known.
func decodeStrictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

var label = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// check finds what the types allow and a cluster refuses.
func check(object any) error {
	var pods []core.PodTemplateSpec
	var selector map[string]string
	switch o := object.(type) {
	case *graph:
		return checkGraph(o)
	case *apps.Deployment:
		pods, selector = append(pods, o.Spec.Template), o.Spec.Selector.MatchLabels
	case *lws.LeaderWorkerSet:
		pods = append(pods, *o.Spec.LeaderWorkerTemplate.LeaderTemplate,
			o.Spec.LeaderWorkerTemplate.WorkerTemplate)
	}
	for key, value := range selector {
		if pods[0].Labels[key] != value || !label.MatchString(value) {
			return fmt.Errorf("selector %s=%s does not match the pods", key, value)
		}
	}
	for _, pod := range pods {
		for _, c := range pod.Spec.Containers {
			if c.Image == "" || c.Name != "picker" &&
				(len(c.Command) == 0 || len(c.Resources.Limits) == 0) {
				return fmt.Errorf("container %s lacks a command, an image or its accelerators",
					c.Name)
			}
			for _, mount := range c.VolumeMounts {
				if !has(pod.Spec.Volumes, mount.Name) {
					return fmt.Errorf(
						"container %s mounts the volume %s, which the pod does not have", c.Name,
						mount.Name)
				}
			}
		}
	}
	return nil
}

func has(volumes []core.Volume, name string) bool {
	for _, v := range volumes {
		if v.Name == name {
			return true
		}
	}
	return false
}
