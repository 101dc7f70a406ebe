package strict_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/internal/strict"
)

// Tags say what a key may hold; what is wrong is told by file, line and key, with the nearest name.
func ExampleDocument_Decode() {
	type server struct {
		Model string  `json:"model" required:"true"`
		Share float64 `json:"share,omitempty" above:"0" max:"1"`
	}
	document, err := strict.Parse("server.yaml", []byte("modle: gpt2\nshare: 1.5\n"))
	if err != nil {
		log.Fatal(err)
	}
	var s server
	fmt.Println(document.Decode(&s))
	// Output:
	// server.yaml:1: unknown key "modle"; did you mean model?
	// server.yaml:2: share: found 1.5; must be at most 1
	// server.yaml:1: model: must be given
}
