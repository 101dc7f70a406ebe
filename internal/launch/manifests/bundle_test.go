package manifests_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/internal/testkit"
)

// roomOf is the number of accelerators of each machine that is drawn.
const roomOf = 8

// draw makes up a fleet: groups of any role, over one node or several, that start a program
// "engine" with any words.
func draw(t *rapid.T) *manifests.Bundle {
	n := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	one := func(name string, choices ...string) string {
		return rapid.SampledFrom(choices).Draw(t, name)
	}
	maybe := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	b := &manifests.Bundle{Engine: one("engine", engines.Names()...), Version: "1.2", Flags: "1.1",
		Name: "llama", Port: 8000, Notes: []string{"routing x: y", "engine z"}[:n("notes", 0, 2)],
		Routing: one("routing", routings()...),
		Worker:  engines.Dynamo{Module: "dynamo.engine", Image: "runtime", Version: "1.3"}}
	if b.Engine == "vllm" && maybe("exact") {
		b.Exact = &manifests.Exact{BlockSize: "64", Prefix: "3", Usage: "2", Queue: "1"}
	}
	apart := rapid.Bool().Draw(t, "apart")
	resource := one("resource", "nvidia.com/gpu", "nvidia.com/gpu", "amd.com/gpu", "google.com/tpu")
	for i := range n("groups", 1, 3) {
		s := manifests.Server{Role: "mixed", Port: b.Port, Machine: roomOf, Resource: resource,
			Replicas: n("replicas", 1, 4), Accelerators: n("accelerators", 1, 4), Nodes: 1,
			Image: fmt.Sprintf("r.io/image-%d:v1", i), Imageless: maybe("imageless"),
			Model: one("model", "a/b", "c/d"), Gated: maybe("gated"), RDMA: maybe("rdma"),
			Asks:       one("asks", "", "", "a template"),
			ConfigFile: fmt.Sprintf("config-%d.yaml", i)}
		s.Bytes = map[string]int64{"a/b": 1, "c/d": 2}[s.Model] * int64(n("bytes", 8e9, 8e9))
		if apart {
			s.Role = one("role", "prefill", "decode", "mixed")
		}
		s.Name = fmt.Sprintf("%s-%d", s.Role, i)
		if s.Role == "decode" && b.Engine == "vllm" {
			s.Port = engines.VLLMBehindSidecar
		}
		if maybe("pool") {
			s.Pool = "spot"
		}
		if resource != "google.com/tpu" && !maybe("unlabelled") {
			s.Label = map[string]string{"nvidia.com/gpu": "nvidia.com/gpu.product",
				"amd.com/gpu": "amd.com/gpu.product-name"}[resource]
			s.Product = one("product", "", "Model-80GB")
		}
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~]{1,9}`), 0, 4).Draw(t, "words")
		s.Command = slices.Concat([]string{"engine", "-m"}, slices.DeleteFunc(words,
			func(word string) bool { return strings.Contains(word, "$(") }))
		s.WorkerArgs = s.Command[1:]
		if b.Engine != "trtllm" && maybe("nodes") {
			s.Nodes = n("nodes", 2, 4)
			s.Accelerators = s.Nodes*roomOf - n("fewer", 0, roomOf-1)
		} else if rapid.Bool().Draw(t, "config") {
			s.Config, s.WorkerConfig = "a: 1\nb:\n  c: $x\n", "a: 2\n"
		}
		if maybe("scaled") {
			s.Autoscaler = &engines.Autoscaler{Least: n("least", 1, 4), Hold: n("hold", 1, 3600),
				Metrics: []engines.Metric{{Name: "waiting", Target: "1500m"},
					{Name: "running", Target: "2"}}[:n("metrics", 1, 2)]}
		}
		testkit.OK(t, s.Spread(b.Engine, s.Nodes*n("ranks", 0, 2)))
		b.Servers = append(b.Servers, s)
	}
	return b
}

func routings() []string {
	return []string{"", "round-robin", "random", "least-requests", "least-tokens", "choices",
		"slo-aware", "kv-aware", "prefix-aware", "session-affinity", "dynamo", "gateway-api",
		"llm-d"}
}

// read returns the commands of a text that start the program.
func read(t *rapid.T, text, program string) (list []commands.Command) {
	t.Helper()
	starts := func(words []string) bool { return slices.Contains(words, program) }
	found, err := commands.Read(text, nil, starts)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, c := range found.Commands {
		if starts(c.Words) {
			list = append(list, c)
		}
	}
	return list
}

// mounted returns the text of a file that a command finds.
func mounted(c *commands.Command, name string) string {
	for _, files := range slices.Backward(c.Mounted) {
		if text, found := files[name]; found {
			return text
		}
	}
	return ""
}

// number returns the number at a path of keys.
func number(value any, path ...string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(fmt.Sprint(commands.At(value, path...)), "Gi"))
	return n
}

// What Kubernetes is given for a fleet is read as the fleet: for each group its command with the
// words of the leader, its image, role, number of replicas, nodes and files. All accelerators of a
// replica are asked for, and no whole pod more. The Service selects the pods that take requests.
// The volume holds each checkpoint once with a fifth to spare. A replica has time to start, and to
// end after its last answer.
func TestManifestsAreReadAsTheFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		text, err := b.Manifests()
		testkit.OK(t, err)
		found := read(t, text, "engine")
		if len(found) != len(b.Servers) {
			t.Fatalf("%d groups, read as %d:\n%s", len(b.Servers), len(found), text)
		}
		for i := range found {
			s, c := &b.Servers[i], &found[i]
			want := slices.Clone(s.Command)
			if s.Nodes > 1 {
				want = slices.Clone(s.Leader)
			}
			for i, word := range want {
				want[i] = strings.ReplaceAll(word, "$(LWS_GROUP_SIZE)", strconv.Itoa(s.Nodes))
			}
			if b.Exact != nil && len(c.Words) > len(want) {
				c.Words = c.Words[:len(want)] // further ones are for the picker's events
			}
			if !slices.Equal(c.Words, want) || c.Image != s.Image || c.Role != s.Role ||
				c.Name != "llama-"+s.Name || c.Replicas != s.Replicas || c.Product != s.Product ||
				mounted(c, s.ConfigFile) != s.Config {
				t.Fatalf("%+v is read as\n%+v", s, c)
			}
			if a := s.Autoscaler; a == nil != (c.Scaler == nil) {
				t.Fatalf("scaled by %v, read as %v", a, c.Scaler)
			} else if a != nil {
				metrics, _ := commands.At(c.Scaler, "spec", "metrics").([]any)
				if number(c.Scaler, "spec", "minReplicas") != a.Least || len(metrics) !=
					len(a.Metrics) || number(c.Scaler, "spec", "maxReplicas") != s.Replicas ||
					number(c.Scaler, "spec", "behavior", "scaleDown",
						"stabilizationWindowSeconds") != a.Hold {
					t.Fatalf("scaled by %v, read as %v", a, c.Scaler)
				}
				for i, m := range a.Metrics {
					if got := commands.At(metrics[i], "pods"); commands.At(got, "metric",
						"name") != m.Name || commands.At(got, "target", "averageValue") !=
						m.Target {
						t.Fatalf("scaled by %v, read as %v", a, c.Scaler)
					}
				}
			}
		}
		theCluster(t, b, text)
	})
}

// theCluster checks what a cluster is asked for beside the commands of a fleet.
func theCluster(t *rapid.T, b *manifests.Bundle, text string) {
	documents, err := commands.Decode(text)
	testkit.OK(t, err)
	front := slices.IndexFunc(b.Servers, func(s manifests.Server) bool {
		return s.Role != "prefill"
	})
	var selector map[string]any
	kinds, labels, models := map[string]int{}, []map[string]any{}, map[string]int64{}
	pods, scaled, several := 0, 0, 0
	for _, document := range documents {
		kind := fmt.Sprint(document["kind"])
		kinds[kind]++
		spec := document["spec"]
		template := commands.At(spec, "template")
		if kind == "LeaderWorkerSet" {
			template = commands.At(spec, "leaderWorkerTemplate", "leaderTemplate")
		}
		switch kind {
		case "Service":
			selector, _ = commands.At(spec, "selector").(map[string]any)
		case "Deployment", "LeaderWorkerSet":
			s := &b.Servers[len(labels)]
			own, _ := commands.At(template, "metadata", "labels").(map[string]any)
			labels = append(labels, own)
			pod := commands.At(template, "spec")
			all, _ := commands.At(pod, "containers").([]any)
			size := max(1, number(spec, "leaderWorkerTemplate", "size"))
			each := number(all[0], "resources", "limits", s.Resource)
			if size != s.Nodes || each*size < s.Accelerators ||
				each*size >= s.Accelerators+size {
				t.Fatalf("%d pods of %d accelerators for %d on %d nodes", size, each,
					s.Accelerators, s.Nodes)
			}
			ends := number(all[0], "lifecycle", "preStop", "sleep", "seconds")
			if ends < 1 || number(pod, "terminationGracePeriodSeconds") <= ends {
				t.Fatalf("a replica answers for %d s, and then has ended\n%s", ends, text)
			}
			starts := 10 * number(all[0], "startupProbe", "failureThreshold")
			if least := 600 + int(s.Bytes/100e6); starts < least || starts > least+20 {
				t.Fatalf("%d s to load %d bytes", starts, s.Bytes)
			}
		}
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		pods, models[s.Model] = pods+s.Replicas*s.Nodes, s.Bytes
		if s.Autoscaler != nil {
			scaled++
		}
		if s.Replicas > 1 {
			several++
		}
		takes := true
		for label, value := range selector {
			takes = takes && labels[i][label] == value
		}
		if front >= 0 && takes != (s.Role == b.Servers[front].Role) {
			t.Fatalf("the Service selects %v, and %s has %v", selector, s.Name, labels[i])
		}
	}
	claim := documents[len(documents)-1]
	least := 1.2 * float64(models["a/b"]+models["c/d"]) / (1 << 30)
	access := "[ReadWriteMany]"
	if pods == 1 {
		access = "[ReadWriteOnce]"
	}
	if size := float64(number(claim, "spec", "resources", "requests", "storage")); size < least ||
		size > least+10 || fmt.Sprint(commands.At(claim, "spec", "accessModes")) != access {
		t.Fatalf("%g GiB for checkpoints of %g: %v", size, least, claim)
	}
	if kinds["HorizontalPodAutoscaler"] != scaled || kinds["PodDisruptionBudget"] != several {
		t.Fatalf("%v for %d scaled groups, and %d of several replicas", kinds, scaled, several)
	}
}

// The script of a fleet is read as the fleet, but for autoscalers; the command of a replica over
// several nodes begins with the words of the leader.
func TestScriptsAreReadAsTheFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		text, err := b.Script()
		testkit.OK(t, err)
		found := read(t, text, "engine")
		lines, err := b.Lines()
		testkit.OK(t, err)
		most, apart := 1, false
		for i := range b.Servers {
			s := &b.Servers[i]
			most = max(most, s.Nodes)
			apart = apart || s.Role != "mixed" && b.Engine == "vllm"
			if len(found) == 0 {
				t.Fatalf("nothing starts %s:\n%s", s.Name, text)
			}
			c := found[0]
			c.Words = c.Words[1:] // exec
			if found = found[1:]; s.Nodes > 1 && b.Engine == "vllm" {
				found = found[1:] // of the other nodes
			}
			if n := len(s.Command); !slices.Equal(c.Words[:n], s.Command) || c.Image != s.Image ||
				s.Nodes == 1 && len(c.Words) > n || c.Role != s.Role || c.Name != s.Name ||
				c.Replicas != s.Replicas {
				t.Fatalf("%+v is read as\n%+v\nin %s", s, c, text)
			}
			if nodes := fmt.Sprintf("0 to %d}\"", s.Nodes-1); strings.Contains(text, nodes) !=
				(s.Nodes > 1) {
				t.Fatalf("%d nodes:\n%s", s.Nodes, text)
			}
		}
		const host = "VLLM_NIXL_SIDE_CHANNEL_HOST="
		if strings.Contains(text, host) != apart ||
			strings.Contains(strings.Join(lines, "\n"), host) != apart {
			t.Fatalf("of pools that exchange caches (%t): %q and\n%s", apart, lines, text)
		}
		if nodes := fmt.Sprintf("NODE 0 to %d,", most-1); strings.Contains(text, nodes) !=
			(most > 1) || len(found) > 0 {
			t.Fatalf("%d nodes, and further commands %v:\n%s", most, found, text)
		}
	})
}

// A fleet that one machine has room for is read from its file of Docker Compose, each replica with
// accelerators of its own, a port of its own, and the words, the image and the files of its group;
// another fleet has no such file.
func TestComposeIsReadAsTheFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		text, err := b.Compose()
		testkit.OK(t, err)
		used, fits := 0, true
		for i := range b.Servers {
			s := &b.Servers[i]
			used += s.Replicas * s.Accelerators
			fits = fits && s.Role == "mixed" && s.Nodes == 1 && !s.Imageless &&
				s.Resource != "google.com/tpu"
		}
		if fits = fits && used <= roomOf; fits != (text != "") {
			t.Fatalf("%d accelerators, fits %t:\n%s", used, fits, text)
		}
		if !fits {
			return
		}
		found := read(t, text, "engine")
		documents, err := commands.Decode(text)
		testkit.OK(t, err)
		services, _ := documents[0]["services"].(map[string]any)
		names := slices.Sorted(maps.Keys(services)) // in the order of the groups, as they are named
		ports, devices := map[string]bool{}, map[string]bool{}
		for i := range b.Servers {
			s := &b.Servers[i]
			for range s.Replicas {
				c, service := found[0], services[names[0]]
				found, names = found[1:], names[1:]
				if !slices.Equal(c.Words, s.Command) || c.Image != s.Image || c.Role != s.Role ||
					mounted(&c, s.ConfigFile) != s.Config {
					t.Fatalf("%+v is read as\n%+v\nin %s", s, c, text)
				}
				port := fmt.Sprint(commands.At(service, "ports"))
				ports[port] = true
				if before, after, _ := strings.Cut(strings.Trim(port, "[]"), ":"); after !=
					strconv.Itoa(s.Port) || before < strconv.Itoa(b.Port) {
					t.Fatalf("ports %s", port)
				}
				list := commands.At(service, "environment", "HIP_VISIBLE_DEVICES")
				if s.Resource == "nvidia.com/gpu" {
					reserved, _ := commands.At(service, "deploy", "resources", "reservations",
						"devices").([]any)
					list = commands.At(reserved[0], "device_ids")
				}
				for _, device := range strings.FieldsFunc(fmt.Sprint(list), func(r rune) bool {
					return strings.ContainsRune("[], ", r)
				}) {
					if n, err := strconv.Atoi(device); err != nil || n >= used || devices[device] {
						t.Fatalf("device %s in\n%s", device, text)
					}
					devices[device] = true
				}
				if len(devices)%s.Accelerators > 0 && len(b.Servers) == 1 {
					t.Fatalf("%d accelerators for replicas of %d", len(devices), s.Accelerators)
				}
			}
		}
		if len(found)+len(names) > 0 || len(devices) != used {
			t.Fatalf("%d devices of %d; further %v in\n%s", len(devices), used, names, text)
		}
		lowest := slices.Min(slices.Collect(maps.Keys(ports)))
		if !strings.HasPrefix(lowest, fmt.Sprintf("[%d:", b.Port)) {
			t.Fatalf("the first port is %s", lowest)
		}
	})
}

// The manifest for Dynamo is read as the fleet, prefill before decode, with the routing of its
// frontend; fleets that it has no form for get no manifest, and why.
func TestDynamoIsReadAsTheFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		if rapid.Bool().Draw(t, "fit") && len(b.Servers) == 2 {
			b.Servers[0].Role, b.Servers[1].Role = "prefill", "decode"
		}
		var roles []string
		for i := range b.Servers {
			roles = append(roles, b.Servers[i].Role)
		}
		slices.Sort(roles)
		fits := b.Servers[0].Resource == "nvidia.com/gpu" && slices.Contains([]string{"mixed",
			"decode prefill"}, strings.Join(roles, " "))
		text, why, err := b.Dynamo()
		testkit.OK(t, err)
		if fits != (text != "") || fits != (why == "") {
			t.Fatalf("%v: %q\n%s", roles, why, text)
		}
		if !fits {
			return
		}
		found, servers := read(t, text, b.Worker.Module), slices.Clone(b.Servers)
		slices.SortStableFunc(servers, func(a, b manifests.Server) int {
			return strings.Compare(b.Role, a.Role)
		})
		if len(found) != len(servers) {
			t.Fatalf("%d groups, read as %d:\n%s", len(servers), len(found), text)
		}
		for i := range found {
			s, c := &servers[i], &found[i]
			if !slices.Equal(c.Words[3:], s.WorkerArgs) || c.Replicas != s.Replicas ||
				commands.Phase(c.Role) != commands.Phase(s.Role) ||
				mounted(c, s.ConfigFile) != s.WorkerConfig {
				t.Fatalf("%+v is read as\n%+v\nin %s", s, c, text)
			}
		}
		documents, err := commands.Decode(text)
		testkit.OK(t, err)
		for name, service := range commands.At(documents[0], "spec", "services").(map[string]any) {
			i := slices.IndexFunc(servers, func(s manifests.Server) bool { return s.Name == name })
			if i < 0 {
				continue // the frontend
			}
			s := &servers[i]
			nodes := max(1, number(service, "multinode", "nodeCount"))
			each := number(service, "resources", "limits", "gpu")
			if nodes != s.Nodes || nodes*each < s.Accelerators ||
				nodes*each >= s.Accelerators+nodes {
				t.Fatalf("%d nodes of %d for %+v", nodes, each, s)
			}
		}
		front := read(t, text, "dynamo.frontend")
		mode, same := manifests.RouterMode(b.Routing)
		if len(front) != 1 || front[0].Words[4] != mode {
			t.Fatalf("routing %s: %v", b.Routing, front)
		}
		if again, _ := manifests.RouterMode(manifests.RoutingOf(mode)); again != mode ||
			same && b.Routing != "" && b.Routing != "dynamo" &&
				manifests.RoutingOf(mode) != b.Routing {
			t.Fatalf("routing %s by %s is routing %s", b.Routing, mode, manifests.RoutingOf(mode))
		}
	})
}

// llm-d's picker declares each plugin that a stage refers to, picks for prefill only where some
// pods do nothing else, and weighs what the routing policy looks at.
func TestThePickerDeclaresItsPlugins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		text, err := b.LLMD()
		testkit.OK(t, err)
		if (b.Engine == "vllm") != (text != "") {
			t.Fatalf("%s has llm-d.yaml\n%s", b.Engine, text)
		}
		if text == "" {
			return
		}
		documents, err := commands.Decode(text)
		testkit.OK(t, err)
		var picker map[string]any
		for _, document := range documents {
			if document["kind"] == "ConfigMap" {
				text := commands.Texts(document["data"])["picker.yaml"]
				testkit.OK(t, commands.Unmarshal(text, &picker))
			}
		}
		declared := map[string]bool{}
		list, _ := picker["plugins"].([]any)
		for _, plugin := range list {
			declared[fmt.Sprint(commands.At(plugin, "type"))] = true
		}
		var stages, scorers []string
		profiles, _ := picker["schedulingProfiles"].([]any)
		for _, profile := range profiles {
			stages = append(stages, fmt.Sprint(commands.At(profile, "name")))
			refers, _ := commands.At(profile, "plugins").([]any)
			for _, plugin := range refers {
				name := fmt.Sprint(commands.At(plugin, "pluginRef"))
				if !declared[name] {
					t.Fatalf("%s is not declared:\n%s", name, text)
				}
				if strings.HasSuffix(name, "-scorer") {
					if scorers = append(scorers, name); number(plugin, "weight") < 1 {
						t.Fatalf("%s has no weight", name)
					}
				}
			}
		}
		want := "decode"
		for i := range b.Servers {
			if b.Servers[i].Role == "prefill" {
				want = "decode prefill"
			}
		}
		if strings.Join(stages, " ") != want {
			t.Fatalf("stages %q, want %s", stages, want)
		}
		looks := map[string]string{"kv-aware": "kv-cache-utilization-scorer",
			"prefix-aware": "prefix-cache-scorer", "session-affinity": "session-affinity-scorer",
			"least-requests": "active-request-scorer",
			"choices":        "active-request-scorer"}[b.Routing]
		if looks != "" && b.Exact == nil && !slices.Contains(scorers, looks) ||
			b.Exact != nil && !slices.Contains(scorers, "precise-prefix-cache-scorer") {
			t.Fatalf("routing %s by %q", b.Routing, scorers)
		}
	})
}

// A folder has the texts of its fleet and no others, of which only the script runs, and is not
// written over. The notes name what a cluster alone knows exactly where that is so, once each.
func TestAFolderHasItsFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		base, err := os.MkdirTemp("", "fleet")
		testkit.OK(t, err)
		defer os.RemoveAll(base)
		dir := filepath.Join(base, "a", "fleet")
		testkit.OK(t, b.Write(dir))
		if err := b.Write(dir); err == nil {
			t.Fatal("a fleet is written over another")
		}
		if err := manifests.CheckFolder(filepath.Join(dir, "start.sh")); err == nil {
			t.Fatal("a fleet is written into a file")
		}
		script, err := b.Script()
		testkit.OK(t, err)
		yaml, err := b.Manifests()
		testkit.OK(t, err)
		compose, err := b.Compose()
		testkit.OK(t, err)
		gateway, err := b.LLMD()
		testkit.OK(t, err)
		graph, why, err := b.Dynamo()
		testkit.OK(t, err)
		want := map[string]string{"start.sh": script, "kubernetes.yaml": yaml,
			"compose.yaml": compose, "llm-d.yaml": gateway, "dynamo.yaml": graph}
		said := map[string]bool{"autoscaler: ": false, "RDMA: ": false, "is gated": false,
			"start of a template":   false,
			"replicas over nodes: ": false, "gke-tpu-topology": false,
			"There is no dynamo.yaml: " + why: graph == "", "do not express": len(b.Notes) > 0,
			fmt.Sprintf("claim %s of %d GiB that allows %s", b.Claim(), b.Storage(),
				b.Access()): true, "list of " + b.Engine + " " + b.Flags + ";": true,
			"has " + b.Engine + " " + b.Worker.Version + " in its image": graph != ""}
		most := 1
		for i := range b.Servers {
			s := &b.Servers[i]
			most = max(most, s.Nodes)
			want[s.ConfigFile] = s.Config
			for what, is := range map[string]bool{"autoscaler: ": s.Autoscaler != nil,
				"RDMA: ": s.RDMA, "start of a template": s.Asks != "", "is gated": s.Gated,
				"replicas over nodes: ":                       s.Nodes > 1,
				"gke-tpu-topology":                            s.Resource == "google.com/tpu",
				"image of " + s.Name:                          s.Imageless,
				"nodes of " + s.Name:                          true,
				s.Name + ": they are":                         s.Pool != "",
				s.Name + ": all ":                             s.Autoscaler != nil && graph != "",
				"labelled " + s.Label + "=" + s.Product + ",": s.Product != ""} {
				said[what] = said[what] || is
			}
		}
		if said[fmt.Sprintf("span up to %d nodes", most)] = most > 1; graph != "" {
			_, same := manifests.RouterMode(b.Routing)
			said["comes nearest"] = !same
		}
		entries, err := os.ReadDir(dir)
		testkit.OK(t, err)
		for _, entry := range entries {
			name := entry.Name()
			info, err := entry.Info()
			testkit.OK(t, err)
			if runs := info.Mode()&0o100 != 0; runs != (name == "start.sh") {
				t.Fatalf("%s has the mode %v", name, info.Mode())
			}
			text := string(testkit.Read(t, filepath.Join(dir, name)))
			if name != "NOTES.md" && (text != want[name] || text == "") {
				t.Fatalf("%s is\n%s", name, text)
			}
			delete(want, name)
		}
		for name, text := range want {
			if text != "" {
				t.Fatalf("there is no %s", name)
			}
		}
		notes := string(testkit.Read(t, filepath.Join(dir, "NOTES.md")))
		for _, note := range b.Notes {
			said["\n- "+note+"\n"] = true
		}
		for what, is := range said {
			if strings.Contains(notes, what) != is {
				t.Fatalf("%q, want %t, in\n%s", what, is, notes)
			}
		}
		seen := map[string]bool{}
		for line := range strings.Lines(notes) {
			if strings.HasPrefix(line, "- ") && seen[line] {
				t.Fatalf("%q is there twice", line)
			}
			seen[line] = true
		}
	})
}

// The name of a model's objects is a DNS label (RFC 1123) that leaves room for more, and its own
// name.
func TestObjectsAreNamed(t *testing.T) {
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9._/-]{0,60}`)).
			Draw(t, "model")
		name := manifests.ObjectName(model)
		if !label.MatchString(name) || manifests.ObjectName(name) != name {
			t.Fatalf("%q is named %q, and that %q", model, name, manifests.ObjectName(name))
		}
		if letters := strings.Repeat("x", min(len(model), 50)); letters != "" &&
			len(manifests.ObjectName(letters)) != min(len(letters), 40) {
			t.Fatalf("%d letters are cut to %d", len(letters), len(manifests.ObjectName(letters)))
		}
	})
}

// Data-parallel ranks that do not divide over the nodes are refused, as are several nodes under
// TensorRT-LLM; the worker of each node starts at the first rank that is its own.
func TestReplicasOverNodes(t *testing.T) {
	for _, c := range []struct {
		engine       string
		nodes, ranks int
		err          string
	}{{"vllm", 2, 3, "3 data-parallel ranks do not spread evenly over 2 nodes"},
		{"trtllm", 2, 1, "trtllm needs an MPI launcher"}, {"trtllm", 1, 1, ""},
		{"vllm", 2, 8, ""}, {"vllm", 2, 1, ""}, {"sglang", 2, 3, ""}} {
		s := manifests.Server{Nodes: c.nodes, Accelerators: 16, Command: []string{"vllm", "serve"}}
		err := s.Spread(c.engine, c.ranks)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		if local := fmt.Sprintf("LWS_WORKER_INDEX * %d", c.ranks/c.nodes); err == nil &&
			c.engine == "vllm" && strings.Contains(fmt.Sprint(s.Worker), local) != (c.ranks > 1) {
			t.Errorf("%+v: %q", c, s.Worker)
		}
		if len(s.Leader) > 0 != (err == nil && c.nodes > 1) || len(s.Command) != 2 {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}
