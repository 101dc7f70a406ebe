package reuse_test

import (
	"fmt"
	"testing/fstest"

	"github.com/llmsim/llmsim/workload/reuse"
	"github.com/llmsim/llmsim/workload/trace"
)

// A cache of two blocks finds the text that comes again at once, and a larger one the first text
// too.
func Example() {
	const line = `{"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [%d, %d]}`
	text := ""
	for _, first := range []int{1, 3, 3, 1} {
		text += fmt.Sprintf(line+"\n", first, first+1)
	}
	files := fstest.MapFS{"trace.jsonl": {Data: []byte(text)}}
	c, err := reuse.Read("trace.jsonl", trace.Options{FS: files})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Found(2), c.Found(4), "of", c.Blocks, "blocks; at most", c.Bound(2), c.Bound(4))
	// Output: 2 4 of 8 blocks; at most 2 4
}
