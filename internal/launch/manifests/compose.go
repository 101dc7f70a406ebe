package manifests

import (
	"fmt"
	"strconv"
	"strings"
)

// service is a replica of a group in a file of Docker Compose.
type service struct {
	Server *Server
	Name   string
	// List and Devices are the accelerators of the machine that it has.
	List    []string
	Devices string
	// Ports are the one of the machine and the one of the engine.
	Ports  string
	Health string
	// Start is how long it may take to start, in seconds.
	Start int64
}

// Compose returns a file of Docker Compose that starts the fleet on one machine; empty where one
// has no room for it, where prefill and decode stand apart, which need a proxy, and for
// accelerators that Docker does not hand to containers.
func (b *Bundle) Compose() (string, error) {
	var list []service
	used := 0
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.Role != "mixed" || s.Nodes > 1 || s.Imageless ||
			s.Resource != "nvidia.com/gpu" && s.Resource != "amd.com/gpu" ||
			used+s.Replicas*s.Accelerators > s.Machine {
			return "", nil
		}
		for n := range s.Replicas {
			one := service{Server: s, Name: s.Name, Start: 10 * s.StartTries(),
				Ports: fmt.Sprintf("%d:%d", b.Port+len(list), s.Port),
				Health: fmt.Sprintf("import urllib.request as u; "+
					"u.urlopen('http://localhost:%d/health', timeout=4)", s.Port)}
			if s.Replicas > 1 {
				one.Name = fmt.Sprintf("%s-%d", s.Name, n+1)
			}
			for range s.Accelerators {
				one.List = append(one.List, strconv.Itoa(used))
				used++
			}
			one.Devices = strings.Join(one.List, ",")
			list = append(list, one)
		}
	}
	all, err := parsed()
	if err != nil {
		return "", err
	}
	var configs []*Server
	for i := range b.Servers {
		if b.Servers[i].Config != "" {
			configs = append(configs, &b.Servers[i])
		}
	}
	var out strings.Builder
	err = all.ExecuteTemplate(&out, "compose.yaml", struct {
		*Bundle
		Services []service
		Configs  []*Server
	}{b, list, configs})
	return out.String(), err
}
