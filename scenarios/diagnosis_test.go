package scenarios

import (
	"math"
	"testing"
)

// A system that is offered twice what it serves is overloaded, whatever the length of the run, and
// serves as much as it does at three times the load; at half of it, it keeps up and serves what
// arrives.
func TestOverloadIsTold(t *testing.T) {
	const server = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {prompt: 500, output: " +
		"100, arrivals: {process: gamma, cv: 1.5}}\n" +
		"batching: {max-sequences: 64}\n"
	at := func(rate string, requests string) *Diagnosis {
		return runYAML(t, server, "workload.rate="+rate, "workload.requests="+requests).Diagnosis
	}
	short, double, triple := at("100/s", "2000"), at("100/s", "6000"), at("150/s", "6000")
	for _, d := range []*Diagnosis{short, double, triple} {
		if d.Load != Overloaded || d.Late < 2*d.Early || math.Abs(d.Served/double.Served-1) > 0.1 {
			t.Errorf("overloaded: %+v", d)
		}
	}
	if d := at("20/s", "2000"); d.Load != KeepsUp || math.Abs(d.Served/20-1) > 0.1 {
		t.Errorf("half of what is served: %+v", d)
	}
	if d := at("20/s", "60"); d.Load == Overloaded {
		t.Errorf("a short run: %+v", d)
	}
	const filling = "model: llama-3.1-8b\nhardware: h100-sxm\n" +
		"workload: {rate: 10/s, prompt: 500, output: 4000, requests: 200}\n"
	if d := runYAML(t, filling).Diagnosis; d.Load != TooShort || d.Late < 1.5*d.Early {
		t.Errorf("a system that fills with long answers: %+v", d)
	}
}

// The time of steps is divided between prompts and decoding: all of it, none of it for what does
// not happen, and more of it for prompts where these are longer.
func TestTimeOfStepsIsDivided(t *testing.T) {
	share := func(prompt, output string) float64 {
		d := runYAML(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: 5/s, "+
			"requests: 300}\n",
			"workload.prompt="+prompt, "workload.output="+output).Diagnosis
		if math.Abs(d.Prompts+d.Decoding-1) > 1e-9 {
			t.Errorf("prompts of %s: the shares are %g and %g", prompt, d.Prompts, d.Decoding)
		}
		return d.Prompts
	}
	if only := share("500", "1"); only != 1 {
		t.Errorf("prompts alone take %g of the time", only)
	}
	if some, more := share("500", "200"), share("4000", "200"); !(0 < some && some < more &&
		more < 1) {
		t.Errorf("prompts of 500 tokens take %g of the time, of 4,000 %g", some, more)
	}
}
