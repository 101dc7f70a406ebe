package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"
)

// emitted is what --emit wrote for a fleet.
type emitted struct {
	objects []any
	notes   string
}

// readEmitted reads a folder of --emit.
func readEmitted(t *testing.T, dir string, objects []any) emitted {
	t.Helper()
	notes, err := os.ReadFile(filepath.Join(dir, "NOTES.md"))
	if err != nil {
		t.Fatal(err)
	}
	return emitted{objects, string(notes)}
}

// part is a pod of a group: of its one node, or the leader or the worker of several.
type part struct {
	core.PodTemplateSpec
	name     string
	replicas int32
	worker   bool
}

func (p *part) engine() *core.Container { return &p.Spec.Containers[0] }

// accelerators returns the resource of the accelerators, and how many the pod has.
func (p *part) accelerators() (name string, n int64) {
	for resource, quantity := range p.engine().Resources.Limits {
		if resource != "rdma/ib" {
			name, n = string(resource), quantity.Value()
		}
	}
	return name, n
}

// parts returns the pods of all groups.
func (e *emitted) parts() (list []part) {
	for _, object := range e.objects {
		switch o := object.(type) {
		case *apps.Deployment:
			list = append(list, part{o.Spec.Template, o.Name, *o.Spec.Replicas, false})
		case *lws.LeaderWorkerSet:
			g := o.Spec.LeaderWorkerTemplate
			list = append(list, part{*g.LeaderTemplate, o.Name, *o.Spec.Replicas, false},
				part{g.WorkerTemplate, o.Name, *o.Spec.Replicas, true})
		}
	}
	return list
}

func find[T any](e *emitted) (list []T) {
	for _, object := range e.objects {
		if o, ok := object.(T); ok {
			list = append(list, o)
		}
	}
	return list
}

func (p *part) variable(name string) *core.EnvVar {
	for i := range p.engine().Env {
		if p.engine().Env[i].Name == name {
			return &p.engine().Env[i]
		}
	}
	return nil
}

func (p *part) volumeAt(path string) *core.Volume {
	for _, mount := range p.engine().VolumeMounts {
		for i := range p.Spec.Volumes {
			if mount.MountPath == path && p.Spec.Volumes[i].Name == mount.Name {
				return &p.Spec.Volumes[i]
			}
		}
	}
	return nil
}

// words are the arguments of the engine, also of one that a shell starts.
func (p *part) words() string { return strings.Join(p.engine().Command, " ") }

func lasts(probe *core.Probe) int32 {
	if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != "/health" {
		return 0
	}
	return probe.PeriodSeconds * probe.FailureThreshold
}

