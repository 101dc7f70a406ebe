package main

import (
	"errors"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"

	"github.com/spf13/cobra"
)

// choiceFlag is a flag that takes one of a few words. It implements pflag.Value.
type choiceFlag struct {
	to      *string
	allowed []string
}

// choice returns a flag that stores into to, the first word being the default.
func choice(to *string, allowed ...string) *choiceFlag {
	*to = allowed[0]
	return &choiceFlag{to, allowed}
}

func (c *choiceFlag) String() string { return *c.to }

func (c *choiceFlag) Type() string { return "word" }

// Set stores a word, or refuses it.
func (c *choiceFlag) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		known := slices.DeleteFunc(slices.Clone(c.allowed), func(w string) bool { return w == "" })
		return errors.New(nearest.Unknown("word", word, known))
	}
	*c.to = word
	return nil
}

// oneOf refuses a first argument that is not one of a few words.
func oneOf(allowed ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if !slices.Contains(allowed, args[0]) {
			return errors.New(nearest.Unknown("list", args[0], allowed))
		}
		return nil
	}
}
