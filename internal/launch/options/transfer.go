package options

import "encoding/json"

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
			Bytes float64 `json:"cpu_bytes_to_use"`
		} `json:"kv_connector_extra_config"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", leftOut("it is not JSON: " + err.Error())
	}
	switch size := config.Extra.Bytes; {
	case config.Connector == "OffloadingConnector" && size >= 1 && size <= 1e18:
		return hostMemory + Amount(size), nil
	case config.Connector == "OffloadingConnector":
		return "", leftOut("its cpu_bytes_to_use is memory.cpu, with memory.policy vllm-offload")
	case config.Connector == "LMCacheConnectorV1", config.Connector == "LMCacheMPConnector":
		return hostMemory, nil
	}
	return transferRole(config.Role)
}

// transferRole reads the role alone. Any other connector leads to some pool.
func transferRole(name string) (string, error) {
	switch name {
	case "kv_producer":
		return "prefill", nil
	case "kv_consumer":
		return "decode", nil
	}
	return "mixed", nil
}
