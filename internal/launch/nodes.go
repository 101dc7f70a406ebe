package launch

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A replica that spans nodes is a group of pods, which find each other by LeaderWorkerSet's
// variables (https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables).
const (
	leaderAddress = "$(LWS_LEADER_ADDRESS)"
	groupSize     = "$(LWS_GROUP_SIZE)"
	workerIndex   = "$(LWS_WORKER_INDEX)"
)

// spread sets the commands of the leader and the workers of a replica that spans nodes.
func (e *engine) spread(s *Server, d *deployed) error {
	if s.Nodes == 1 {
		return nil
	}
	switch e.name {
	case "sglang":
		s.Leader = append(s.Command[:len(s.Command):len(s.Command)],
			"--nnodes", groupSize, "--node-rank", workerIndex, "--dist-init-addr", leaderAddress+
				":20000")
		s.Worker = s.Leader
		return nil
	case "vllm":
		if d.parallelism.Data > 1 {
			return spreadDataParallel(s, d)
		}
		s.Leader = append(s.Command[:len(s.Command):len(s.Command)],
			"--nnodes", groupSize, "--node-rank", workerIndex, "--master-addr", leaderAddress)
		s.Worker = append(s.Leader[:len(s.Leader):len(s.Leader)], "--headless")
		return nil
	}
	return fmt.Errorf("a replica of %d accelerators spans %d nodes, for which %s needs an MPI "+
		"launcher: start it with trtllm-llmapi-launch, or choose vllm or sglang",
		s.Accelerators, s.Nodes, e.name)
}

// spreadDataParallel spreads data-parallel ranks over nodes as vLLM does: each node names the first
// rank that it has (https://docs.vllm.ai/en/v0.15.1/serving/data_parallel_deployment).
func spreadDataParallel(s *Server, d *deployed) error {
	local := d.parallelism.Data / s.Nodes
	if local*s.Nodes != d.parallelism.Data {
		return fmt.Errorf("%d data-parallel ranks do not spread evenly over %d nodes",
			d.parallelism.Data, s.Nodes)
	}
	leader := append(s.Command[:len(s.Command):len(s.Command)],
		"--data-parallel-size-local", fmt.Sprint(local), "--data-parallel-address", leaderAddress,
		"--data-parallel-rpc-port", "13345")
	s.Leader = leader
	words := make([]string, len(leader))
	for i, word := range leader {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err != nil {
			return fmt.Errorf("%q cannot be written for a shell: %w", word, err)
		}
		if word == leaderAddress {
			quoted = `"$LWS_LEADER_ADDRESS"`
		}
		words[i] = quoted
	}
	s.Worker = []string{"/bin/sh", "-c",
		fmt.Sprintf("exec %s --headless --data-parallel-start-rank $((LWS_WORKER_INDEX * %d))",
			strings.Join(words, " "), local)}
	return nil
}
