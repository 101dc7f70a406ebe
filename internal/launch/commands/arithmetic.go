package commands

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// compute returns the value of an arithmetic expression such as GROUP_SIZE * 8, and whether it is
// the same in every shell.
func (v variables) compute(expression syntax.ArithmExpr) (int, bool) {
	switch e := expression.(type) {
	case *syntax.ParenArithm:
		return v.compute(e.X)
	case *syntax.Word:
		text, plain := v.literal(e)
		if value, is := v.values[text]; is {
			text = value // a name means its value here
		}
		n, err := strconv.Atoi(text)
		decimal := err == nil && strconv.Itoa(n) == text // others are octal, say
		return n, plain && decimal && n >= 0 && n < MostReplicas
	case *syntax.BinaryArithm:
		x, known := v.compute(e.X)
		y, both := v.compute(e.Y)
		var n int
		switch {
		case !known || !both:
			return 0, false
		case e.Op == syntax.Mul:
			n = x * y
		case e.Op == syntax.Add:
			n = x + y
		case e.Op == syntax.Sub:
			n = x - y
		case e.Op == syntax.Quo && y > 0:
			n = x / y
		default:
			return 0, false
		}
		return n, n >= 0 && n < MostReplicas
	}
	return 0, false
}
