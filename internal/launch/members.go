package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/internal/launch/options"
	registry "github.com/llmsim/llmsim/models/engines"
)

// member is the replicas that a command starts.
type member struct {
	started
	*reading
	// role is mixed, prefill or decode; empty where nothing says it.
	role string
	// replicas is how many there are.
	replicas int
}

// mostPools bounds the commands of a fleet; a large one has some ten.
const mostPools = 100

// fleetOf returns the fleet that commands start.
func fleetOf(list []commands.Command, file files) (*Reading, error) {
	found := heads(starting(list))
	if other := otherEngine(list); len(found) == 0 && other != nil {
		return nil, other
	}
	if len(found) == 0 {
		return nil, errors.New(
			"found no command that starts an engine; known are vllm serve, python -m " +
				"sglang.launch_server, trtllm-serve, lmdeploy serve api_server, llama-server, " +
				"text-generation-launcher and the workers of Dynamo")
	}
	if len(found) > mostPools {
		return nil, fmt.Errorf("found %d commands that start an engine; a fleet has at most %d",
			len(found), mostPools)
	}
	behind := proxied(list, file)
	var members []member
	undivided := "" // the role of a command that names none
	if slices.ContainsFunc(found, started.isPrefillWorker) {
		undivided = "decode"
	}
	for _, s := range found {
		m, err := s.member(file, behind)
		if err != nil && len(found) > 1 {
			err = fmt.Errorf("%s: %w", s.title(), err)
		}
		if err != nil {
			return nil, err
		}
		m.role = cmp.Or(m.role, undivided)
		if twin := slices.IndexFunc(members, m.isTwin); twin >= 0 {
			members[twin].replicas += m.replicas
			continue
		}
		if other := slices.IndexFunc(members, m.isAlternative); other >= 0 {
			if !maps.Equal(members[other].Terms, m.Terms) {
				members[other].Note("a condition of the script has another such command, %s; the "+
					"first is read", m.title())
			}
			continue
		}
		members = append(members, m)
	}
	r, err := joined(members)
	if err == nil {
		r.route(list)
	}
	return r, err
}

// isPrefillWorker reports whether a command starts a worker of Dynamo before 1.0 that only
// prefills. The workers beside it then decode, and need no flag that says so
// (examples/backends/vllm/launch/disagg.sh and deploy/disagg.yaml, Dynamo 0.4 to 0.9).
func (s started) isPrefillWorker() bool {
	return slices.Contains(s.words, "--is-prefill-worker")
}

// otherEngine names the engine that a command starts and that is not simulated, with the nearest;
// it returns nil for any other command.
func otherEngine(list []commands.Command) error {
	for _, c := range list {
		for _, word := range c.Words[:min(len(c.Words), mostBefore)] {
			program, _, _ := strings.Cut(commands.Base(word), ":")
			for _, other := range [][3]string{
				{"ollama", "Ollama", "llama.cpp, which it runs: llama-server -hf OWNER/MODEL-GGUF"},
				{"mlc_llm", "MLC LLM", "vLLM: vllm serve OWNER/MODEL"},
				{"aphrodite", "Aphrodite", "vLLM: vllm serve OWNER/MODEL"},
				{"openllm", "OpenLLM", "vLLM, which it runs: vllm serve OWNER/MODEL"},
				{"xinference", "Xinference", "the engine that it runs: vllm serve OWNER/MODEL"},
				{"fastchat.serve.vllm_worker", "FastChat", "vLLM, which it runs: vllm serve " +
					"OWNER/MODEL"},
				{"djl-serving", "DJL Serving", "the engine that it runs: vllm serve OWNER/MODEL"},
				{"worker-v1-vllm", "RunPod's worker", "vLLM, which it runs: vllm serve " +
					"OWNER/MODEL"},
				{"tritonserver", "Triton", "TensorRT-LLM: trtllm-serve OWNER/MODEL"},
				{"lightllm.server.api_server", "LightLLM", "SGLang: python3 -m " +
					"sglang.launch_server --model-path OWNER/MODEL"}} {
				if program == other[0] {
					return fmt.Errorf("%s is not simulated; the nearest is %s", other[1], other[2])
				}
			}
		}
	}
	return nil
}

// joined returns the fleet of all members.
func joined(members []member) (*Reading, error) {
	if len(members) == 1 {
		return members[0].alone()
	}
	if err := notOneFleet(members); err != nil {
		return nil, err
	}
	return joinPools(members)
}

// route takes over what a frontend of Dynamo says of routing.
func (r *Reading) route(list []commands.Command) {
	for _, c := range list {
		words := withoutPrefix(c.Words)
		if len(words) < 3 || words[2] != "dynamo.frontend" ||
			!strings.HasPrefix(commands.Base(words[0]), "python") {
			continue
		}
		for _, mode := range valuesOf(words, "--router-mode") {
			switch policy, err := manifests.RoutingOf(mode), commands.Closed(mode); {
			case err != nil:
				r.addNote("--router-mode: %v", err)
			case policy == "":
				r.addNote("--router-mode %s is no routing policy", mode)
			default:
				r.setRouting(policy)
			}
		}
	}
}

