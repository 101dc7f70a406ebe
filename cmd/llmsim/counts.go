package main

import (
	"fmt"
	"strconv"
	"strings"
)

// most bounds counts of tokens and sequences on the command line.
const most = 1 << 22

// countsFlag is a flag that takes whole numbers from 1, separated by commas. It implements pflag.Value.
type countsFlag struct {
	to *[]int
}

// counts returns a flag that stores into to, with the numbers that it has if it is not given.
func counts(to *[]int, otherwise ...int) *countsFlag {
	*to = otherwise
	return &countsFlag{to}
}

func (c *countsFlag) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*c.to), " ", ","), "[]")
}

func (c *countsFlag) Type() string { return "numbers" }

// Set stores the numbers, or says which cannot be.
func (c *countsFlag) Set(text string) error {
	var list []int
	for _, word := range strings.Split(text, ",") {
		n, err := parseCount(word)
		if err != nil {
			return err
		}
		list = append(list, n)
	}
	*c.to = list
	return nil
}

// countFlag is a flag that takes a whole number from 1. It implements pflag.Value.
type countFlag struct{ to *int }

func countOf(to *int, otherwise int) *countFlag {
	*to = otherwise
	return &countFlag{to}
}

func (c *countFlag) String() string { return strconv.Itoa(*c.to) }

func (c *countFlag) Type() string { return "number" }

// Set stores the number, or refuses it.
func (c *countFlag) Set(text string) error {
	n, err := parseCount(text)
	if err == nil {
		*c.to = n
	}
	return err
}

func parseCount(word string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("found %q, want a whole number from 1 to %d", word, most)
	}
	return n, nil
}
