package main

import (
	"os"
	"strings"
	"testing"
)

// The page on embedding shows this program, and what it prints.
func TestPageShowsTheProgram(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), string(program)) {
		t.Error("docs/embedding.md shows another program than main.go")
	}
}

// The program runs.
func TestProgramRuns(*testing.T) { main() }
