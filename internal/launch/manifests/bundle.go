package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	outputs "github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/launch/engines"
)

// Bundle is all files that start a fleet.
type Bundle struct {
	// Engine and Version name the engine whose flags the commands use.
	Engine, Version string
	// Name is the Kubernetes objects'.
	Name    string
	Port    int
	Servers []Server
	// Flags is the version whose list of flags the commands are checked against.
	Flags string
	// Notes say what of the scenario the files do not express.
	Notes []string
	// Routing is the scenario's routing policy, Exact how llm-d's picker learns what pods keep (nil
	// where it only knows what it sent to them), and Worker how Dynamo starts the engine.
	Routing string
	Exact   *Exact
	Worker  engines.Dynamo
}

// Lines returns the commands that start the servers, equal ones once.
func (b *Bundle) Lines() ([]string, error) {
	var list []string
	for i := range b.Servers {
		line, err := b.Servers[i].Line()
		if err != nil {
			return nil, err
		}
		if b.transfers(&b.Servers[i]) {
			line = sideChannel + `="$(hostname -i | cut -d" " -f1)" ` + line
		}
		if !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list, nil
}

// sideChannel is the variable of the address by which vLLM's pools reach each other's caches, which
// is localhost where it is not set (docs/features/nixl_connector_usage.md).
const sideChannel = "VLLM_NIXL_SIDE_CHANNEL_HOST"

// transfers reports whether KV caches of a server's replicas come from other ones or go there by
// vLLM's connector.
func (b *Bundle) transfers(s *Server) bool { return b.Engine == "vllm" && s.Role != "mixed" }

// ObjectName returns a name for Kubernetes objects: a DNS label (RFC 1123) that leaves room for
// what is appended.
func ObjectName(model string) string {
	name := strings.ToLower(filepath.Base(model))
	name = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name, "-")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	if name == "" {
		return "llm"
	}
	return name
}

// CheckFolder returns an error unless path is free or an empty folder, so that no file is
// overwritten, and files of two fleets are not mixed.
func CheckFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s is no folder that can be written into: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("%s has files already, such as %s; name a new folder", dir,
			entries[0].Name())
	}
	return nil
}

// Write writes the bundle into a folder, which CheckFolder allows: start.sh with the commands,
// kubernetes.yaml, compose.yaml where one machine has
// room, llm-d.yaml for vLLM, dynamo.yaml where Dynamo can start such a fleet, the
// configuration files of TensorRT-LLM, and NOTES.md, which says what the files leave out.
func (b *Bundle) Write(dir string) error {
	if err := CheckFolder(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	script, err := b.Script()
	if err != nil {
		return err
	}
	manifests, err := b.Manifests()
	if err != nil {
		return err
	}
	gateway, err := b.LLMD()
	if err != nil {
		return err
	}
	graph, without, err := b.Dynamo()
	if err != nil {
		return err
	}
	compose, err := b.Compose()
	if err != nil {
		return err
	}
	texts := map[string]string{"start.sh": script, "kubernetes.yaml": manifests,
		"NOTES.md": b.notes(without)}
	if compose != "" {
		texts["compose.yaml"] = compose
	}
	if gateway != "" {
		texts["llm-d.yaml"] = gateway
	}
	if graph != "" {
		texts["dynamo.yaml"] = graph
	}
	for i := range b.Servers {
		if server := &b.Servers[i]; server.Config != "" {
			texts[server.ConfigFile] = server.Config
		}
	}
	for name, text := range texts {
		mode := os.FileMode(0o666)
		if name == "start.sh" {
			mode = 0o777
		}
		if err := outputs.WriteBytes(filepath.Join(dir, name), []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// Script returns a shell script that starts one replica of the group that its first argument names.
func (b *Bundle) Script() (string, error) {
	var s strings.Builder
	fmt.Fprintf(&s, "#!/bin/sh\n# Starts one replica under %s %s. The argument names the group: "+
		"%s.\n", b.Engine, b.Version, strings.Join(b.groupNames(), ", "))
	if last := b.mostNodes() - 1; last > 0 {
		fmt.Fprintf(&s, "# Where a replica spans nodes, run this on each of them: ./start.sh "+
			"GROUP NODE ADDRESS, with\n# NODE 0 to %d, and the address of node 0.\n", last)
	}
	s.WriteString("set -eu\n")
	if b.Servers[0].Config != "" {
		s.WriteString("cd \"$(dirname \"$0\")\" # where its configuration is\n")
	}
	fmt.Fprintf(&s, "case \"${1:-%s}\" in\n", b.Servers[0].Name)
	for i := range b.Servers {
		commands, err := b.Servers[i].script()
		if err != nil {
			return "", err
		}
		if b.transfers(&b.Servers[i]) {
			commands = fmt.Sprintf("\texport %s=\"${%[1]s:-$(hostname -i | cut -d' ' -f1)}\"\n%s",
				sideChannel, commands)
		}
		fmt.Fprintf(&s, "%s) # replicas: %d, accelerators of each: %d, image: %s\n%s ;;\n",
			b.Servers[i].Name, b.Servers[i].Replicas, b.Servers[i].Accelerators,
			b.Servers[i].Image, commands)
	}
	s.WriteString("*)\n\techo \"unknown group: $1\" >&2\n\texit 2 ;;\nesac\n")
	return s.String(), nil
}

// mostNodes returns the most nodes that a replica spans.
func (b *Bundle) mostNodes() int {
	most := 1
	for i := range b.Servers {
		most = max(most, b.Servers[i].Nodes)
	}
	return most
}

func (b *Bundle) groupNames() []string {
	var names []string
	for i := range b.Servers {
		names = append(names, b.Servers[i].Name)
	}
	return names
}
