package launch

import (
	"path"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
)

// valuesOf returns the values of an option among words: those joined to it by an equals sign, or up
// to the next option.
func valuesOf(words []string, names ...string) (list []string) {
	for i, word := range words {
		word, value, joined := strings.Cut(word, "=")
		for _, name := range names {
			switch {
			case word != name:
			case joined:
				list = append(list, value)
			default:
				for _, next := range words[i+1:] {
					if strings.HasPrefix(next, "-") {
						break
					}
					list = append(list, next)
				}
			}
		}
	}
	return list
}

// mostProxies bounds the configurations of proxies that are read: a fleet has one or two.
const mostProxies = 10

// proxied returns the roles that proxies give to the engines behind them, by the ports of these: as
// vLLM's examples do (docs/features/nixl_connector_usage.md, examples/online_serving/
// disaggregated_serving), and trtllm-serve disaggregated (examples/disaggregated). A port that
// different machines have in different roles says nothing.
func proxied(list []commands.Command, file files) map[string]string {
	roles := map[string]string{}
	note := func(role string, addresses []string) {
		for _, address := range addresses {
			port := address[strings.LastIndex(address, ":")+1:]
			if before, is := roles[port]; is && before != role {
				role = ""
			}
			roles[port] = role
		}
	}
	opened := 0
	for _, c := range list {
		words := withoutPrefix(c.Words)
		note("prefill", valuesOf(words, "--prefiller-ports", "--prefiller-port", "--prefill"))
		note("decode", valuesOf(words, "--decoder-ports", "--decoder-port", "--decode"))
		if len(words) < 2 || words[1] != "disaggregated" ||
			commands.Base(words[0]) != "trtllm-serve" {
			continue
		}
		for _, name := range valuesOf(words, "-c", "--config_file") {
			if opened++; opened > mostProxies {
				return roles
			}
			config := disaggregated(name, file.or(c.Mounted...))
			note("prefill", config.Context.URLs)
			note("decode", config.Generation.URLs)
		}
	}
	return roles
}

// trtllmServers is the file in which trtllm-serve disaggregated finds the engines behind it.
type trtllmServers struct {
	Context    struct{ URLs []string } `yaml:"context_servers"`
	Generation struct{ URLs []string } `yaml:"generation_servers"`
}

// disaggregated returns the file of that name, empty where it is not at hand or no such file.
func disaggregated(name string, file files) (config trtllmServers) {
	text, found := file(path.Base(name))
	if !found || commands.Unmarshal(text, &config) != nil {
		return trtllmServers{}
	}
	return config
}

// heads returns the commands without the ones that start further parts of a replica on other nodes,
// unless there are no others.
func heads(found []started) []started {
	var list []started
	for _, s := range found {
		ranks := valuesOf(s.words, "--node-rank", "--node_rank", "--data-parallel-rank", "-dpn",
			"--data-parallel-start-rank", "-dpr")
		part := len(ranks) > 0 && ranks[0] != "0" && !strings.Contains(ranks[0], "$") &&
			commands.Closed(ranks[0]) == nil
		for _, word := range s.words {
			part = part || word == "--headless"
		}
		if !part {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return found
	}
	return list
}
