package models_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// What a model needs follows from its architecture: parameters, bytes of weights, bytes of KV
// cache.
func Example() {
	catalog, err := models.Load()
	if err != nil {
		log.Fatal(err)
	}
	m, err := catalog.Lookup("llama-3.1-8b")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f billion parameters, %.1f GB in bf16, %d bytes of KV cache a token\n",
		float64(m.Parameters().Total())/1e9, float64(m.WeightBytes(hardware.BF16))/1e9,
		m.KVBytesPerToken(hardware.BF16))
	// Output: 8.03 billion parameters, 16.1 GB in bf16, 131072 bytes of KV cache a token
}
