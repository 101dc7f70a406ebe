package main

import "fmt"

// Mutants changes one operator, constant, condition or statement at a time.
func Example_mutants() {
	all, err := mutants("p.go", []byte(`package p

func Within(n int) bool { return n >= 0 && n < 8 }
`))
	if err != nil {
		fmt.Println(err)
	}
	for _, m := range all {
		fmt.Printf("line %d: %s → %s\n", m.line, m.was, m.text)
	}
	// Output:
	// line 3: && → ||
	// line 3: >= → >
	// line 3: 0 → 1
	// line 3: < → <=
	// line 3: 8 → 9
}