// title names a command for people.
func (s *started) title() string {
	words := []string{s.engine.Name}
	for i, word := range s.words[:min(2, len(s.words))] {
		if commands.Closed(word) != nil {
			break
		}
		if words = append(words, word); i == 0 && !strings.HasPrefix(word, "-") {
			break // the model
		}
	}
	if s.Name != "" {
		words = append(words, "("+s.Name+")")
	}
	return strings.Join(words, " ")
}

// member reads a command. The last argument has the roles of engines by their ports.
func (s started) member(file files, behind map[string]string) (member, error) {
	r, err := s.read(file.or(s.Mounted...))
	if err != nil {
		return member{}, err
	}
	m := member{started: s, reading: r}
	if s.Stopped && s.Scaler == nil {
		r.Note("replicas: 0 is read as one replica, as if it ran")
	}
	if s.Looped {
		m.Note("the command stands in a loop, and is read as one replica: set replicas")
	}
	if nodes := s.nodes(); s.OfPods && s.Replicas%nodes == 0 {
		s.Replicas /= nodes
	}
	m.replicas = max(1, s.Replicas) * min(r.Number("replicas", 1), commands.MostReplicas)
	r.Take("replicas")
	var proxied string
	for _, port := range valuesOf(s.words, "--port") {
		proxied = behind[port]
	}
	said, own := commands.Phase(s.Role), commands.Phase(r.Terms["pool"])
	m.role = cmp.Or(said, own, proxied, s.Role)
	if said != "" && own != "" && said != own {
		r.Note("its flags say %s, and what stands around them %s, as which it is read", own, said)
	}
	return m, nil
}

// version returns the engine's by its image, or by what the text installs; zero where neither says
// it.
func (s *started) version() registry.Version {
	if engines.IsImage(s.Image) {
		return options.VersionOf(s.Image)
	}
	name := map[string]string{"trtllm": "tensorrt-llm"}[s.engine.Name]
	v, err := registry.ParseVersion(s.Installed[cmp.Or(name, s.engine.Name)])
	if err != nil {
		return registry.Version{}
	}
	return v
}

// nodes returns the number of nodes that a command says its replica spans; 1 where it says nothing.
func (s *started) nodes() int {
	for _, value := range valuesOf(s.words, "--nnodes") {
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// isTwin reports whether another command of a script starts a further replica of the same pool, or
// of a fleet without pools: one on other accelerators.
func (m *member) isTwin(other member) bool {
	return m.Name == "" && other.Name == "" && m.role == other.role &&
		(m.role != "" || m.devices() != other.devices()) &&
		m.engine.Name == other.engine.Name && maps.Equal(m.Terms, other.Terms)
}

// devices returns the accelerators that a command says it runs on, empty where it does not.
func (m *member) devices() string {
	return m.Env["CUDA_VISIBLE_DEVICES"] + m.Env["HIP_VISIBLE_DEVICES"] +
		strings.Join(valuesOf(m.words, "--base-gpu-id"), " ")
}

// isAlternative reports whether another command stands in the same condition of a script: one of
// them runs.
func (m *member) isAlternative(other member) bool {
	return m.Branch > 0 && m.Branch == other.Branch && m.role == other.role &&
		m.engine.Name == other.engine.Name
}

// alone returns a fleet of replicas that are all alike.
func (m *member) alone() (*Reading, error) {
	if m.Terms["pool"] != "" {
		m.Note("%s: a scenario has pools for prefill and decode (fleet.pools), and this command "+
			"is one of them: give those of both together", m.reading.Flags["pool"])
	}
	delete(m.Terms, "pool")
	switch scaling := m.scaled(); {
	case len(scaling) > 0:
		var pool section
		pool.set("replicas", strconv.Itoa(m.replicas))
		pool.nest("scaling", scaling)
		text, err := flow([]section{pool})
		if err != nil {
			return nil, err
		}
		m.Set("fleet.pools", text)
	case m.replicas > 1:
		m.Set("replicas", strconv.Itoa(m.replicas))
	}
	return &Reading{Engine: m.engine.Name, Settings: settings(m.Terms),
		Flags: m.reading.Flags, Notes: m.Notes, Ignored: m.Ignored,
		asks: m.questions("speculation")}, nil
}

// scaled returns how the replicas are started and stopped, empty where all run always. It sets how
// many there are at most.
func (m *member) scaled() section {
	if m.Scaler == nil {
		return nil
	}
	scaling, most, notes := readScaler(m.engine, m.Scaler, m.replicas/max(1, m.Command.Replicas))
	m.replicas, m.Notes = most, append(m.Notes, notes...)
	return scaling
}

// settings returns overrides of a scenario in the order of their keys.
func settings(values map[string]string) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, key+"="+values[key])
	}
	return list
}
