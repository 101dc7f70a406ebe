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