// ofPods are rules for each pod of an engine: whether it would start, stay up and end well. Each
// has the source that says so.
var ofPods = []struct {
	rule, source string
	holds        func(e *emitted, p *part) bool
}{
	{"an image of ROCm runs on amd.com/gpu, and one of CUDA on nvidia.com/gpu",
		"docs.vllm.ai/en/stable/getting_started/installation/gpu", func(e *emitted, p *part) bool {
			resource, _ := p.accelerators()
			return resource != "amd.com/gpu" && resource != "nvidia.com/gpu" ||
				(resource == "amd.com/gpu") == strings.Contains(p.engine().Image, "rocm")
		}},
	{"an image that is not known is no image, and is asked for",
		"kubernetes.io/docs/concepts/containers/images: names have lower-case letters",
		func(e *emitted, p *part) bool {
			image := p.engine().Image
			return !strings.HasPrefix(image, "IMAGE-OF") || strings.Contains(e.notes, image)
		}},
	{"the image has a version", "kubernetes.io/docs/concepts/configuration/overview: avoid :latest",
		func(e *emitted, p *part) bool {
			image := p.engine().Image
			return strings.HasPrefix(image, "IMAGE-OF") || strings.Contains(image, ":") &&
				!strings.HasSuffix(image, ":latest")
		}},
	{"accelerators are whole, and given as limits",
		"kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus", func(e *emitted, p *part) bool {
			name, n := p.accelerators()
			return name != "" && n > 0 && len(p.engine().Resources.Requests) == 0
		}},
	{"a gated checkpoint is loaded with a token, from a Secret",
		"huggingface.co/docs/hub/models-gated", func(e *emitted, p *part) bool {
			token := p.variable("HF_TOKEN")
			gated := strings.Contains(p.words(), "meta-llama/")
			return gated == (token != nil && token.ValueFrom.SecretKeyRef != nil) &&
				gated == strings.Contains(e.notes, "kubectl create secret generic hf-token")
		}},
	{"the cache of checkpoints is a volume that outlives the pod",
		"huggingface.co/docs/huggingface_hub/package_reference/environment_variables: HF_HOME",
		func(e *emitted, p *part) bool {
			home := p.variable("HF_HOME")
			volume := p.volumeAt(home.Value)
			return volume != nil && volume.PersistentVolumeClaim != nil
		}},
	{"shared memory is larger than the 64 MB of a container",
		"docs.vllm.ai/en/stable/deployment/docker: --ipc=host or --shm-size",
		func(e *emitted, p *part) bool {
			volume := p.volumeAt("/dev/shm")
			return volume != nil && volume.EmptyDir != nil &&
				volume.EmptyDir.Medium == core.StorageMediumMemory
		}},
	{"loading has as long as it takes, by a probe of its own",
		"kubernetes.io/docs/tasks/configure-pod-container/" +
			"configure-liveness-readiness-startup-probes; llm-d/llm-d, " +
			"guides/pd-disaggregation/modelserver/gpu/vllm/base/patch-decode.yaml at 34272a64",
		func(e *emitted, p *part) bool {
			return p.worker || lasts(p.engine().StartupProbe) >= 600
		}},
	{"an engine that hangs is started anew, but not for one slow answer",
		"the same page", func(e *emitted, p *part) bool {
			return p.worker || lasts(p.engine().LivenessProbe) >= 30
		}},
	{"a replica that does not answer gets no requests", "the same page",
		func(e *emitted, p *part) bool {
			n := lasts(p.engine().ReadinessProbe)
			return p.worker || n > 0 && n < lasts(p.engine().LivenessProbe)
		}},
	{"probes ask a port that the engine has", "kubernetes.io/docs/reference: HTTPGetAction",
		func(e *emitted, p *part) bool {
			named := func(port core.ContainerPort) bool {
				return port.Name == p.engine().StartupProbe.HTTPGet.Port.String()
			}
			return p.worker || slices.ContainsFunc(p.engine().Ports, named)
		}},
	{"a pod leaves the Service before it is told to end, and has time to end",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle: termination",
		func(e *emitted, p *part) bool {
			if p.worker {
				return true
			}
			hook := p.engine().Lifecycle
			return hook != nil && hook.PreStop.Sleep.Seconds > 0 &&
				*p.Spec.TerminationGracePeriodSeconds > hook.PreStop.Sleep.Seconds
		}},
	{"nodes with the accelerator are selected, or asked for",
		"NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery; ROCm/k8s-device-plugin, node " +
			"labeller",
		func(e *emitted, p *part) bool {
			return len(p.Spec.NodeSelector) == 1 ||
				strings.Contains(e.notes, "add it as a nodeSelector") ||
				strings.Contains(e.notes, "add a nodeSelector")
		}},
	{"replicas stand on different nodes",
		"kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints",
		func(e *emitted, p *part) bool {
			if strings.HasPrefix(p.Spec.Containers[0].Name, "leader") || p.worker {
				return true
			}
			spread := p.Spec.TopologySpreadConstraints
			return len(spread) == 1 && matches(spread[0].LabelSelector.MatchLabels, p.Labels)
		}},
	{"caches that move between nodes over InfiniBand have RDMA, and may lock memory",
		"llm-d/llm-d, guides/pd-disaggregation/modelserver/gpu/vllm/coreweave at 55541149",
		func(e *emitted, p *part) bool {
			_, has := p.engine().Resources.Limits["rdma/ib"]
			role := p.Labels["llm-d.ai/role"]
			wants := role == "prefill" || role == "decode" || p.worker ||
				p.Spec.Containers[0].Name == "leader"
			locks := p.engine().SecurityContext != nil && slices.Contains(
				p.engine().SecurityContext.Capabilities.Add, "IPC_LOCK")
			return has == wants && locks == wants
		}},
	{"vLLM's connector names an address that other pods reach",
		"vllm-project/vllm, docs/features/nixl_connector_usage.md at 026c83f9",
		func(e *emitted, p *part) bool {
			host := p.variable("VLLM_NIXL_SIDE_CHANNEL_HOST")
			return !strings.Contains(p.words(), "NixlConnector") || host != nil &&
				host.ValueFrom.FieldRef.FieldPath == "status.podIP"
		}},
	{"engines that listen to their own machine alone are told to listen to others",
		"sglang/srt/server_args.py, v0.5, host 127.0.0.1; trtllm-serve --help, host localhost",
		func(e *emitted, p *part) bool {
			return strings.Contains(p.words(), "vllm serve") ||
				strings.Contains(p.words(), "--host 0.0.0.0")
		}},
	{"the file that TensorRT-LLM's command names is where it is started",
		"nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve",
		func(e *emitted, p *part) bool {
			_, after, named := strings.Cut(p.words(), "--extra_llm_api_options ")
			if !named {
				return true
			}
			name, _, _ := strings.Cut(after, " ")
			volume := p.volumeAt(p.engine().WorkingDir)
			return volume != nil && slices.ContainsFunc(find[*core.ConfigMap](e),
				func(c *core.ConfigMap) bool {
					return c.Name == volume.ConfigMap.Name && c.Data[name] != ""
				})
		}},
}

