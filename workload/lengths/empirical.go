package lengths

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// Weighted is a length with a weight for how often it occurs, in any unit.
type Weighted struct {
	Tokens int
	Weight float64
}

// Empirical returns the distribution in which each length is as likely as its share of the weights.
// Lengths that occur more than once add up.
func Empirical(observed []Weighted) (*Distribution, error) {
	if len(observed) == 0 {
		return nil, errors.New("empirical: found no lengths, allowed: at least one")
	}
	sorted := slices.Clone(observed)
	slices.SortStableFunc(sorted, func(a, b Weighted) int {
		return cmp.Compare(a.Tokens, b.Tokens)
	})
	var values []int
	var weights []float64
	for _, o := range sorted {
		if err := checkObserved(o); err != nil {
			return nil, fmt.Errorf("empirical: %w", err)
		}
		if n := len(values); n > 0 && values[n-1] == o.Tokens {
			weights[n-1] += o.Weight
			continue
		}
		values, weights = append(values, o.Tokens), append(weights, o.Weight)
	}
	return fromWeights(fmt.Sprintf("empirical(%d lengths)", len(values)), 0, values, weights)
}

// checkObserved refuses a length that cannot be drawn.
func checkObserved(o Weighted) error {
	if o.Tokens < 1 || o.Tokens > MaxTokens {
		return fmt.Errorf("tokens: found %d, allowed: 1 to %d", o.Tokens, MaxTokens)
	}
	return checkSpread(strconv.Itoa(o.Tokens)+" tokens", "weight", o.Weight)
}

// Bounds on a file of lengths. A million lengths, each with its weight, describe any distribution
// well enough.
const (
	mostObserved = 1 << 20
	mostBytes    = 32 << 20
)

// Read returns the empirical distribution of a text file of fsys with one length a line and, in a
// second column, its weight (1 where it is absent). Columns are separated by a comma or by blanks;
// a first line that does not start with a number is taken as a header; empty lines and lines that
// start with # are skipped.
func Read(fsys fs.FS, path string) (*Distribution, error) {
	if err := files.Repeatable(fsys, path); err != nil {
		return nil, err
	}
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var observed []Weighted
	lines := bufio.NewScanner(files.Limit(file, path, mostBytes))
	header := true
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		o, err := parseWeighted(text)
		if err != nil && !(header && !startsNumber(text)) {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if err == nil {
			observed = append(observed, o)
		}
		if len(observed) > mostObserved {
			return nil, fmt.Errorf(
				"%s:%d: found more than %d lengths; leave some out, or count them with weights",
				path, n, mostObserved)
		}
		header = false
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d, err := Empirical(observed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// startsNumber distinguishes a data line from a header.
func startsNumber(text string) bool { return strings.ContainsRune("0123456789+-.", rune(text[0])) }

// parseWeighted reads "tokens" or "tokens, weight".
func parseWeighted(text string) (Weighted, error) {
	fields := strings.FieldsFunc(text, func(c rune) bool {
		return c == ',' || c == ' ' || c == '\t'
	})
	if len(fields) != 1 && len(fields) != 2 {
		return Weighted{}, fmt.Errorf("found %d columns, allowed: tokens, or tokens and weight",
			len(fields))
	}
	o := Weighted{Weight: 1}
	var err error
	if o.Tokens, err = strconv.Atoi(fields[0]); err != nil {
		return o, fmt.Errorf("tokens: found %.80q, allowed: whole numbers from 1 to %d", fields[0],
			MaxTokens)
	}
	if len(fields) == 2 {
		if o.Weight, err = strconv.ParseFloat(fields[1], 64); err != nil {
			return o, fmt.Errorf("weight: found %.80q, allowed: numbers from 0", fields[1])
		}
	}
	return o, checkObserved(o)
}
