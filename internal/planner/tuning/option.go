package tuning

import (
	"math/rand/v2"
	"slices"
)

// option is one choice of each dimension, by index.
type option []int

// options returns every combination of the choices, the one that changes nothing first.
func options(menu []Dimension) []option {
	list := []option{make(option, len(menu))}
	for d := len(menu) - 1; d >= 0; d-- {
		var longer []option
		for choice := range menu[d].Choices {
			for _, o := range list {
				one := slices.Clone(o)
				one[d] = choice
				longer = append(longer, one)
			}
		}
		list = longer
	}
	return list
}

// sample returns a number of options: the default, all that differ from it in one dimension, and
// others that are drawn, the same ones each time.
func sample(all []option, most int) []option {
	if len(all) <= most {
		return all
	}
	var list, others []option
	for _, o := range all {
		if o.changes() <= 1 {
			list = append(list, o)
		} else {
			others = append(others, o)
		}
	}
	draw := rand.New(rand.NewPCG(0, 0))
	draw.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append(list, others[:max(0, most-len(list))]...)
}

// neighbours returns the options that differ from o in one dimension.
func (o option) neighbours(menu []Dimension) (list []option) {
	for d := range menu {
		for choice := range menu[d].Choices {
			if choice != o[d] {
				one := slices.Clone(o)
				one[d] = choice
				list = append(list, one)
			}
		}
	}
	return list
}

// settings returns what an option overrides.
func (o option) settings(menu []Dimension) (list []string) {
	for d, choice := range o {
		list = append(list, menu[d].Choices[choice].Set...)
	}
	return list
}

// changes returns the number of dimensions in which an option is not the default.
func (o option) changes() (n int) {
	for _, choice := range o {
		if choice > 0 {
			n++
		}
	}
	return n
}

// without returns the option with the default's choice of one dimension.
func (o option) without(dimension int) option {
	one := slices.Clone(o)
	one[dimension] = 0
	return one
}
