package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/internal/testkit"
	registry "github.com/llmsim/llmsim/models/engines"
)

// An engine runs on each accelerator in an image that says its version and whose engine is known,
// or in one that no cluster takes for an image, or the error names the accelerator and why. The
// label of nodes names one accelerator.
func TestImagesOfAllAccelerators(t *testing.T) {
	catalogue, err := hardware.Load()
	testkit.OK(t, err)
	vendors := map[string]int{}
	for _, a := range catalogue.Accelerators {
		v, err := vendorOf(&a)
		if err != nil {
			if !strings.Contains(err.Error(), a.Name) || a.Kind != "cpu" &&
				a.Generation != "apple" {
				t.Errorf("%s, %s: %v", a.Name, a.Generation, err)
			}
			continue
		}
		vendors[v.Name]++
		if !strings.Contains(v.Resource, "/") || v.Source == "" {
			t.Errorf("%s: %+v", a.Name, v)
		}
		if label := productLabel(a.Name); label != "" && (acceleratorNamed(label) != a.Name ||
			v.Label == "") {
			t.Errorf("%s is labelled %s, which names %s", a.Name, label, acceleratorNamed(label))
		}
		for _, e := range engines.All() {
			for _, text := range []string{"0.13", "0.14.0", "1.2.3rc4"} {
				version, err := registry.ParseVersion(text)
				testkit.OK(t, err)
				image, known, err := imageOf(e.Name, version, &a)
				if err != nil {
					if e.Name != "trtllm" || v.Name == "NVIDIA" ||
						!strings.Contains(err.Error(), v.Name) {
						t.Errorf("%s on %s: %v", e.Name, a.Name, err)
					}
					continue
				}
				got := options.VersionOf(image)
				if known != engines.IsImage(image) || known && got.Compare(version) != 0 ||
					!known && image != strings.ToUpper(image) {
					t.Errorf("%s %s on %s: %s, known %t", e.Name, text, a.Name, image, known)
				}
				wants := v.Name == "NVIDIA" || v.Name == "AMD" && (e.Name == "sglang" ||
					text != "0.13")
				if known != wants || strings.Contains(image, "rocm") != (known && v.Name == "AMD") {
					t.Errorf("%s %s on %s: %s, known %t", e.Name, text, a.Name, image, known)
				}
				if e.Name == "sglang" && v.Name == "AMD" && strings.HasSuffix(image, "-mi30x") !=
					(a.Generation == "cdna3") {
					t.Errorf("%s on %s, %s", image, a.Name, a.Generation)
				}
			}
		}
	}
	if len(vendors) < 4 {
		t.Errorf("vendors %v", vendors)
	}
}

// A replica has the nodes that hold its accelerators. It takes InfiniBand where it or its caches
// cross nodes, and TensorRT-LLM refuses ranks of several accelerators.
func TestReplicasHaveTheirNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "tensor")
		data := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "data")
		network := rapid.SampledFrom([]string{"infiniband-ndr", "ethernet-100g"}).
			Draw(t, "network")
		settings := []string{"model=deepseek-v2-lite",
			"hardware={accelerator: h200-sxm, network: " + network + "}",
			fmt.Sprintf("parallelism={tensor: %d, data: %d}", tensor, data)}
		apart := rapid.Bool().Draw(t, "apart")
		if apart {
			settings = append(settings,
				"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]")
		}
		simulation, err := build(settings)
		if err != nil {
			t.Skip(err)
		}
		if b, err := NewBundle(simulation, "trtllm"); (err == nil) != (data*tensor <= 8 &&
			(data == 1 || tensor == 1)) {
			t.Fatalf("%q under TensorRT-LLM: %v, %v", settings, b, err)
		}
		b, err := NewBundle(simulation, "vllm")
		if nodes := (tensor*data + 7) / 8; err != nil && data%nodes > 0 && data > 1 {
			return // ranks do not spread evenly
		}
		testkit.OK(t, err)
		for i := range b.Servers {
			s := &b.Servers[i]
			if s.Accelerators != tensor*data || s.Nodes*8 < tensor*data ||
				(s.Nodes-1)*8 >= tensor*data || s.RDMA != (network == "infiniband-ndr" &&
				(apart || s.Nodes > 1)) || (s.Port != b.Port) != (s.Role == "decode") {
				t.Fatalf("%q: %+v", settings, s)
			}
		}
	})
}

