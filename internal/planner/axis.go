package planner

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Axis is a scenario key and the values that it takes in turn.
type Axis struct {
	Key    string
	Values []string
}

// mostPoints bounds a grid.
const mostPoints = 1_000_000

// ParseAxis reads "key=v1,v2" or a range of evenly spaced values, "key=1/s..40/s:8". Values are
// YAML, as in --set; commas within brackets, braces or quotes belong to the value.
func ParseAxis(text string) (Axis, error) {
	key, list, found := strings.Cut(text, "=")
	if !found || key == "" || list == "" {
		return Axis{}, fmt.Errorf(
			"--vary %q: want key=value,value such as hardware=a100-80gb,h100, or a range such as "+
				"workload.rate=1/s..40/s:8", text)
	}
	a := Axis{Key: key}
	for _, item := range split(list) {
		values, err := expand(item)
		if err != nil {
			return Axis{}, fmt.Errorf("--vary %s: %w", key, err)
		}
		a.Values = append(a.Values, values...)
	}
	seen := map[string]bool{}
	for _, v := range a.Values {
		if v == "" || seen[v] {
			return Axis{}, fmt.Errorf(
				"--vary %s: found %q, want values that are not empty and differ", key, list)
		}
		seen[v] = true
	}
	return a, nil
}

// split cuts at the commas that are not within brackets, braces or quotes.
func split(list string) []string {
	var items []string
	depth, start := 0, 0
	var quote rune
	for i, r := range list {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '[':
			depth++
		case r == '}' || r == ']':
			depth--
		case r == ',' && depth == 0:
			items = append(items, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(items, strings.TrimSpace(list[start:]))
}

// quantity is a number between a currency sign and a unit.
var quantity = regexp.MustCompile(`^(\$?)([0-9]+(?:\.[0-9]+)?)([^0-9.]*)$`)

// Number returns the number in a value and its unit, as in 40/s or $2; ok is false if there is no
// number.
func Number(value string) (x float64, unit string, ok bool) {
	parts := quantity.FindStringSubmatch(value)
	if parts == nil {
		return 0, "", false
	}
	x, err := strconv.ParseFloat(parts[2], 64)
	return x, parts[3], err == nil
}

// expand returns the values of a range, or the item itself if it is not a range.
func expand(item string) ([]string, error) {
	low, rest, isRange := strings.Cut(item, "..")
	if !isRange {
		return []string{item}, nil
	}
	high, count, counted := strings.Cut(rest, ":")
	from, to := quantity.FindStringSubmatch(low), quantity.FindStringSubmatch(high)
	if !counted || from == nil || to == nil {
		return nil, fmt.Errorf(
			"found %q, want a range such as 1/s..40/s:8, from 1/s to 40/s in 8 values", item)
	}
	if from[1] != to[1] || from[3] != to[3] {
		return nil, fmt.Errorf("found %q, want the same unit at both ends of a range", item)
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 2 || n > mostPoints {
		return nil, fmt.Errorf("found %q values in the range %q, want a whole number from 2", count,
			item)
	}
	first, _ := strconv.ParseFloat(from[2], 64)
	last, _ := strconv.ParseFloat(to[2], 64)
	values := make([]string, n)
	for i := range values {
		x := first + (last-first)*float64(i)/float64(n-1)
		values[i] = from[1] + strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64) + from[3]
	}
	return values, nil
}

// Setting is a key with one of its values.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String returns the setting as --set takes it.
func (s Setting) String() string { return s.Key + "=" + s.Value }

// Point is one combination of settings, in the order of the axes.
type Point []Setting

// Overrides returns the settings as scenarios.Load takes them.
func (p Point) Overrides() []string {
	list := make([]string, len(p))
	for i, s := range p {
		list[i] = s.String()
	}
	return list
}

// String names the point.
func (p Point) String() string { return strings.Join(p.Overrides(), " ") }

// Grid returns every combination of the values of the axes; the last axis changes fastest.
func Grid(axes []Axis) ([]Point, error) {
	points := []Point{nil}
	for i, a := range axes {
		for _, other := range axes[:i] {
			if other.Key == a.Key {
				return nil, fmt.Errorf("--vary %s is given twice; list all its values in one",
					a.Key)
			}
		}
		if len(points)*len(a.Values) > mostPoints {
			return nil, fmt.Errorf(
				"the grid has more than %d points; vary fewer keys, or fewer values of each",
				mostPoints)
		}
		var longer []Point
		for _, p := range points {
			for _, v := range a.Values {
				longer = append(longer, append(p[:len(p):len(p)], Setting{a.Key, v}))
			}
		}
		points = longer
	}
	return points, nil
}
