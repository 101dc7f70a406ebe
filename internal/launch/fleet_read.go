package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// mostPools bounds the commands of a fleet, of which a large one has some ten.
const mostPools = 100

// fleetOf returns the fleet that commands start.
func fleetOf(commands []command, file files) (*Reading, error) {
	found := heads(starting(commands))
	if len(found) == 0 {
		return nil, errors.New(
			"found no command that starts an engine; known are vllm serve, python -m " +
				"sglang.launch_server, trtllm-serve and the workers of Dynamo")
	}
	if len(found) > mostPools {
		return nil, fmt.Errorf("found %d commands that start an engine; a fleet has at most %d",
			len(found), mostPools)
	}
	behind := proxied(commands, file)
	var members []member
	for _, s := range found {
		m, err := s.member(file, behind)
		if err != nil && len(found) > 1 {
			err = fmt.Errorf("%s: %w", s.title(), err)
		}
		if err != nil {
			return nil, err
		}
		if twin := slices.IndexFunc(members, m.isTwin); twin >= 0 {
			members[twin].replicas += m.replicas
			continue
		}
		members = append(members, m)
	}
	r, err := joined(members)
	if err == nil {
		r.route(commands)
	}
	return r, err
}

// joined returns the fleet of all members.
func joined(members []member) (*Reading, error) {
	if len(members) == 1 {
		return members[0].alone()
	}
	if err := disagree(members); err != nil {
		return nil, err
	}
	return together(members)
}

// route takes over what a frontend of Dynamo says of routing.
func (r *Reading) route(commands []command) {
	for _, c := range commands {
		words := bare(c.words)
		if len(words) < 3 || !isPython(words[0]) || words[2] != "dynamo.frontend" {
			continue
		}
		for _, mode := range valuesOf(words, "--router-mode") {
			switch policy, err := routingOf(mode), closed(mode); {
			case err != nil:
				r.Notes = append(r.Notes, "--router-mode: "+err.Error())
			case policy == "":
				r.Notes = append(r.Notes, "--router-mode "+mode+" is no routing policy")
			default:
				r.setRouting(policy)
			}
		}
	}
}

// setRouting sets the routing policy, but for the one that is the default.
func (r *Reading) setRouting(policy string) {
	if policy != "round-robin" {
		r.Settings = append(r.Settings, "routing="+policy)
		slices.Sort(r.Settings)
	}
}

// title names a command for people.
func (s *started) title() string {
	words := []string{s.engine.name}
	for i, word := range s.words[:min(2, len(s.words))] {
		if words = append(words, word); i == 0 && !strings.HasPrefix(word, "-") {
			break // the model
		}
	}
	if s.name != "" {
		words = append(words, "("+s.name+")")
	}
	return strings.Join(words, " ")
}

// member reads a command. The last argument has the roles of engines by their ports.
func (s started) member(file files, behind map[string]string) (member, error) {
	r, err := s.read(file.or(s.mounted...))
	if err != nil {
		return member{}, err
	}
	m := member{started: s, reading: r}
	if s.stopped && s.scaler == nil {
		r.note("replicas: 0 is read as one replica, as if it ran")
	}
	if s.looped {
		m.note("the command stands in a loop, and is read as one replica: set replicas")
	}
	if nodes := s.nodes(); s.ofPods && s.replicas%nodes == 0 {
		s.replicas /= nodes
	}
	m.replicas = max(1, s.replicas) * min(r.number("replicas", 1), mostReplicas)
	delete(r.values, "replicas")
	var proxied string
	for _, port := range valuesOf(s.words, "--port") {
		proxied = behind[port]
	}
	said, own := phase(s.role), phase(r.values["pool"])
	m.role = cmp.Or(said, own, proxied, s.role)
	if said != "" && own != "" && said != own {
		r.note("its flags say %s, and what stands around them %s, as which it is read", own, said)
	}
	return m, nil
}

// nodes returns the number of nodes that a command says its replica spans; 1 where it says none.
func (s *started) nodes() int {
	for _, value := range valuesOf(s.words, "--nnodes") {
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// phase returns a role that is one of the two phases, and nothing for another.
func phase(role string) string {
	if role == "prefill" || role == "decode" {
		return role
	}
	return ""
}

// isTwin reports whether another command of a script starts a further replica of the same pool.
func (m *member) isTwin(other member) bool {
	return m.name == "" && other.name == "" && m.role != "" && m.role == other.role &&
		m.engine.name == other.engine.name && maps.Equal(m.values, other.values)
}

// alone returns a fleet of replicas that are all alike.
func (m *member) alone() (*Reading, error) {
	if m.values["pool"] != "" {
		m.note("%s: a scenario has pools for prefill and decode (fleet.pools), and this command "+
			"is one of them: give those of both together", m.poolFlag)
	}
	delete(m.values, "pool")
	switch scaling := m.scaled(); {
	case len(scaling) > 0:
		var pool section
		pool.set("replicas", strconv.Itoa(m.replicas))
		pool.nest("scaling", scaling)
		text, err := flow([]section{pool})
		if err != nil {
			return nil, err
		}
		m.set("fleet.pools", text)
	case m.replicas > 1:
		m.set("replicas", strconv.Itoa(m.replicas))
	}
	return &Reading{m.engine.name, settings(m.values), m.flags, m.notes}, nil
}

// scaled returns how the replicas are started and stopped, empty where all run always. It sets how
// many there are at most.
func (m *member) scaled() section {
	if m.scaler == nil {
		return nil
	}
	scaling, most, notes := m.engine.readScaler(m.scaler, m.replicas/max(1, m.place.replicas))
	m.replicas, m.notes = most, append(m.notes, notes...)
	return scaling
}

// settings returns overrides of a scenario in the order of their keys.
func settings(values map[string]string) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, key+"="+values[key])
	}
	return list
}
