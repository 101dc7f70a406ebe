package manifests

import (
	"fmt"
)

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
