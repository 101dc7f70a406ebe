package trace

import (
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// optional is a column that a row of llmsim's own format may have.
type optional struct {
	column string
	// read puts a field that is not empty into the row.
	read func(d *csvDecoder, field []byte, r *sim.Request) error
}

// placed is an optional column that the file has, and its position.
type placed struct {
	optional
	at int
}

// optionalColumns lists the optional columns of our own format. A prefix comes before its length.
func optionalColumns() []optional {
	return []optional{
		{"class", readClass},
		{"tenant", func(d *csvDecoder, field []byte, r *sim.Request) (err error) {
			r.Tenant, err = d.number("tenant", field, maxTokens)
			return err
		}},
		{"priority", func(d *csvDecoder, field []byte, r *sim.Request) (err error) {
			if r.Priority, err = strconv.Atoi(string(field)); err != nil {
				return d.file.errorf("priority: found %.80q, allowed: whole numbers", field)
			}
			return nil
		}},
		{"deadline_s", readDeadline},
		{"session", func(d *csvDecoder, field []byte, r *sim.Request) error {
			n, err := d.number("session", field, maxNumber)
			r.Session = int64(n)
			return err
		}},
		{"prefix", func(d *csvDecoder, field []byte, r *sim.Request) error {
			n, err := d.number("prefix", field, maxNumber)
			r.Content = append(r.Content,
				sim.Segment{ID: content.ID(content.TracePrefix, uint64(n))})
			return err
		}},
		{"prefix_tokens", readPrefixTokens},
	}
}

// maxNumber bounds sessions and prefixes.
const maxNumber = 1e15

// readOptional reads the optional columns that the file has.
func (d *csvDecoder) readOptional(r *sim.Request) error {
	for _, o := range d.optional {
		if field := d.fields[o.at]; len(field) > 0 {
			if err := o.read(d, field, r); err != nil {
				return err
			}
		}
	}
	if len(r.Content) > 0 && r.Content[0].Tokens == 0 {
		r.Content = r.Content[:0]
	}
	return nil
}

// readClass finds a class by its name. If the workload names no classes, the column is ignored.
func readClass(d *csvDecoder, field []byte, r *sim.Request) error {
	for i, name := range d.classes {
		if string(field) == name {
			r.Class = i
			return nil
		}
	}
	if len(d.classes) == 0 {
		return nil
	}
	return d.file.errorf("class: found %.80q, allowed: %s", field, strings.Join(d.classes, ", "))
}

func readDeadline(d *csvDecoder, field []byte, r *sim.Request) error {
	at, err := parseSeconds(field)
	if err != nil {
		return d.file.errorf("deadline_s: found %.80q, allowed: seconds from 0", field)
	}
	if r.Deadline, err = at.since(instant{}); err != nil {
		return d.file.errorf("deadline_s: %w", err)
	}
	return nil
}

func readPrefixTokens(d *csvDecoder, field []byte, r *sim.Request) error {
	tokens, err := d.number("prefix_tokens", field, maxTokens)
	if err != nil {
		return err
	}
	if tokens > r.Prompt {
		return d.file.errorf("prefix_tokens: found %d, allowed: at most the %d prompt tokens",
			tokens, r.Prompt)
	}
	if len(r.Content) > 0 {
		r.Content[0].Tokens = tokens
	}
	return nil
}
