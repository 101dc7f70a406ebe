//go:build !js

package batching

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/sim"
)

// field is a property of a request that an expression may use.
type field struct {
	name string
	of   func(r *sim.Request) float64
}

// fields returns those fields. Times are in seconds, lengths in tokens.
func fields() []field {
	return []field{
		{"arrival", func(r *sim.Request) float64 { return r.Arrival.Seconds() }},
		{"prompt", func(r *sim.Request) float64 { return float64(r.Prompt) }},
		{"output", func(r *sim.Request) float64 { return float64(r.Output) }},
		{"class", func(r *sim.Request) float64 { return float64(r.Class) }},
		{"tenant", func(r *sim.Request) float64 { return float64(r.Tenant) }},
		{"priority", func(r *sim.Request) float64 { return float64(r.Priority) }},
		{"deadline", func(r *sim.Request) float64 { return r.Deadline.Seconds() }},
		{"ttft", func(r *sim.Request) float64 { return r.TTFT.Seconds() }},
	}
}

// functions are the ones that an expression may use.
func functions() []string { return []string{"min", "max", "abs", "floor", "ceil", "round"} }

// value computes a part of an expression; truth is 1 or 0.
type value func(r *sim.Request) float64

// ParseKey turns an expression into a key for NewPriority. An expression may use arrival, deadline
// and ttft (s, 0 without one), prompt, output (tokens), class, tenant and priority, numbers,
// arithmetic, comparisons, and, or, not, a ? b : c, min, max, abs, floor, ceil and round
// (https://expr-lang.org). The expression "-priority" gives the order of vLLM's --scheduling-policy
// priority (vllm/v1/core/sched/request_queue.py, v0.15; vLLM counts priorities downwards). An error
// names the place in the expression. The returned function allocates nothing, unlike the library's
// machine.
func ParseKey(key string) (func(r *sim.Request) float64, error) {
	if strings.TrimSpace(key) == "" {
		return nil, errors.New(`empty, want an expression such as "prompt + 2 * output"`)
	}
	known := map[string]any{}
	for _, f := range fields() {
		known[f.name] = 0.0
	}
	options := []expr.Option{expr.Env(known), expr.AsFloat64(), expr.Optimize(false),
		expr.DisableAllBuiltins()}
	for _, name := range functions() {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(key, options...)
	if err != nil {
		return nil, fmt.Errorf("%q: %s", key, explain(err))
	}
	v, err := compile(program.Node())
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return func(r *sim.Request) float64 {
		x := v(r)
		if math.IsNaN(x) {
			return math.Inf(1) // what has no place comes last
		}
		return x
	}, nil
}

// explain says in words why an expression is refused.
func explain(err error) string {
	var where *file.Error
	if !errors.As(err, &where) {
		found := strings.TrimPrefix(err.Error(), "expected float64, but got ")
		return fmt.Sprintf("want a number, found a %s", kind(found))
	}
	message := where.Message
	var operator, left, right string
	if name, ok := strings.CutPrefix(message, "unknown name "); ok {
		var names []string
		for _, f := range fields() {
			names = append(names, f.name)
		}
		message = nearest.Unknown("name", name, append(names, functions()...))
	} else if n, _ := fmt.Sscanf(message, "invalid operation: %s (mismatched types %s and %s",
		&operator, &left, &right); n == 3 {
		message = fmt.Sprintf("%q does not go between a %s and a %s", operator, kind(left),
			kind(strings.TrimSuffix(right, ")")))
	}
	message = strings.ReplaceAll(message, "unexpected token EOF", "ends too early")
	return fmt.Sprintf("%s (at character %d)", message, where.Column+1)
}

// kind returns the usual name of a type of the expression library.
func kind(name string) string {
	switch name {
	case "float64", "int":
		return "number"
	case "bool":
		return "condition"
	}
	return name
}

// compile turns a checked tree into a function.
func compile(node ast.Node) (value, error) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return constant(float64(n.Value)), nil
	case *ast.FloatNode:
		return constant(n.Value), nil
	case *ast.BoolNode:
		return constant(truth(n.Value)), nil
	case *ast.IdentifierNode:
		for _, f := range fields() {
			if f.name == n.Value {
				return f.of, nil
			}
		}
	case *ast.UnaryNode:
		return operation(n.Operator, n.Node)
	case *ast.BinaryNode:
		return operation(n.Operator, n.Left, n.Right)
	case *ast.ConditionalNode:
		return operation("?", n.Cond, n.Exp1, n.Exp2)
	case *ast.BuiltinNode:
		return operation(n.Name, n.Arguments...)
	}
	return nil, fmt.Errorf("%q is not allowed, want numbers, fields, arithmetic and comparisons",
		node.String())
}

func constant(x float64) value { return func(*sim.Request) float64 { return x } }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
