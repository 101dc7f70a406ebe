package trace_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"testing/fstest"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// A recorded workload is read one request at a time, here at twice its speed.
func ExampleOpen() {
	folder := fstest.MapFS{"day.csv": {Data: []byte(
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0,374,44\n2023-11-16 " +
			"18:15:50.0,396,109\n")}}
	recorded, err := trace.Open("day.csv", trace.Options{FS: folder, Speed: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer recorded.Close()
	for {
		var q sim.Request
		if err := recorded.Read(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v: %d tokens, answered with %d\n", q.Arrival, q.Prompt, q.Output)
	}
	// Output:
	// 0s: 374 tokens, answered with 44
	// 2s: 396 tokens, answered with 109
}
