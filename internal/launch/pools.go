package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/internal/launch/options"
)

// notOneFleet returns why commands are not the pools of one fleet, nil where they are.
func notOneFleet(members []member) error {
	var titles, unclear []string
	engines := map[string]bool{}
	for i := range members {
		m := &members[i]
		titles, engines[m.engine.Name] = append(titles, m.title()), true
		if m.role == "" && !slices.Contains(unclear, m.title()) {
			unclear = append(unclear, m.title())
		}
	}
	why := ""
	switch {
	case len(unclear) > 0:
		why = fmt.Sprintf("nothing says whether %s is for prefill or for decode, as SGLang's "+
			"--disaggregation-mode does, TensorRT-LLM's --server_role, the kv_role of vLLM's "+
			"--kv-transfer-config, a label llm-d.ai/role, or a proxy with its port",
			strings.Join(unclear, " or "))
	case len(engines) > 1:
		why = "their engines differ"
	default:
		return nil
	}
	return fmt.Errorf("found %d commands that start an engine: %s; give one of them, or those of "+
		"prefill and decode pools: %s", len(members), strings.Join(titles, ", "), why)
}

// joinPools returns a fleet of pools. What all pools agree in stands at the top of the scenario,
// and the rest in each.
func joinPools(members []member) (*Reading, error) {
	var list []section
	roles := map[string]int{}
	var lost []string
	var asks []options.Ask
	for i := range members {
		delete(members[i].Terms, "pool")
		lost = append(lost, members[i].Ignored...)
		roles[members[i].role]++
	}
	common, own := agreed(members)
	for i := range members {
		drafter := "speculation"
		if slices.Contains(own, drafter) {
			drafter = fmt.Sprintf("fleet.pools.%d.speculation", i)
		}
		asks = append(asks, members[i].questions(drafter)...)
	}
	for i := range members {
		m := &members[i]
		scaling := m.scaled()
		var pool section
		if roles[m.role] > 1 { // names are unique
			pool.name("name", fmt.Sprintf("%s-%d", m.role, i))
		}
		pool.set("role", m.role)
		pool.set("replicas", strconv.Itoa(m.replicas))
		for _, name := range own {
			m.put(&pool, name)
		}
		pool.nest("scaling", scaling)
		list = append(list, pool)
	}
	text, err := flow(list)
	if err != nil {
		return nil, err
	}
	common["fleet.pools"] = text
	return &Reading{Engine: members[0].engine.Name, Settings: settings(common),
		Notes: notesOf(members), Ignored: lost, asks: asks}, nil
}

// agreed returns the values of sections that are the same in all pools, and the names of the other
// sections.
func agreed(members []member) (common map[string]string, own []string) {
	common = map[string]string{}
	names := map[string]bool{}
	for i := range members {
		for key := range members[i].Terms {
			name, _, _ := strings.Cut(key, ".")
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		first := members[0].section(name)
		if slices.ContainsFunc(members, func(m member) bool {
			return !maps.Equal(m.section(name), first)
		}) {
			own = append(own, name)
			continue
		}
		maps.Copy(common, first)
	}
	return common, own
}

// section returns the values of a section by their keys.
func (m *member) section(name string) map[string]string {
	list := map[string]string{}
	for key, value := range m.Terms {
		if key == name || strings.HasPrefix(key, name+".") {
			list[key] = value
		}
	}
	return list
}

// put appends a section of its own to a pool.
func (m *member) put(pool *section, name string) {
	values := m.section(name)
	if value, single := values[name]; single {
		pool.name(name, value)
		return
	}
	var inner section
	for _, key := range slices.Sorted(maps.Keys(values)) {
		inner.set(strings.TrimPrefix(key, name+"."), values[key])
	}
	pool.nest(name, inner)
}

// notesOf returns what the readings of pools leave out: what all leave out once, and the rest with
// the name of its pool.
func notesOf(members []member) (list []string) {
	for i := range members {
		m := &members[i]
		for _, note := range m.Notes {
			if slices.ContainsFunc(members, func(other member) bool {
				return !slices.Contains(other.Notes, note)
			}) {
				note = m.role + ": " + note
			}
			if !slices.Contains(list, note) {
				list = append(list, note)
			}
		}
	}
	return list
}

// section is a mapping of a scenario, on one line: its keys and values in turn.
type section []*yaml.Node

// set appends a key with a value that is written as it is, but where YAML asks for quotes.
func (s *section) set(key, value string) {
	s.add(key, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
}

// name appends a key with a value that is text whatever it looks like.
func (s *section) name(key, value string) {
	s.add(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
}

// nest appends a key with a section, unless that is empty.
func (s *section) nest(key string, inner section) {
	if len(inner) > 0 {
		s.add(key, inner.node())
	}
}

func (s *section) add(key string, value *yaml.Node) {
	*s = append(*s, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

func (s section) node() *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: s}
}

// flow returns sections as a list on one line.
func flow(list []section) (string, error) {
	all := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		all.Content = append(all.Content, s.node())
	}
	text, err := yaml.Marshal(all)
	return strings.TrimSpace(string(text)), err
}
