package options

import (
	"encoding/json"
	"strings"
)

// hostMemory begins what a connector to host memory is read as; its size follows, if LMCache does
// not have it elsewhere.
const hostMemory = "host memory "

// transfer reads what a replica does with the KV caches of others: it makes them in a prefill pool,
// and takes them over in a decode pool. Connectors to host memory do not lead to a pool: they are
// read as --kv-offloading-backend and --kv-offloading-size, which set them.
func transfer(text string) (string, error) {
	var config struct {
		Connector string `json:"kv_connector"`
		Role      string `json:"kv_role"`
		Extra     struct {
			Bytes      float64          `json:"cpu_bytes_to_use"`
			Connectors []map[string]any `json:"connectors"`
		} `json:"kv_connector_extra_config"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", leftOut("it is not JSON: " + err.Error())
	}
	switch size := config.Extra.Bytes; {
	case config.Connector == "OffloadingConnector" && size >= 1 && size <= 1e18:
		return hostMemory + Amount(size), nil
	case config.Connector == "OffloadingConnector":
		return "", Ask{[]string{"memory.cpu"}, "its cpu_bytes_to_use is memory.cpu, which has " +
			"to be set, with memory.policy=vllm-offload"}
	case strings.HasPrefix(config.Connector, "LMCache") && config.Role != "kv_producer" &&
		config.Role != "kv_consumer":
		return hostMemory, nil
	}
	var other error
	for _, inner := range config.Extra.Connectors { // of a MultiConnector
		name, _ := inner["kv_connector"].(string)
		role, _ := inner["kv_role"].(string)
		if name == "OffloadingConnector" || strings.HasPrefix(name, "LMCache") {
			other = Ask{[]string{"memory.cpu"}, name + " beside others: what it keeps in host " +
				"memory is memory.cpu, which has to be set, with memory.policy=vllm-offload"}
		} else if config.Role == "kv_both" {
			config.Role = role
		}
	}
	// Any other connector leads to some pool.
	switch config.Role {
	case "kv_producer":
		return "prefill", other
	case "kv_consumer":
		return "decode", other
	}
	return "mixed", other
}
