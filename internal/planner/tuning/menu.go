package tuning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Dimension is one setting to tune. The first of its choices is the scenario's.
type Dimension struct {
	// Name is the engine's flag, or the key of the scenario where no flag sets it.
	Name    string
	Choices []Choice
	// Role is the role of the parameter that it sets, as in package policies.
	Role string
}

// Choice is a value of a dimension, and what it sets in the scenario.
type Choice struct {
	Label string
	Set   []string
}

// mostOptions bounds a menu.
const mostOptions = 1_000_000

// menu returns the dimensions of a scenario, whose defaults are filled in. They are the given axes
// or, without them, parallelism and the numbers that its engine has a flag for.
func menu(s *scenarios.Simulation, axes []planner.Axis) ([]Dimension, error) {
	list, err := namedDimensions(&s.Scenario, axes), error(nil)
	if len(axes) == 0 {
		list, err = engineDimensions(s)
	}
	if err != nil {
		return nil, err
	}
	options := 1
	for _, d := range list {
		if options *= len(d.Choices); options > mostOptions {
			return nil, scenarios.BadInput(fmt.Errorf("there are more than %d combinations to "+
				"try; give fewer values with --vary", mostOptions))
		}
	}
	if options == 1 {
		return nil, scenarios.BadInput(fmt.Errorf("there is nothing to choose: the batching "+
			"policy %s and the memory policy %s have no number to tune; name keys and values "+
			"with --vary", s.Scenario.Batching.Policy, s.Scenario.Memory.Policy))
	}
	return list, nil
}

// namedDimensions returns the dimensions that the user asked for.
func namedDimensions(s *scenarios.Scenario, axes []planner.Axis) []Dimension {
	list := make([]Dimension, len(axes))
	for i, a := range axes {
		own := "as it is"
		for _, n := range numbers(s) {
			if n.key == a.Key {
				own = n.present
			}
		}
		list[i] = Dimension{Name: a.Key, Choices: []Choice{{Label: own}}}
		for _, v := range a.Values {
			set := planner.Setting{Key: a.Key, Value: v}
			list[i].Choices = append(list[i].Choices, Choice{v, []string{set.String()}})
		}
	}
	return list
}

// engineDimensions returns the dimensions of an engine: what one of its flags sets, or all for an
// engine that no command line is known of.
func engineDimensions(simulation *scenarios.Simulation) ([]Dimension, error) {
	s := &simulation.Scenario
	if len(s.Fleet.Pools) > 0 {
		return nil, scenarios.BadInput(fmt.Errorf("fleet.pools: without --vary, only one kind of " +
			"replica is tuned; name keys and values with --vary, such as --vary " +
			"routing=round-robin,least-requests"))
	}
	list := append([]Dimension{layouts(simulation)}, Numbers(s)...)
	return slices.DeleteFunc(list, func(d Dimension) bool { return len(d.Choices) == 1 }), nil
}

// Numbers returns the numbers of a scenario, whose defaults are filled in, that its engine has
// flags for, or all where no command line of the engine is known.
func Numbers(s *scenarios.Scenario) []Dimension {
	engine, _ := launch.EngineOf(s.Engine.Preset)
	var list []Dimension
	for _, n := range numbers(s) {
		name := n.key
		if engine != "" {
			switch flag, known := launch.Flag(engine, n.key); {
			case known:
				name = flag
			case n.key != "memory.utilization": // which other engines count otherwise
				continue
			}
		}
		if d := n.dimension(name); len(d.Choices) > 1 {
			list = append(list, d)
		}
	}
	return list
}

// number is a number that engines are tuned by.
type number struct {
	key, present string
	// tried are the values beside the present one, as the tag tune of a parameter has them: a list,
	// or "16.." for an eighth, a quarter, half, twice and four times of the present one that are 16
	// at least.
	tried string
	role  string
}

