package queue

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
)

// served is empty in a browser, where no other process can take part.
type served struct{}

func newServed() served { return served{} }

var errBrowser = errors.New("a page in a browser works alone: it has no queue that others share")

func (q *Queue) join(context.Context, Handlers) error { return scenarios.BadInput(errBrowser) }

func (*served) leave() {}

func (*served) forget(context.Context, string) error { return errBrowser }

func (*Queue) submit(context.Context, *Task, bool) error { return errBrowser }

// Key returns the name of the result of a task, as on other machines; a page has no files.
func (q *Queue) Key(f *scenarios.File, kind, params string) (string, error) {
	s := f.Scenario
	s.Name = ""
	text, err := strict.Encode(s, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	hash := fnv.New128a()
	hash.Write(text)
	return strings.TrimSuffix(fmt.Sprintf("%x-%s-%s", hash.Sum(nil), kind, params), "-"), nil
}

// listen refuses nothing: join does.
func (*Config) listen() (string, error) { return "", nil }
