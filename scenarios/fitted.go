package scenarios

import (
	"bytes"
	"fmt"
	"io/fs"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/strict"
)

// Fitted is the content of a deployment.yaml: what llmsim twin adapt found of one deployment.
type Fitted struct {
	Model         string     `json:"model" required:"true" jsonschema:"Model that was served."`
	Accelerator   string     `json:"accelerator" required:"true" jsonschema:"Accelerator that served it."`
	Tensor        int        `json:"tensor,omitempty" min:"1" jsonschema:"Tensor parallelism."`
	Engine        string     `json:"engine" required:"true" jsonschema:"Preset of the engine."`
	EngineVersion string     `json:"engine-version,omitempty" jsonschema:"Engine's version."`
	Flags         string     `json:"flags,omitempty" jsonschema:"Flags of the engine, if they are known."`
	Measured      string     `json:"measured,omitempty" jsonschema:"Date of the measurements."`
	Expires       string     `json:"expires,omitempty" jsonschema:"Date after which they should be repeated."`
	Factors       Factors    `json:"factors" required:"true" jsonschema:"Factors."`
	Deviations    Deviations `json:"deviations,omitzero" jsonschema:"Standard deviations of the factors, relative to them."`
	Traffic       Traffic    `json:"traffic,omitzero" jsonschema:"Traffic to which the factors were fitted."`
	Errors        Errors     `json:"errors" required:"true" jsonschema:"Errors of the twin."`
}

// Deviations are standard deviations of factors, relative to them, and that of the round trip.
type Deviations struct {
	Prompts   float64 `json:"prompts,omitempty" min:"0" jsonschema:"Of prompts."`
	Memory    float64 `json:"memory,omitempty" min:"0" jsonschema:"Of memory."`
	Cache     float64 `json:"cache,omitempty" min:"0" jsonschema:"Of cache."`
	Exchanges float64 `json:"exchanges,omitempty" min:"0" jsonschema:"Of exchanges."`
	Step      float64 `json:"step,omitempty" min:"0" jsonschema:"Of step."`
	Sequence  float64 `json:"sequence,omitempty" min:"0" jsonschema:"Of sequence."`
	Request   float64 `json:"request,omitempty" min:"0" jsonschema:"Of request."`
	Mixed     float64 `json:"mixed,omitempty" min:"0" jsonschema:"Of mixed."`
	Load      float64 `json:"load,omitempty" min:"0" jsonschema:"Of load."`
	RoundTrip Span    `json:"round-trip,omitempty" min:"0" jsonschema:"Of round-trip, as a time."`
}

// Traffic holds means of the requests to which a twin was fitted.
type Traffic struct {
	Rate   float64 `json:"rate,omitempty" min:"0" jsonschema:"Number of requests a second, of the last run."`
	Prompt float64 `json:"prompt,omitempty" min:"0" jsonschema:"Tokens of a prompt."`
	Output float64 `json:"output,omitempty" min:"0" jsonschema:"Tokens of an answer."`
	// LeastUsers and MostUsers are over all runs.
	LeastUsers float64 `json:"least-users,omitempty" min:"0" jsonschema:"Fewest requests in flight on average, of all runs."`
	MostUsers  float64 `json:"most-users,omitempty" min:"0" jsonschema:"Most requests in flight on average, of all runs."`
}

// Errors are root mean squares of relative errors, by quantity: over the part of the measurements
// that was held out.
type Errors struct {
	TTFT  float64 `json:"ttft,omitempty" min:"0" jsonschema:"Of the time to first token."`
	TPOT  float64 `json:"tpot,omitempty" min:"0" jsonschema:"Of the time for each output token."`
	E2E   float64 `json:"e2e,omitempty" min:"0" jsonschema:"Of the latency of whole requests."`
	Steps float64 `json:"steps,omitempty" min:"0" jsonschema:"Of the time of steps."`
}

// Encode returns the file's text, with its seal.
func (d *Fitted) Encode() ([]byte, error) {
	text, err := strict.Encode(*d, func(string) bool { return true })
	return files.LinesSeal().Add(text), err
}

// ReadFitted reads a deployment.yaml. A file without a seal is one that people wrote. The error is
// an InputError.
func ReadFitted(fsys fs.FS, path string) (*Fitted, error) {
	data, err := files.Read(fsys, path, strict.MostText)
	if err != nil {
		return nil, InputError{plainPathError(err)}
	}
	if bytes.Contains(data, []byte("# sum:")) {
		if _, err := files.LinesSeal().Open(data); err != nil {
			return nil, InputError{fmt.Errorf("%s: %w; if you changed it on purpose, remove the "+
				"line with the sum", path, err)}
		}
	}
	doc, err := strict.Parse(path, data)
	d := &Fitted{}
	if err == nil {
		err = doc.Decode(d)
	}
	if err != nil {
		return nil, InputError{err}
	}
	return d, nil
}