// ofFleets are rules for all objects of a fleet together.
var ofFleets = []struct {
	rule, source string
	holds        func(e *emitted) bool
}{
	{"the claim of pods exists, and several may write to it",
		"kubernetes.io/docs/concepts/storage/persistent-volumes: access modes",
		func(e *emitted) bool {
			claims, pods := find[*core.PersistentVolumeClaim](e), int32(0)
			for _, p := range e.parts() {
				if len(claims) != 1 ||
					p.volumeAt("/models").PersistentVolumeClaim.ClaimName != claims[0].Name {
					return false
				}
				pods += p.replicas
			}
			return pods == 1 || claims[0].Spec.AccessModes[0] == core.ReadWriteMany
		}},
	{"drained nodes take one replica at a time",
		"kubernetes.io/docs/tasks/run-application/configure-pdb", func(e *emitted) bool {
			for _, p := range e.parts() {
				kept := slices.ContainsFunc(find[*policy.PodDisruptionBudget](e),
					func(b *policy.PodDisruptionBudget) bool {
						return matches(b.Spec.Selector.MatchLabels, p.Labels) &&
							b.Spec.MaxUnavailable.IntValue() == 1
					})
				if !p.worker && kept != (p.replicas > 1) {
					return false
				}
			}
			return true
		}},
	{"an autoscaler scales a group that exists, to the number that was simulated, and its " +
		"metrics are asked for",
		"kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale",
		func(e *emitted) bool {
			for _, a := range find[*autoscaling.HorizontalPodAutoscaler](e) {
				if !slices.ContainsFunc(e.parts(), func(p part) bool {
					return p.name == a.Spec.ScaleTargetRef.Name && p.replicas == a.Spec.MaxReplicas
				}) || !strings.Contains(e.notes, "prometheus-adapter") {
					return false
				}
			}
			return true
		}},
	{"the Service reaches a port that pods have", "kubernetes.io/docs/concepts/services-networking",
		func(e *emitted) bool {
			service := find[*core.Service](e)[0]
			return slices.ContainsFunc(e.parts(), func(p part) bool {
				return !p.worker && matches(service.Spec.Selector, p.Labels) &&
					slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers),
						func(c core.Container) bool {
							return len(c.Ports) > 0 && c.Ports[0].ContainerPort ==
								service.Spec.Ports[0].TargetPort.IntVal
						})
			})
		}},
	{"what is asked for stands first in the notes", "own choice", func(e *emitted) bool {
		first, _, _ := strings.Cut(e.notes, "\n\n- ")
		return strings.HasSuffix(first, "see to what they cannot know:")
	}},
}

// matches reports whether a selector selects pods with certain labels.
func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// checkStart holds a fleet against all rules.
func checkStart(t *testing.T, e emitted) {
	t.Helper()
	for _, p := range e.parts() {
		for _, r := range ofPods {
			if !r.holds(&e, &p) {
				t.Errorf("%s %s: %s (%s)", p.name, p.Spec.Containers[0].Name, r.rule, r.source)
			}
		}
	}
	for _, r := range ofFleets {
		if !r.holds(&e) {
			t.Errorf("%s (%s)", r.rule, r.source)
		}
	}
}
