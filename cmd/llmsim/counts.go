package main

import (
	"fmt"
	"strconv"
	"strings"
)

// most bounds counts of tokens and sequences on the command line.
const most = 1 << 22

// countsFlag is a flag that takes whole numbers from 1, separated by commas. It implements
// pflag.Value.
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
		n, err := parseCount(word, 1)
		if err != nil {
			return err
		}
		list = append(list, n)
	}
	*c.to = list
	return nil
}

// countFlag is a flag that takes a whole number from a least one. It implements pflag.Value.
type countFlag struct {
	to    *int
	least int
}

// countOf returns a flag for a number from 1, which is otherwise if it is not given.
func countOf(to *int, otherwise int) *countFlag { return countFrom(1, to, otherwise) }

func countFrom(least int, to *int, otherwise int) *countFlag {
	*to = otherwise
	return &countFlag{to, least}
}

func (c *countFlag) String() string { return strconv.Itoa(*c.to) }

func (c *countFlag) Type() string { return "number" }

// Set stores the number, or refuses it.
func (c *countFlag) Set(text string) error {
	n, err := parseCount(text, c.least)
	if err == nil {
		*c.to = n
	}
	return err
}

func parseCount(word string, least int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("found %q, want a whole number from %d to %d", word, least, most)
	}
	return n, nil
}