// numbers lists the numbers of a scenario that are tuned. No share of memory above 0.95 is tried:
// what other programs, fragments and graphs take is not simulated.
func numbers(s *scenarios.Scenario) []number {
	var list []number
	add := func(section string, settings []strict.Setting) {
		for _, p := range settings {
			if tried := p.Tag.Get("tune"); tried != "" {
				list = append(list, number{section + p.Name, p.Default, tried, p.Tag.Get("role")})
			}
		}
	}
	add("batching.", s.Batching.Settings())
	add("memory.", s.Memory.Settings())
	if s.Memory.Tokens == 0 { // else the size of the cache is given
		share := strconv.FormatFloat(s.Memory.Utilization, 'g', -1, 64)
		list = append(list, number{"memory.utilization", share, "0.85,0.9,0.95", ""})
	}
	return list
}

// dimension returns the choices of a number, beside the present one.
func (n *number) dimension(name string) Dimension {
	d := Dimension{Name: name, Choices: []Choice{{Label: n.present}}, Role: n.role}
	present, err := strconv.ParseFloat(n.present, 64)
	if err != nil {
		return d
	}
	tried := strings.Split(n.tried, ",")
	if least, multiples := strings.CutSuffix(n.tried, ".."); multiples {
		tried = nil
		for _, factor := range []float64{1. / 8, 1. / 4, 1. / 2, 2, 4} {
			x := int(present * factor)
			if n, err := strconv.Atoi(least); err == nil && x >= n {
				tried = append(tried, strconv.Itoa(x))
			}
		}
	}
	for _, label := range tried {
		if x, err := strconv.ParseFloat(label, 64); err == nil && x != present {
			d.Choices = append(d.Choices, Choice{label, []string{n.key + "=" + label}})
		}
	}
	return d
}

// layout is a way to divide accelerators into replicas and each replica's among its ranks.
type layout struct{ replicas, tensor, data, expert int }

// layouts returns the layouts that use the scenario's number of accelerators, and its number of
// stages of a pipeline.
func layouts(simulation *scenarios.Simulation) Dimension {
	p := simulation.Scenario.Parallelism
	own := layout{max(1, simulation.Scenario.Replicas), max(1, p.Tensor), max(1, p.Data),
		max(1, p.Expert)}
	d := Dimension{Name: "parallelism", Choices: []Choice{{Label: own.String()}}}
	total := own.replicas * own.tensor * own.data
	mixture := simulation.Model.Experts() != nil
	for _, tensor := range divisors(total) {
		for _, data := range divisors(total / tensor) {
			if data > 1 && !mixture {
				continue
			}
			l := layout{total / tensor / data, tensor, data, 1}
			for _, l.expert = range slices.Compact([]int{1, tensor * data}) {
				spread := l.expert > 1 || data == 1
				if l != own && spread && (mixture || l.expert == 1) {
					d.Choices = append(d.Choices, Choice{l.String(), l.set(mixture)})
				}
			}
		}
	}
	return d
}

// set returns the settings of a layout.
func (l layout) set(mixture bool) []string {
	list := []string{fmt.Sprintf("replicas=%d", l.replicas),
		fmt.Sprintf("parallelism.tensor=%d", l.tensor)}
	if mixture {
		list = append(list, fmt.Sprintf("parallelism.data=%d", l.data),
			fmt.Sprintf("parallelism.expert=%d", l.expert))
	}
	return list
}

// String returns a layout in the short terms of the field, such as "2 × TP 4".
func (l layout) String() string {
	var parts []string
	for _, one := range []struct {
		name   string
		degree int
	}{{"TP", l.tensor}, {"DP", l.data}, {"EP", l.expert}} {
		if one.degree > 1 || one.name == "TP" {
			parts = append(parts, fmt.Sprintf("%s %d", one.name, one.degree))
		}
	}
	words := strings.Join(parts, " ")
	if l.replicas > 1 {
		words = fmt.Sprintf("%d × %s", l.replicas, words)
	}
	return words
}

// divisors returns the divisors of n in rising order.
func divisors(n int) (list []int) {
	for i := 1; i <= n; i++ {
		if n%i == 0 {
			list = append(list, i)
		}
	}
	return list
}
