package records

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// mostDepth bounds the nesting of a result, and mostLeaves the number of its values.
const (
	mostDepth  = 64
	mostLeaves = 1 << 20
)

// Leaf is a value of a result by its path, such as "slo_attainment.ttft" or "pools.0.name".
type Leaf struct {
	Path  string
	Value any
}

// Leaves returns the values of a result in the order of their paths.
func (r *Record) Leaves() ([]Leaf, error) {
	d := json.NewDecoder(strings.NewReader(string(r.Result)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var list []Leaf
	err := walk("", v, 0, &list)
	return list, err
}

func walk(path string, v any, depth int, list *[]Leaf) error {
	if depth > mostDepth || len(*list) > mostLeaves {
		return fmt.Errorf("the result has more than %d levels or %d values", mostDepth, mostLeaves)
	}
	under := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := walk(under(key), v[key], depth+1, list); err != nil {
				return err
			}
		}
	case []any:
		for i, each := range v {
			if err := walk(under(strconv.Itoa(i)), each, depth+1, list); err != nil {
				return err
			}
		}
	default:
		*list = append(*list, Leaf{path, v})
	}
	return nil
}

// Figures returns the numbers of a result by their paths, without numbers of the scenario, of its
// evidence and of lists.
func (r *Record) Figures() (map[string]float64, error) {
	leaves, err := r.Leaves()
	if err != nil {
		return nil, err
	}
	figures := map[string]float64{}
	for _, l := range leaves {
		n, ok := l.Value.(json.Number)
		head, _, _ := strings.Cut(l.Path, ".")
		if !ok || head == "scenario" || head == "evidence" || head == "seed" || inList(l.Path) {
			continue
		}
		if f, err := n.Float64(); err == nil {
			figures[l.Path] = f
		}
	}
	return figures, nil
}

// inList reports whether a path leads through a list.
func inList(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "."), func(key string) bool {
		_, err := strconv.Atoi(key)
		return err == nil
	})
}

// Settings returns the scenario's values of a result by their paths, as text, and the arguments of
// runs without a scenario.
func (r *Record) Settings() (map[string]string, error) {
	leaves, err := r.Leaves()
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"version": r.Version, "command": r.Command,
		"args": strings.Join(r.Args, " ")}
	for _, l := range leaves {
		if key, ok := strings.CutPrefix(l.Path, "scenario."); ok {
			settings[key] = fmt.Sprint(l.Value)
		}
	}
	for _, in := range r.Inputs {
		settings["input "+in.Path] = in.SHA256
	}
	return settings, nil
}

// Difference is a setting or a figure in which two records differ; One or Other is empty where one
// lacks it.
type Difference struct {
	Key   string `json:"key"`
	One   string `json:"one"`
	Other string `json:"other"`
	// Ratio is Other divided by One, of figures that both have and that are not 0.
	Ratio float64 `json:"ratio,omitempty"`
}

// Diff returns the settings and the figures in which two records differ, in the order of their
// names.
func Diff(a, b *Record) (settings, figures []Difference, err error) {
	sa, errA := a.Settings()
	sb, errB := b.Settings()
	if errA != nil || errB != nil {
		return nil, nil, fmt.Errorf("%w%w", errA, errB)
	}
	for _, key := range keys(sa, sb) {
		if sa[key] != sb[key] {
			settings = append(settings, Difference{Key: key, One: sa[key], Other: sb[key]})
		}
	}
	of, err := together(a, b)
	if err != nil {
		return nil, nil, err
	}
	fa, fb := of[0], of[1]
	text := func(of map[string]float64, key string) string {
		if f, ok := of[key]; ok {
			return strconv.FormatFloat(f, 'g', 6, 64)
		}
		return ""
	}
	for _, key := range keys(fa, fb) {
		x, inA := fa[key]
		y, inB := fb[key]
		if inA == inB && x == y {
			continue
		}
		d := Difference{Key: key, One: text(fa, key), Other: text(fb, key)}
		if inA && inB && x != 0 && y != 0 {
			d.Ratio = y / x
		}
		figures = append(figures, d)
	}
	return settings, figures, nil
}

// keys returns the keys of two maps, in order.
func keys[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// Compared returns the figures of two records of scenarios as a comparison has them, with its
// verdicts; nothing for records of other commands.
func Compared(a, b *Record) ([]compare.Line, error) {
	if a.Command != "scenario" || b.Command != "scenario" {
		return nil, nil
	}
	figures, err := together(a, b)
	if err != nil {
		return nil, err
	}
	var kept [2]compare.Kept
	currency := ""
	for i, r := range []*Record{a, b} {
		var result struct {
			Intervals  *scenarios.Intervals `json:"intervals"`
			PricedOver string               `json:"priced_over"`
			Currency   units.Currency       `json:"currency"`
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			return nil, err
		}
		kept[i] = compare.Kept{Figures: figures[i],
			KeepsUp: result.PricedOver == scenarios.OfferedRate}
		if result.Intervals != nil {
			kept[i].Ranges = result.Intervals.Of
		}
		currency = result.Currency.Unit()
	}
	return compare.Between(kept[0], kept[1], currency), nil
}
