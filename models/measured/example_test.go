package measured_test

import (
	"fmt"
	"log"
	"testing/fstest"

	"github.com/llmsim/llmsim/models/measured"
)

// Select finds the tables of an accelerator in a folder, and Each reads their rows.
func ExampleSelect() {
	folder := fstest.MapFS{"h100-sxm__gemm.csv": {Data: []byte(
		"framework,gemm_dtype,m,n,k,latency\nVLLM,bfloat16,16,4096,8192,0.025\n" +
			"VLLM,bfloat16,64,4096,8192,0.027\n")}}
	tables, err := measured.Select(folder, measured.Wanted{Accelerator: []string{"h100-sxm"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, table := range tables {
		rows := 0
		err := table.Each(folder, func(*measured.Row) { rows++ })
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(table.Name, rows)
	}
	// Output: gemm 2
}
