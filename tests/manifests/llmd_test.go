package manifests

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	inference "sigs.k8s.io/gateway-api-inference-extension/api/v1"
	picking "sigs.k8s.io/gateway-api-inference-extension/apix/config/v1alpha1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"
)

// checkLLMD holds llm-d's manifests, if there are any, against the servers that they route to.
func checkLLMD(t *testing.T, name string, servers []any) {
	t.Helper()
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if slices.ContainsFunc(images(servers), vLLM) {
			t.Error("vLLM has no llm-d.yaml")
		}
		return
	}
	objects, kinds := decodeFile(t, name)
	if want := "HTTPRoute InferencePool Service Deployment ConfigMap ServiceAccount Role " +
		"RoleBinding"; kinds != want {
		t.Fatalf("found %s, want %s", kinds, want)
	}
	route, pool := objects[0].(*gateway.HTTPRoute), objects[1].(*inference.InferencePool)
	service, picker := objects[2].(*core.Service), objects[3].(*apps.Deployment)
	backend := route.Spec.Rules[0].BackendRefs[0]
	if string(backend.Name) != pool.Name || string(*backend.Kind) != "InferencePool" {
		t.Errorf("the route leads to %s", backend.Name)
	}
	if ref := pool.Spec.EndpointPickerRef; string(ref.Name) != service.Name ||
		int32(ref.Port.Number) != service.Spec.Ports[0].Port {
		t.Errorf("the pool asks %s, not the service %s", ref.Name, service.Name)
	}
	for key, value := range service.Spec.Selector {
		if picker.Spec.Template.Labels[key] != value {
			t.Errorf("the service does not select the endpoint picker by %s=%s", key, value)
		}
	}
	roles := checkPool(t, pool, servers)
	checkPicker(t, objects[4].(*core.ConfigMap).Data["picker.yaml"], roles)
}

// checkPool returns the roles of the pods that take requests, each of which the pool selects and
// finds listening.
func checkPool(t *testing.T, pool *inference.InferencePool, servers []any) (roles []string) {
	t.Helper()
	for _, pod := range pods(servers) {
		for key, value := range pool.Spec.Selector.MatchLabels {
			if pod.Labels[string(key)] != string(value) {
				t.Errorf("the pool does not select %v by %s=%s", pod.Labels, key, value)
			}
		}
		var ports []int32
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, p := range c.Ports {
				ports = append(ports, p.ContainerPort)
			}
		}
		if target := int32(pool.Spec.TargetPorts[0].Number); ports[0] != target {
			t.Errorf("the pool sends to port %d, pods listen on %v", target, ports)
		}
		role := pod.Labels["llm-d.ai/role"]
		if (role == "decode") != (len(pod.Spec.InitContainers) == 1) {
			t.Errorf("%s has %d proxies", role, len(pod.Spec.InitContainers))
		}
		roles = append(roles, role)
	}
	return roles
}

// checkPicker decodes the configuration of the endpoint picker strictly: each plugin is declared,
// and there is a profile for each stage that some pods take.
func checkPicker(t *testing.T, text string, roles []string) {
	t.Helper()
	data, err := yaml.ToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var config picking.EndpointPickerConfig
	if err := decodeStrictly(data, &config); err != nil {
		t.Fatal(err)
	}
	var declared, profiles []string
	for _, p := range config.Plugins {
		declared = append(declared, p.Type)
	}
	for _, profile := range config.SchedulingProfiles {
		profiles = append(profiles, profile.Name)
		for _, p := range profile.Plugins {
			if !slices.Contains(declared, p.PluginRef) {
				t.Errorf("profile %s has a plugin %s, which is not declared", profile.Name,
					p.PluginRef)
			}
		}
	}
	if slices.Contains(roles, "prefill") != slices.Contains(profiles, "prefill") {
		t.Errorf("pods are %v, profiles %v", roles, profiles)
	}
}

// pods returns the templates of the pods that take requests.
func pods(servers []any) (list []core.PodTemplateSpec) {
	for _, server := range servers {
		switch s := server.(type) {
		case *apps.Deployment:
			list = append(list, s.Spec.Template)
		case *lws.LeaderWorkerSet:
			list = append(list, *s.Spec.LeaderWorkerTemplate.LeaderTemplate)
		}
	}
	return list
}

// images returns the images of the engines.
func images(servers []any) (list []string) {
	for _, pod := range pods(servers) {
		list = append(list, pod.Spec.Containers[0].Image)
	}
	return list
}

// vLLM reports whether an image is that of vLLM.
func vLLM(image string) bool { return strings.HasPrefix(image, "vllm/vllm-openai") }