// An autoscaler on one metric, or on both with one target, is the policy that looks at it; with two
// targets it is no policy, and all replicas run. Replicas are counted in what each object starts.
func TestAutoscalersAreReadAsPolicies(t *testing.T) {
	for _, e := range engines.All() {
		if e.Waiting == "" {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			n := func(name string, low int) int { return rapid.IntRange(low, 3).Draw(t, name) }
			waiting, running, each, least, most := n("waiting", 0), n("running", 0), n("each", 1),
				n("least", 0), n("most", 0)
			var metrics []any
			for name, target := range map[string]int{e.Waiting: waiting, e.Running: running} {
				if target > 0 {
					metrics = append(metrics, map[string]any{"type": "Pods", "pods": map[string]any{
						"metric": map[string]any{"name": name}, "target": map[string]any{
							"averageValue": fmt.Sprintf("%d500m", target)}}})
				}
			}
			spec := map[string]any{"minReplicas": least, "maxReplicas": most, "metrics": metrics}
			s, replicas, notes := readScaler(e, map[string]any{"spec": spec}, each)
			want := ""
			switch {
			case running > 0 && (waiting == 0 || waiting == running):
				want = fmt.Sprintf("policy: outstanding, target: %d.5", running)
			case waiting > 0 && running == 0:
				want = fmt.Sprintf("policy: queue, per-replica: %d.5", waiting)
			}
			if want != "" {
				want = fmt.Sprintf("{%s, min: %d, keep: 300s}", want, each*max(1, least))
			}
			text, err := flow([]section{s})
			testkit.OK(t, err)
			if replicas != each*max(1, most) || text != "["+want+"]" && want != "" ||
				(want == "") != (len(notes) == 1) || (want == "") != (len(s) == 0) {
				t.Fatalf("%v: read as %s, %d of %d, want %s; notes %q", spec, text, replicas, each,
					want, notes)
			}
		})
	}
	for text, want := range map[string]float64{"1500m": 1.5, "2": 2, "0": 0, "-1": 0, "x": 0,
		"1e9": 0} {
		if got, ok := number(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%s is %g, %t", text, got, ok)
		}
	}
}

// A command is read alike as a text and from a file, with a configuration beside it; what is
// neither is named as a file if it looks like one, and a folder by what it lacks.
func TestFilesAreReadAsTheirText(t *testing.T) {
	dir := t.TempDir()
	name := func(file string) string { return filepath.Join(dir, file) }
	const line = "vllm serve m -tp 2"
	for file, text := range map[string]string{"run.sh": line, "with.sh": line + " --config c.yaml",
		"c.yaml": "max-num-seqs: 9\n", "long.sh": strings.Repeat("x", commands.MostText+1)} {
		testkit.OK(t, os.WriteFile(name(file), []byte(text), 0o600))
	}
	testkit.OK(t, os.Mkdir(name("empty"), 0o700))
	for text, want := range map[string]string{line: "model=m parallelism.tensor=2",
		name("run.sh"):  "model=m parallelism.tensor=2",
		name("with.sh"): "batching.max-sequences=9 model=m parallelism.tensor=2"} {
		r, err := ReadFileOrText(text, nil)
		testkit.OK(t, err)
		if got := strings.Join(r.Settings, " "); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{name("none.sh"): "there is no file " +
		name("none.sh") + ", and as a command: found no command",
		"nothing": "found no command", name("empty"): "has no kubernetes.yaml",
		name("long.sh"): "more than"} {
		_, err := ReadFileOrText(text, nil)
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "no file") != strings.Contains(want, "no file") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Words around an engine's command change nothing: variables, programs that start others, and the
// containers that engines publish; nor do the parts of a replica on other nodes.
func TestWordsAroundACommand(t *testing.T) {
	const line = "vllm serve m -tp 2 --max-num-seqs 4"
	want, err := Read(line)
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, choices ...string) string {
			return rapid.SampledFrom(choices).Draw(t, name)
		}
		text := one("launcher", "", "numactl -N 0 ", "time ", "srun -n 1 ", "uv run ") + line
		text = one("container", "", "docker run --gpus all vllm/vllm-openai:latest ",
			"podman run -e A=vllm vllm/vllm-openai ", "nerdctl run vllm/vllm-openai ") + text
		for range rapid.IntRange(0, 3).Draw(t, "words") {
			text = one("word", "exec ", "env ", "env B=2 ", "nohup ", "sudo ") + text
		}
		if rapid.Bool().Draw(t, "nodes") {
			text += " --nnodes 2 --node-rank 0\nvllm serve m -tp 2 --nnodes 2 --node-rank 1\n" +
				"vllm serve m -tp 2 --headless"
		}
		got, err := Read(text)
		if err != nil || !slices.Equal(got.Settings, want.Settings) {
			t.Fatalf("%s\nis read as %+v, %v, want %q", text, got, err, want.Settings)
		}
	})
}

