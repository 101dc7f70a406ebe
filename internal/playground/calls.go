package playground

import (
	"context"
	"encoding/json"
	"fmt"
)

// Calls answers what a page asks, one call after another. The zero value is ready.
type Calls struct {
	stages  []*Stage // by the number that open gave
	servers Servers
}

// Answer returns what a page is told: {"ok": text}, where the text is empty, JSON or YAML, or
// {"error": message}. args is the JSON of an array:
//
//	options()  result(settings)  yaml(settings)
//	plan(settings, curves)                        ran is called after each of its simulations
//	overview(settings, phases)                    a whole run in a few hundred points
//	step(settings, chunks, decodes, context)      one step of a server
//	open(number, settings, phases, milliseconds)  readies a stage, in the place of the last one of
//	                                              that number, from a time of its run on
//	next(number, n)                               the next n frames of that stage
func (c *Calls) Answer(ctx context.Context, name string, args []byte, ran func()) []byte {
	var answer struct {
		OK    *string `json:"ok,omitempty"`
		Error string  `json:"error,omitempty"`
	}
	text, err := c.answer(ctx, name, args, ran)
	if err != nil {
		answer.Error = err.Error()
	} else {
		words := string(text)
		answer.OK = &words
	}
	out, err := json.Marshal(answer)
	if err != nil {
		return []byte(`{"error": "the answer cannot be written"}`)
	}
	return out
}

func (c *Calls) answer(ctx context.Context, name string, args []byte, ran func()) (text []byte,
	err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the simulator broke: %v", p)
		}
	}()
	var settings []string
	read := func(into ...any) error { return json.Unmarshal(args, &into) }
	switch name {
	case "options":
		return Choices()
	case "result", "yaml":
		if err := read(&settings); err != nil {
			return nil, err
		}
		if name == "yaml" {
			return YAML(settings)
		}
		return Result(ctx, settings)
	case "plan":
		var curves bool
		if err := read(&settings, &curves); err != nil {
			return nil, err
		}
		return Plan(ctx, settings, curves, ran)
	case "overview":
		var past []Phase
		if err := read(&settings, &past); err != nil {
			return nil, err
		}
		o, err := NewOverview(ctx, settings, past)
		return encoded(o, err)
	case "step":
		var chunks []Chunk
		var decodes, stored int
		if err := read(&settings, &chunks, &decodes, &stored); err != nil {
			return nil, err
		}
		step, err := c.servers.Step(settings, chunks, decodes, stored)
		return encoded(step, err)
	case "open":
		return nil, c.open(args)
	case "next":
		var number, n int
		if err := read(&number, &n); err != nil {
			return nil, err
		}
		if number < 0 || number >= len(c.stages) || c.stages[number] == nil {
			return nil, fmt.Errorf("server %d is not there any more: load the page again", number)
		}
		frames, err := c.stages[number].Next(n)
		return encoded(frames, err)
	}
	return nil, fmt.Errorf("there is no call %q", name)
}

// mostStages is the number of stages that a page may have. It has three.
const mostStages = 8

// open readies a stage.
func (c *Calls) open(args []byte) error {
	var number int
	var settings []string
	var past []Phase
	var at float64
	if err := json.Unmarshal(args, &[]any{&number, &settings, &past, &at}); err != nil {
		return err
	}
	if number < 0 || number >= mostStages {
		return fmt.Errorf("found stage %d, want 0 to %d", number, mostStages-1)
	}
	for len(c.stages) <= number {
		c.stages = append(c.stages, nil)
	}
	stage, err := NewStage(settings, past)
	if err != nil {
		return err
	}
	c.stages[number] = stage
	return stage.Skip(at)
}

// encoded returns the JSON of a value that was computed without an error.
func encoded(v any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
