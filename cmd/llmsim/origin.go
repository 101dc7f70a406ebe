package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
)

// varied returns a function that runs a command, whose errors about keys that --vary sets name
// --vary in place of --set.
func varied(vary *[]string,
	run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return located(run(cmd, args), func(p strict.Problem) strict.Problem {
			key, found := strings.CutPrefix(p.Where, "--set ")
			if !found || !slices.ContainsFunc(*vary, sets(key)) {
				return p
			}
			return at(p, "--vary "+key, key)
		})
	}
}

// commanded has an error about a command of --from name the flags of the command, unless --set
// overrides what they say, and how to give what no command says.
func commanded(err error, command *launch.Reading, set []string) error {
	return located(err, func(p strict.Problem) strict.Problem {
		key, found := strings.CutPrefix(p.Where, "--set ")
		switch flag := command.Flags[key]; {
		case found && flag != "" && !slices.ContainsFunc(set, sets(key)):
			return at(p, "--from: "+flag, key)
		case found && !slices.ContainsFunc(set, sets(key)):
			p.Where = "--from: " + key
			p.Path = strings.TrimPrefix(strings.TrimPrefix(p.Path, key), ".")
		case strings.HasPrefix(p.Where, "--from"):
			p.Where = "--from"
			if p.Message == "must be given" {
				p.Message += ": add --set " + p.Path + "=NAME"
			}
		}
		return p
	})
}

// located returns an error with all problems of the input changed by a function, and any other
// error as it is.
func located(err error, change func(strict.Problem) strict.Problem) error {
	var found strict.Problems
	var one strict.Problem
	switch {
	case !scenarios.IsInputError(err):
		return err
	case errors.As(err, &one):
		return scenarios.BadInput(change(one))
	case !errors.As(err, &found):
		return err
	}
	list := make(strict.Problems, len(found))
	for i, p := range found {
		list[i] = change(p)
	}
	return scenarios.BadInput(list)
}

// at returns a problem with a key at another place, which names the key.
func at(p strict.Problem, where, key string) strict.Problem {
	p.Where = where
	if p.Path == key {
		p.Path = ""
	}
	return p
}

// sets returns a function that reports whether an assignment sets a key.
func sets(key string) func(assignment string) bool {
	return func(assignment string) bool { return strings.HasPrefix(assignment, key+"=") }
}