// The tag of a container's image says the version, whatever starts the container and its command.
func TestImagesSayTheVersion(t *testing.T) {
	const image, version = "vllm/vllm-openai:v0.9.2 ", "engine.version=0.9.2"
	const other, none = "my/image:3 ", "the image my/image:3 does not say"
	for text, want := range map[string]string{
		"docker run --gpus all " + image + "vllm serve m":                      version,
		"docker run --gpus all " + image + "bash -lc 'vllm serve m'":           version,
		"docker run " + image + "bash -l -c 'cd /x && exec vllm serve m'":      version,
		"docker run " + image + "bash -c \"bash -c 'vllm serve m'\"":           version,
		"docker run " + image + "env A=1 sh -c 'vllm serve m'":                 version,
		"docker run --entrypoint bash " + image + "-c 'vllm serve m'":          version,
		"docker run --entrypoint=/bin/sh " + image + "-c 'vllm serve m'":       version,
		"sudo podman run -e A=b " + image + "sh -c 'vllm serve m'":             version,
		"ssh h \"docker run " + image + "bash -c 'vllm serve m'\"":             version,
		"kubectl run x --image=" + image + "--command -- sh -c 'vllm serve m'": version,
		"kubectl run x --image " + image + "--command -- sh -c 'vllm serve m'": version,
		"srun --container-image=" + image + "-N 1 bash -c 'vllm serve m'":      version,
		"srun --container-image docker.io#" + image + "vllm serve m":           version,
		"srun -N 1 singularity exec --nv docker://" + image + "vllm serve m":   version,
		"apptainer exec docker://" + image + "bash -c 'vllm serve m'":          version,
		"apptainer run --nv docker://" + image + "--model m":                   version,
		"docker run " + other + "bash -c 'vllm serve m'":                       none,
		"docker run " + other + "vllm serve m":                                 none,
		"docker run --entrypoint bash " + other + "-c 'vllm serve m'":          none,
		"kubectl run x --image=" + other + "--command -- vllm serve m":         none,
		"kubectl run x --image=" + other + "--command -- sh -c 'vllm serve m'": none,
		"case $1 in\nmixed-0) # replicas: 2, image: i\nbash -c 'vllm serve m';;\nesac": "replicas" +
			"=2",
		"for i in 1 2; do bash -c 'vllm serve m'; done": "in a loop",
	} {
		r, err := Read(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		said := strings.Join(append(r.Settings, r.Notes...), "\n")
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", text, said, want)
		}
	}
}

// Behind a proxy, the role of an engine is the one of its port; a port of two roles says nothing.
func TestProxiesGiveRoles(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{"--prefiller-ports 81 --decoder-ports 82", "prefill decode"},
		{"--prefill http://h:82 --decode=http://h:81", "decode prefill"},
		{"--prefiller-port 81 81 --decoder-port 82 --x 81", "prefill decode"},
		{"--prefiller-ports 81 82 --decoder-ports 82", "error"},
		{"--prefiller-ports 81 --decoder-ports 83", "error"},
	} {
		r, err := Read("vllm serve m --port 81\nvllm serve m -tp 2 --port 82\npython proxy.py " +
			c.flags)
		if c.want == "error" {
			if err == nil || !strings.Contains(err.Error(), "nothing says whether") {
				t.Errorf("%s: %v, %v", c.flags, r, err)
			}
			continue
		}
		testkit.OK(t, err)
		roles := strings.Fields(c.want)
		want := fmt.Sprintf("fleet.pools=[{role: %s, replicas: 1}, {role: %s, replicas: 1, "+
			"parallelism: {tensor: 2}}]", roles[0], roles[1])
		if !slices.Contains(r.Settings, want) {
			t.Errorf("%s: %q, want %s", c.flags, r.Settings, want)
		}
	}
}
