package models

import (
	_ "embed"
	"errors"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
)

//go:embed heads.csv
var headTable string

// Head is a published drafter of a model whose acceptance was measured. See heads.csv.
type Head struct {
	Name   string `csv:"head"`
	Model  string `csv:"model"`
	Method string `csv:"method"`
	// Vocabulary is the number of tokens of its own output head; 0 where it has the model's.
	Vocabulary int `csv:"vocabulary,optional"`
	// Rates are acceptance rates by position, "0.71 0.67", and Lengths mean numbers of tokens of a
	// step by the number of drafted ones, "1:1.78 2:2.38". One of both is empty.
	Rates   string `csv:"rates,optional"`
	Lengths string `csv:"lengths,optional"`
	// Texts says what was written in the measurement, and Source who published it.
	Texts  string `csv:"texts"`
	Source string `csv:"source"`
}

// Heads returns the drafters whose acceptance is published. They are shared: do not change them.
func Heads() []Head { return readHeads() }

// readHeads reads the table once: it never changes.
var readHeads = sync.OnceValue(func() []Head {
	return files.MustReadTable[Head]("heads.csv", headTable)
})

// FindHead returns a drafter by its name, or an error that names the nearest.
func FindHead(name string) (*Head, error) {
	var names []string
	for i := range Heads() {
		h := &Heads()[i]
		if strings.EqualFold(h.Name, name) {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return nil, errors.New(nearest.Unknown("head", name, names))
}

// HeadsOf returns the names of the drafters of a model, of a method or for "" of any.
func HeadsOf(model, method string) (names []string) {
	for _, h := range Heads() {
		if h.Model == model && (method == "" || h.Method == method) {
			names = append(names, h.Name)
		}
	}
	return names
}
