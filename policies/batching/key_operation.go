//go:build !js

package batching

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr/ast"

	"github.com/llmsim/llmsim/sim"
)

// operation returns what an operator or function of the expression library gives for its arguments,
// whose types are checked.
func operation(name string, arguments ...ast.Node) (value, error) {
	args := make([]value, len(arguments))
	for i, node := range arguments {
		var err error
		if args[i], err = compile(node); err != nil {
			return nil, err
		}
	}
	if name == "min" || name == "max" {
		for len(args) > 2 {
			f, a, b := binary(name), args[0], args[1]
			args = append([]value{func(r *sim.Request) float64 { return f(a(r), b(r)) }},
				args[2:]...)
		}
	}
	switch len(args) {
	case 1:
		if f := unary(name); f != nil {
			a := args[0]
			return func(r *sim.Request) float64 { return f(a(r)) }, nil
		}
	case 2:
		if f := binary(name); f != nil {
			a, b := args[0], args[1]
			return func(r *sim.Request) float64 { return f(a(r), b(r)) }, nil
		}
	case 3:
		if name == "?" {
			return func(r *sim.Request) float64 {
				if args[0](r) != 0 {
					return args[1](r)
				}
				return args[2](r)
			}, nil
		}
	}
	return nil, fmt.Errorf("%s of %d values is not allowed", name, len(args))
}

func unary(name string) func(a float64) float64 {
	switch name {
	case "-":
		return func(a float64) float64 { return -a }
	case "+":
		return func(a float64) float64 { return a }
	case "!", "not":
		return func(a float64) float64 { return 1 - a }
	case "abs":
		return math.Abs
	case "floor":
		return math.Floor
	case "ceil":
		return math.Ceil
	case "round":
		return math.Round
	}
	return nil
}

func binary(name string) func(a, b float64) float64 {
	switch name {
	case "+":
		return func(a, b float64) float64 { return a + b }
	case "-":
		return func(a, b float64) float64 { return a - b }
	case "*":
		return func(a, b float64) float64 { return a * b }
	case "/":
		return func(a, b float64) float64 { return a / b }
	case "**", "^":
		return math.Pow
	case "min":
		return math.Min
	case "max":
		return math.Max
	case "<":
		return func(a, b float64) float64 { return truth(a < b) }
	case "<=":
		return func(a, b float64) float64 { return truth(a <= b) }
	case ">":
		return func(a, b float64) float64 { return truth(a > b) }
	case ">=":
		return func(a, b float64) float64 { return truth(a >= b) }
	case "==":
		return func(a, b float64) float64 { return truth(a == b) }
	case "!=":
		return func(a, b float64) float64 { return truth(a != b) }
	case "and", "&&":
		return func(a, b float64) float64 { return a * b }
	case "or", "||":
		return math.Max
	}
	return nil
}
