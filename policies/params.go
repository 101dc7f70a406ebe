package policies

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Kind says what values a parameter takes.
type Kind int

// Kinds of parameters.
const (
	// Count is a whole number, not negative.
	Count Kind = iota
	// Number is a finite number, not negative.
	Number
	// Word is one of Param.Words, or any text without Words.
	Word
	// Flag is true or false.
	Flag
	// Duration is a span of time of 0 or more, such as 50ms.
	Duration
	// Bytes is an amount of memory of 0 or more, such as 64GiB, and ByteRate a rate such as 3GB/s.
	Bytes
	ByteRate
)

// Param describes a parameter of a policy.
type Param struct {
	// Name is the key in a scenario, Doc its meaning with the unit, Default the value that it has
	// when left out.
	Name, Doc, Default string
	Kind               Kind
	Words              []string
}

// ParamError says what is wrong with one parameter.
type ParamError struct {
	Name    string
	Problem string
}

func (e *ParamError) Error() string { return e.Name + ": " + e.Problem }

// Values holds a value for every parameter of a policy. Asking for one that the policy does not
// list is a programming error, and panics.
type Values struct {
	numbers map[string]float64
	words   map[string]string
}

// Count returns a parameter of kind Count.
func (v Values) Count(name string) int { return int(v.number(name)) }

// Number returns a parameter of kind Number, of kind Bytes in bytes, or of kind ByteRate in B/s.
func (v Values) Number(name string) float64 { return v.number(name) }

// Duration returns a parameter of kind Duration.
func (v Values) Duration(name string) sim.Time { return sim.Seconds(v.number(name)) }

// Flag returns a parameter of kind Flag.
func (v Values) Flag(name string) bool { return v.number(name) != 0 }

// Word returns a parameter of kind Word.
func (v Values) Word(name string) string { return listed(v.words, name) }

func (v Values) number(name string) float64 { return listed(v.numbers, name) }

// listed returns the value of a parameter that the policy lists.
func listed[T any](values map[string]T, name string) T {
	value, ok := values[name]
	if !ok {
		panic(fmt.Sprintf("the policy lists no parameter %q of this kind", name))
	}
	return value
}

// parse reads the parameters as written, and the defaults of the others.
func parse(params []Param, written map[string]string) (Values, error) {
	v := Values{numbers: map[string]float64{}, words: map[string]string{}}
	names := make([]string, len(params))
	for i := range params {
		p := &params[i]
		names[i] = p.Name
		text, ok := written[p.Name]
		if !ok {
			text = p.Default
		}
		if problem := v.set(p, text); problem != "" {
			return v, &ParamError{p.Name, problem}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if !slices.Contains(names, name) {
			return v, &ParamError{name, nearest.Unknown("parameter", name, names)}
		}
	}
	return v, nil
}

// set stores a value and returns what is wrong with it.
func (v Values) set(p *Param, text string) string {
	switch p.Kind {
	case Count:
		n, err := strconv.ParseUint(text, 10, 40)
		if err != nil {
			return fmt.Sprintf("found %q, want a whole number such as %s", text, p.Default)
		}
		v.numbers[p.Name] = float64(n)
	case Number:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x < 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			return fmt.Sprintf("found %q, want a number of 0 or more such as %s", text, p.Default)
		}
		v.numbers[p.Name] = x
	case Duration, Bytes, ByteRate:
		amount, err := quantity(p.Kind)(text)
		if err != nil {
			return err.Error()
		}
		v.numbers[p.Name] = amount
	case Flag:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Sprintf("found %q, want true or false", text)
		}
		if v.numbers[p.Name] = 0; on {
			v.numbers[p.Name] = 1
		}
	case Word:
		if p.Words != nil && !slices.Contains(p.Words, text) {
			return nearest.Unknown("value", text, p.Words)
		}
		v.words[p.Name] = text
	}
	return ""
}

// quantity returns what reads a value with a unit.
func quantity(k Kind) func(text string) (float64, error) {
	switch k {
	case Bytes:
		return units.ParseBytes
	case ByteRate:
		return units.ParseByteRate
	}
	return units.ParseDuration
}
