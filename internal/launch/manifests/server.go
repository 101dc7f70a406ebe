package manifests

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/llmsim/llmsim/internal/launch/engines"
)

// Server is a group of replicas that are started by the same command.
type Server struct {
	// Name is unique in a fleet and made of lower-case letters, digits and hyphens.
	Name string
	// Role is mixed, prefill or decode, and Pool the name that the scenario gives the group; empty
	// where it gives no version.
	Role, Pool string
	// Command is the program and its arguments.
	Command []string
	// Leader and Worker are the commands of the first pod and of the others of a replica that spans
	// nodes, which LeaderWorkerSet lets find each other; nil where a replica has one node.
	Leader, Worker []string
	// headless is what the command of start.sh has on all nodes but the first, for a POSIX shell;
	// empty where all nodes have the same.
	headless string
	// Config is the text of the YAML file that the command names, ConfigFile its name; empty where
	// it needs nothing. Each group has its own: pools may differ.
	Config, ConfigFile string
	// WorkerArgs are the arguments of Dynamo's worker for the same replica, WorkerConfig the text
	// of the YAML file that they name, by the name ConfigFile; empty where it needs nothing.
	WorkerArgs   []string
	WorkerConfig string
	// Replicas is how many there are, Accelerators how many each has, on Nodes of them.
	Replicas, Accelerators, Nodes int
	// Autoscaler says how they are started and stopped; nil where the scenario does not, or the
	// engine has no metric for it.
	Autoscaler *engines.Autoscaler
	// Image is the container image of the engine; Imageless is set where no image is known for the
	// accelerator, and Image then says so in a form that no cluster takes for one.
	Image     string
	Imageless bool
	// Port is the one on which the engine listens.
	Port int
	// Resource is the name under which Kubernetes counts the accelerators, such as nvidia.com/gpu,
	// Label the name of the label of nodes that have them, and Product its value; empty where that
	// is not known.
	Resource, Label, Product string
	// Machine is how many accelerators a node has.
	Machine int
	// Model is the checkpoint, Bytes the size of its weights, and Gated is set where it takes the
	// token of an account to download it.
	Model string
	Bytes int64
	Gated bool
	// Asks is what the start of the checkpoint takes beside the files; empty for nothing.
	Asks string
	// RDMA is set where caches or activations go over InfiniBand.
	RDMA bool
}

// Gigabytes is the size of the weights.
func (s *Server) Gigabytes() int64 { return (s.Bytes + 999_999_999) / 1_000_000_000 }

// StartTries is how often, every ten seconds, a replica is asked whether it has started: for ten
// minutes, and for as long as its checkpoint takes at 100 MB/s.
func (s *Server) StartTries() int64 { return 60 + s.Gigabytes() }

// PerNode is the number of accelerators of each node.
func (s *Server) PerNode() int { return (s.Accelerators + s.Nodes - 1) / s.Nodes }

// Line returns the command as a line for a POSIX shell.
func (s *Server) Line() (string, error) { return line(s.Command, nil) }

// line returns a command as a line for a POSIX shell, with variables of LeaderWorkerSet replaced
// by what a shell evaluates within double quotes.
func line(command []string, inShell map[string]string) (string, error) {
	words := make([]string, len(command))
	for i, word := range command {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err != nil {
			return "", fmt.Errorf("%q cannot be written for a shell: %w", word, err)
		}
		for variable, value := range inShell {
			if rest, found := strings.CutPrefix(word, variable); found {
				quoted = `"` + value + rest + `"`
			}
		}
		words[i] = quoted
	}
	return strings.Join(words, " "), nil
}

// A replica that spans nodes is a group of pods, which find each other by LeaderWorkerSet's
// variables (https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables).
const (
	leaderAddress = "$(LWS_LEADER_ADDRESS)"
	groupSize     = "$(LWS_GROUP_SIZE)"
	workerIndex   = "$(LWS_WORKER_INDEX)"
)

// Spread sets the commands of the leader and the workers of a replica that spans nodes.
func (s *Server) Spread(engine string, ranks int) error {
	if s.Nodes == 1 {
		return nil
	}
	switch engine {
	case "sglang":
		s.Leader = append(s.Command[:len(s.Command):len(s.Command)],
			"--nnodes", groupSize, "--node-rank", workerIndex, "--dist-init-addr", leaderAddress+
				":20000")
		s.Worker = s.Leader
		return nil
	case "vllm":
		if ranks > 1 {
			return s.spreadRanks(ranks)
		}
		s.Leader = append(s.Command[:len(s.Command):len(s.Command)],
			"--nnodes", groupSize, "--node-rank", workerIndex, "--master-addr", leaderAddress)
		s.headless = "--headless"
		s.Worker = append(s.Leader[:len(s.Leader):len(s.Leader)], s.headless)
		return nil
	}
	return fmt.Errorf("a replica of %d accelerators spans %d nodes, for which %s needs an MPI "+
		"launcher: start it with trtllm-llmapi-launch, or choose vllm or sglang",
		s.Accelerators, s.Nodes, engine)
}

// spreadRanks spreads data-parallel ranks over nodes as vLLM does: each node names the first
// rank that it has (https://docs.vllm.ai/en/v0.15.1/serving/data_parallel_deployment).
func (s *Server) spreadRanks(ranks int) error {
	local := ranks / s.Nodes
	if local*s.Nodes != ranks {
		return fmt.Errorf("%d data-parallel ranks do not spread evenly over %d nodes",
			ranks, s.Nodes)
	}
	leader := append(s.Command[:len(s.Command):len(s.Command)],
		"--data-parallel-size-local", fmt.Sprint(local), "--data-parallel-address", leaderAddress,
		"--data-parallel-rpc-port", "13345")
	s.Leader = leader
	words, err := line(leader, map[string]string{leaderAddress: "$LWS_LEADER_ADDRESS"})
	if err != nil {
		return err
	}
	const first = "--headless --data-parallel-start-rank $((%s * %d))"
	s.headless = fmt.Sprintf(first, "$2", local)
	s.Worker = []string{"/bin/sh", "-c",
		"exec " + words + " " + fmt.Sprintf(first, "LWS_WORKER_INDEX", local)}
	return nil
}

// script returns the commands of start.sh, which start one replica, or on one of its nodes its
// part: then the second argument is the number of the node, and the third the first one's address.
func (s *Server) script() (string, error) {
	if s.Nodes == 1 {
		words, err := s.Line()
		return "\texec " + words, err
	}
	words, err := line(s.Leader, map[string]string{leaderAddress: "$3", workerIndex: "$2",
		groupSize: fmt.Sprint(s.Nodes)})
	text := fmt.Sprintf("\t: \"${2:?give the number of this node, 0 to %d}\" "+
		"\"${3:?give the address of node 0}\"\n", s.Nodes-1)
	if s.headless != "" {
		text += fmt.Sprintf("\t[ \"$2\" = 0 ] || exec %s %s\n", words, s.headless)
	}
	return text + "\texec " + words, err
}
