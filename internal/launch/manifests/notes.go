package manifests

import (
	"fmt"
	"slices"
	"strings"
)

// asked lists what a cluster alone knows, and the files take for granted.
func (b *Bundle) asked() (list []string) {
	ask := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.Imageless {
			ask("image of %s: no image of %s %s for these accelerators is known; put yours in the "+
				"place of %s", s.Name, b.Engine, b.Version, s.Image)
		}
		if s.Gated {
			ask("token: %s is gated. Its publisher must have let your account in; then kubectl "+
				"create secret generic hf-token --from-literal=token=TOKEN, or HF_TOKEN for "+
				"compose.yaml and start.sh", s.Model)
		}
		if s.Asks != "" {
			ask("start of %s", s.Asks)
		}
		switch {
		case s.Label == "":
			ask("nodes of %s: nothing is known that labels nodes with these accelerators; add a "+
				"nodeSelector if the cluster has others of %s", s.Name, s.Resource)
		case s.Product == "":
			ask("nodes of %s: which value of %s its nodes have; add it as a nodeSelector if the "+
				"cluster has others of %s", s.Name, s.Label, s.Resource)
		default:
			ask("nodes of %s: that they are labelled %s=%s, as the vendor's labeller does", s.Name,
				s.Label, s.Product)
		}
		if s.Pool != "" {
			ask("nodes of %s: they are for the pool %s of the scenario; where they are others "+
				"than those of further pools, as spot nodes are, add their label as a "+
				"nodeSelector and tolerate their taints", s.Name, s.Pool)
		}
		if s.Resource == "google.com/tpu" {
			ask("nodes of %s: cloud.google.com/gke-tpu-topology, the shape of the slice", s.Name)
		}
		if s.RDMA {
			ask("RDMA: under which name your device plugin counts InfiniBand; the files have "+
				"rdma/ib, and one for each pod of %s", s.Name)
		}
		if s.Autoscaler != nil {
			ask("autoscaler: an adapter that serves the engine's metrics as " +
				"custom.metrics.k8s.io, such as prometheus-adapter")
		}
		if s.Nodes > 1 {
			ask("replicas over nodes: the controller of LeaderWorkerSet, and nodes that share " +
				"the network that was simulated")
		}
	}
	ask("storage: a class for the claim %s of %d GiB that allows %s; the cluster's default is "+
		"taken", b.Claim(), b.Storage(), b.Access())
	ask("longest answer: %d s. Replicas that end answer what they have for as long (preStop); "+
		"raise it where yours take longer", drain)
	return list
}

// notes returns the text of NOTES.md. The argument says why there is no manifest for Dynamo; it is
// empty where there is one.
func (b *Bundle) notes(withoutDynamo string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "# %s under %s %s\n\nBefore you apply these files, see to what they cannot "+
		"know:\n\n", b.Name, b.Engine, b.Version)
	for _, item := range b.asked() {
		fmt.Fprintf(&s, "- %s\n", item)
	}
	fmt.Fprintf(&s, "\nThe flags are checked against the list of %s %s; other versions may name "+
		"them differently.\n", b.Engine, b.Flags)
	if most := b.mostNodes(); most > 1 {
		fmt.Fprintf(&s, "\nReplicas span up to %d nodes. start.sh runs on each of these: its "+
			"second argument is the number of the\nnode, from 0, and its third the address of "+
			"node 0, such as ./start.sh %s 1 10.0.0.1.\n", most, b.Servers[0].Name)
	}
	if len(b.Notes) > 0 {
		s.WriteString("\nThe files do not express:\n\n")
	}
	for _, note := range b.Notes {
		fmt.Fprintf(&s, "- %s\n", note)
	}
	if withoutDynamo != "" {
		fmt.Fprintf(&s, "\nThere is no dynamo.yaml: %s.\n", withoutDynamo)
		return s.String()
	}
	s.WriteString("\ndynamo.yaml takes the place of kubernetes.yaml where NVIDIA Dynamo is " +
		"installed. What holds for it alone:\n\n")
	for _, note := range b.notesOnDynamo() {
		fmt.Fprintf(&s, "- %s\n", note)
	}
	return s.String()
}
