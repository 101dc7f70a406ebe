package scenarios

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Workload describes the requests and their arrivals: random requests from distributions, or a
// trace.
type Workload struct {
	Rate     Rate     `json:"rate,omitzero" jsonschema:"Requests (or conversations) that arrive in a second, over all replicas. Default: 1/s, or the times of the trace."`
	Arrivals Arrivals `json:"arrivals,omitzero" jsonschema:"How evenly requests arrive. Default: poisson."`
	Users    int      `json:"users,omitempty" min:"1" jsonschema:"Number of users, in place of a rate and arrivals: each sends a request, waits for the whole answer, thinks, and sends again. They start in equilibrium, as if they had been there before."`
	Think    Think    `json:"think,omitzero" jsonschema:"Time that each of users thinks between an answer and the next request. Default: no time."`
	Requests int64    `json:"requests,omitempty" min:"1" jsonschema:"Number of requests. Default: 1000, or the whole trace."`
	Duration Span     `json:"duration,omitempty" above:"0" jsonschema:"Time after which no request arrives."`
	RequestKeys
	Tokens string  `json:"tokens,omitempty" enum:"text,random" jsonschema:"What prompts are made of: text, or tokens drawn at random, as benchmarks do, of which routers make another choice of experts. Default: text."`
	Images *Images `json:"images,omitempty" jsonschema:"Images that every prompt begins with, as a part of its length."`
	Audio  *Audio  `json:"audio,omitempty" jsonschema:"The same with sounds, in place of images."`
	SessionKeys
	Patience Patience `json:"patience,omitzero" jsonschema:"How long users wait for the whole answer before they leave."`
	Whole    bool     `json:"whole-answers,omitempty" jsonschema:"Whether users get an answer as a whole when its last token is there, since it is not streamed. TTFT is then E2E, and there are no times between tokens. Default: answers are streamed."`
	KeepCut  bool     `json:"keep-cut,omitempty" jsonschema:"Whether a session goes on from what came out of an answer that its user cut. Default: later prompts repeat the whole answer as planned, and the session counts as incomplete."`
	Classes  []Class  `json:"classes,omitempty" jsonschema:"Kinds of requests, mixed by share and reported separately."`
	Trace    *Trace   `json:"trace,omitempty" jsonschema:"Recorded requests instead of random ones."`
}

// Recorded reports whether requests come from traces.
func (w *Workload) Recorded() bool { return w.Trace != nil || w.tracedClasses() }

// Resampled reports whether parts of traces are drawn by the seed.
func (w *Workload) Resampled() bool {
	drawn := func(t *Trace) bool { return t != nil && t.Resample > 0 }
	return drawn(w.Trace) ||
		slices.ContainsFunc(w.Classes, func(c Class) bool { return drawn(c.Trace) })
}

// tracedClasses reports whether classes have traces of their own.
func (w *Workload) tracedClasses() bool {
	return slices.ContainsFunc(w.Classes, func(c Class) bool { return c.Trace != nil })
}

// Class is a kind of request. Keys that it leaves out follow the workload around it.
type Class struct {
	Name        string   `json:"name" required:"true" jsonschema:"Name in reports and in the class column of a trace."`
	Share       float64  `json:"share,omitempty" above:"0" jsonschema:"Its weight among the classes without a rate. Default: 1."`
	Rate        Rate     `json:"rate,omitzero" jsonschema:"Its own rate. Default: by its share."`
	Arrivals    Arrivals `json:"arrivals,omitzero" except:"closed-loop,at-once,users,think,start,ramp-up,start-min,start-max" jsonschema:"How evenly they arrive, if the class has a rate. Default: poisson."`
	RequestKeys `jsonschema:"As in the workload, whose value is the default."`
	SessionKeys `jsonschema:"As in the workload, whose value is the default."`
	Trace       *Trace   `json:"trace,omitempty" except:"repeat,max-wait" jsonschema:"Recorded requests of this class, at their own times. All classes have one, or none has."`
	Model       string   `json:"model,omitempty" jsonschema:"Model that its requests name, if the pools serve several models."`
	Priority    int      `json:"priority,omitempty" min:"-1000" max:"1000" jsonschema:"How urgent its requests are, for policies that use it; larger is more urgent."`
	Tenant      string   `json:"tenant,omitempty" jsonschema:"Tenant who sends its requests, for fair policies and reports. Tenants are numbered from 0 in the order of the classes. Default: the same for all."`
	Deadline    Span     `json:"deadline,omitempty" above:"0" jsonschema:"Time by which the answer should be complete, for policies that use it. Default: the e2e limit of the SLO."`
	Patience    Patience `json:"patience,omitzero" jsonschema:"As in the workload, whose value is the default."`
	SLO         SLO      `json:"slo,omitzero" except:"itl" jsonschema:"Its SLO. Default: that of the scenario."`

	Region string `json:"region,omitempty" jsonschema:"Region of its users, if pools have regions. Default: that of the first pool."`

	Escalated *Escalated `json:"escalated,omitempty" jsonschema:"Class whose requests are sent on to this one, such as to a larger model, with the same prompts and lengths of answers."`
}

// RequestKeys describe single requests, of a workload or a class.
type RequestKeys struct {
	Preset   string  `json:"preset,omitempty" enum:"coding-agent,research-agent,support-chat,rag,judges" jsonschema:"What requests look like, from published figures (docs/agents.md): the default of prompt, output, prefix and sessions."`
	Prompt   Length  `json:"prompt,omitzero" jsonschema:"Length of prompts in tokens: a number, or a distribution. Default: normal, mean 500, std 200, from 2 to 2000."`
	Output   Length  `json:"output,omitzero" jsonschema:"Length of answers in tokens. Default: normal, mean 250, std 100, from 2 to 1000."`
	Prefix   *Prefix `json:"prefix,omitempty" jsonschema:"A text that groups of prompts begin with, added to the length of prompt."`
	Distinct int     `json:"distinct,omitempty" min:"1" jsonschema:"Number of different prompts, which are sent in turn. Default: all differ."`
	Samples  int     `json:"samples,omitempty" min:"1" max:"1024" jsonschema:"Number of answers to each prompt (best-of-n). Each counts as a request. They come together and have the same length; the prefix cache shares their prompt. Default: 1."`
	BeamStep int     `json:"beam-step,omitempty" min:"1" jsonschema:"Number of tokens after which each sample goes on from one of them, drawn at random, as in a beam search (1) or a search over steps of reasoning. Each step of a beam counts as a request. Default: samples do not fork."`
}

// SessionKeys describe the sessions that requests belong to.
type SessionKeys struct {
	Sessions *Sessions `json:"sessions,omitempty" jsonschema:"Conversations of several turns. Each prompt repeats the earlier turns."`
	Calls    []Call    `json:"calls,omitempty" jsonschema:"Sessions call by call, in place of prompt, output and sessions. A call that would not fit into the context is left out."`
}

// Escalated describes requests that are sent on after their answer.
type Escalated struct {
	From  string  `json:"from" required:"true" jsonschema:"Earlier class whose requests are sent on when they have ended, with an answer or without."`
	Share float64 `json:"share" required:"true" min:"0" max:"1" jsonschema:"Probability that a request is sent on."`
}

// Prefix is text that prompts share: system prompts, documents, examples.
type Prefix struct {
	Groups int     `json:"groups,omitempty" required:"true" min:"1" jsonschema:"Number of different prefixes."`
	Tokens Length  `json:"tokens,omitzero" required:"true" jsonschema:"Length of a prefix."`
	Zipf   float64 `json:"zipf,omitempty" min:"0" jsonschema:"Prefix number k is chosen in proportion to k^-zipf."`
}

// Images describes the images that every prompt begins with.
type Images struct {
	Count int    `json:"count,omitempty" min:"1" max:"1000" jsonschema:"Number of images. Default: 1."`
	Size  string `json:"size,omitempty" short:"true" required:"true" jsonschema:"Width and height of each image in pixels, such as 1024x768."`
}

// Audio describes the sounds that every prompt begins with.
type Audio struct {
	Count  int  `json:"count,omitempty" min:"1" max:"1000" jsonschema:"Number of sounds. Default: 1."`
	Length Span `json:"length" short:"true" required:"true" above:"0" jsonschema:"Length of each sound, such as 30s, at most 24h."`
}

// Sessions describes conversations.
type Sessions struct {
	Turns Length `json:"turns,omitzero" short:"true" required:"true" jsonschema:"Number of turns of a conversation."`
	Think Delay  `json:"think,omitzero" jsonschema:"Time between an answer and the next message."`

	Tools    *Tools    `json:"tools,omitempty" jsonschema:"Tools whose results come in place of messages of the user."`
	Agents   *Agents   `json:"agents,omitempty" jsonschema:"Further agents that a turn starts."`
	Thinking *Thinking `json:"thinking,omitempty" jsonschema:"Part of answers that is not for the user."`
	Compact  *Compact  `json:"compact,omitempty" jsonschema:"When a summary takes the place of a long text. Default: a session ends before its context is too long."`
}

// Call is a request of a session that is described call by call.
type Call struct {
	Name   string   `json:"name" required:"true" jsonschema:"Name of the call in this list."`
	After  []string `json:"after,omitempty" jsonschema:"Calls that must have ended before this one is sent."`
	From   string   `json:"from,omitempty" jsonschema:"Call, of those in after, whose prompt and answer the prompt begins with."`
	Prompt Length   `json:"prompt" required:"true" jsonschema:"Number of new tokens of the prompt."`
	Output Length   `json:"output,omitzero" jsonschema:"Length of the answer. Default: that of output."`
	Wait   Delay    `json:"wait,omitzero" jsonschema:"Time from the end of the calls before."`
}

// Tools describes tool calls.
type Tools struct {
	Share   float64 `json:"share" required:"true" above:"0" max:"1" jsonschema:"Probability that a turn after the first has the result of a tool, not a message of the user."`
	Result  Length  `json:"result" required:"true" jsonschema:"Length of a result in tokens."`
	Wait    Delay   `json:"wait,omitzero" jsonschema:"Time that a tool takes."`
	Retries float64 `json:"retries,omitempty" min:"0" max:"0.9" jsonschema:"Probability that an answer cannot be used, and the same prompt is sent again."`
}

// Agents describes agents that work for another one, all at the same time.
type Agents struct {
	Share  float64 `json:"share" required:"true" above:"0" max:"1" jsonschema:"Probability that a turn after the first has the last answers of agents that the turn before started."`
	Count  Length  `json:"count" required:"true" jsonschema:"Number of agents that a turn starts."`
	Turns  Length  `json:"turns" required:"true" jsonschema:"Number of turns of an agent; after the first, with results of tools."`
	Prompt Length  `json:"prompt" required:"true" jsonschema:"Length of what an agent is told, after the prefix."`
}

// Thinking describes thinking tokens.
type Thinking struct {
	Share  float64 `json:"share" short:"true" required:"true" above:"0" max:"0.99" jsonschema:"Share of an answer's tokens, at its beginning."`
	Keep   string  `json:"keep,omitempty" enum:"all,task,none" jsonschema:"Which later prompts repeat them: all, those before the next message of the user, or none. Default: none."`
	Budget int     `json:"budget,omitempty" min:"1" jsonschema:"Largest number of thinking tokens of an answer (vLLM's thinking_token_budget)."`
}

// Compact describes compaction of the context.
type Compact struct {
	At int `json:"at" required:"true" min:"2" jsonschema:"Length of a prompt with its answer, in tokens, at which the model is asked for a summary."`
	To int `json:"to" required:"true" min:"1" jsonschema:"Length of the summary in tokens."`
}

// Delay is a thinking time of users.
type Delay struct {
	Mean         Span    `json:"mean,omitempty" short:"true" required:"true" min:"0" jsonschema:"Mean."`
	Distribution string  `json:"distribution,omitempty" kind:"true" enum:"constant,exponential,gamma,lognormal" jsonschema:"Distribution."`
	CV           float64 `json:"cv,omitempty" need:"gamma,lognormal" min:"0.001" max:"100" jsonschema:"Standard deviation divided by the mean."`
}

// Think is the time for which users think, which varies unless it is called constant: users who all
// think for the same time march in step.
type Think struct {
	Mean         Span    `json:"mean,omitempty" short:"true" required:"true" min:"0" jsonschema:"Mean."`
	Distribution string  `json:"distribution,omitempty" kind:"true" enum:"exponential,constant,gamma,lognormal" jsonschema:"Distribution."`
	CV           float64 `json:"cv,omitempty" need:"gamma,lognormal" min:"0.001" max:"100" jsonschema:"Standard deviation divided by the mean."`
}

// CloseLoop writes users as the closed loop that they are, and reports what contradicts them; users
// that were written so before stay. The workload's keys follow prefix, and given reports whether a
// key is in the file.
func (w *Workload) CloseLoop(prefix string, given func(key string) bool,
	problem func(field, format string, args ...any)) {
	if w.Users == 0 {
		if given(prefix+"think") && !given(prefix+"users") {
			problem(prefix+"think", "applies only to users: give their number, such as users: 200")
		}
		return
	}
	rival := func(key string, found bool) {
		if found {
			problem(prefix+key, "has no meaning beside users, who send a request when they have "+
				"read the answer before and thought; leave one of the two out")
		}
	}
	for _, key := range []string{"rate", "arrivals"} {
		rival(key, given(prefix+key))
	}
	for i := range w.Classes {
		for _, key := range []string{"rate", "trace"} {
			class := fmt.Sprintf("classes.%d.%s", i, key)
			rival(class, given(prefix+class))
		}
	}
	w.Arrivals = Arrivals{Process: "closed-loop", Users: w.Users}
	if w.Think.Mean > 0 {
		w.Arrivals.Think = Delay(w.Think)
		w.Arrivals.Think.Distribution = cmp.Or(w.Think.Distribution, "exponential")
	}
	w.Users, w.Think = 0, Think{}
}

// Patience is the time that users wait for an answer.
type Patience struct {
	Mean         Span    `json:"mean,omitempty" short:"true" required:"true" above:"0" jsonschema:"Mean, drawn for each request."`
	Distribution string  `json:"distribution,omitempty" kind:"true" enum:"constant,exponential,gamma,lognormal" jsonschema:"Distribution."`
	CV           float64 `json:"cv,omitempty" need:"gamma,lognormal" min:"0.001" max:"100" jsonschema:"Standard deviation divided by the mean."`
	From         string  `json:"from,omitempty" enum:"arrival,first-token" jsonschema:"From when it counts: with first-token, users leave so long after the answer began. Default: arrival."`
}

// Trace is a recorded workload. If the scenario gives a rate or arrivals, the times of the trace do
// not count.
type Trace struct {
	File     string  `json:"file,omitempty" short:"true" required:"true" jsonschema:"File, plain or gzip, beside the scenario file or in the current folder."`
	Format   string  `json:"format,omitempty" enum:"azure,bailian,burstgpt,mooncake,llmsim,sharegpt,tracelab,tracelab-rounds,servegen,weka,otel" jsonschema:"Format of the file. Default: found from its first line."`
	Scale    float64 `json:"scale,omitempty" min:"0.000001" max:"1000000" jsonschema:"A factor on the rate of the trace. Default: 1."`
	From     Span    `json:"from,omitempty" min:"0" jsonschema:"Time of the trace at which the replay begins."`
	For      Span    `json:"for,omitempty" above:"0" jsonschema:"Length of the replayed part. Default: all."`
	Offset   bool    `json:"offset,omitempty" jsonschema:"Whether the time before the first row of the file is part of the replay. Default: only with from, resample or traces of classes."`
	Resample Span    `json:"resample,omitempty" above:"0" jsonschema:"Length of the parts, such as 1d, into which the trace is cut. As many as the trace has are drawn with replacement, and played one after another, at the times of the trace."`
	Overlong string  `json:"overlong,omitempty" enum:"reject,clamp" jsonschema:"Whether requests longer than the engine's limit are refused, or cut to what fits. Default: reject."`
	MaxWait  Span    `json:"max-wait,omitempty" above:"0" jsonschema:"Longest time between the calls of a recorded session, to which longer ones are cut."`
	Repeat   bool    `json:"repeat,omitempty" jsonschema:"Whether the trace starts again at its end; it needs a rate or arrivals of the scenario."`
}

// Rate is the number of requests a second over time.
type Rate struct {
	Pattern string    `json:"pattern,omitempty" kind:"true" enum:"steady,phases,bursts,wave" jsonschema:"Law by which the rate changes."`
	Value   PerSecond `json:"value,omitempty" short:"true" need:"steady" above:"0" jsonschema:"Rate."`
	Phases  []Phase   `json:"phases,omitempty" need:"phases" jsonschema:"One after another."`
	Repeat  bool      `json:"repeat,omitempty" only:"phases" jsonschema:"Whether the first phase follows the last one; otherwise arrivals end."`
	High    PerSecond `json:"high,omitempty" need:"bursts" above:"0" jsonschema:"Rate in a burst."`
	Low     PerSecond `json:"low,omitempty" only:"bursts" min:"0" jsonschema:"Rate between bursts."`
	For     Span      `json:"for,omitempty" need:"bursts" above:"0" jsonschema:"How long a burst lasts."`
	Pause   Span      `json:"pause,omitempty" need:"bursts" above:"0" jsonschema:"Time from a burst to the next."`
	Random  bool      `json:"random,omitempty" only:"bursts" jsonschema:"Whether these lengths are random, with these means."`
	Average PerSecond `json:"average,omitempty" need:"wave" above:"0" jsonschema:"Mean rate of a daily wave."`
	Swing   float64   `json:"swing,omitempty" need:"wave" min:"0" max:"1" jsonschema:"How far the rate rises and falls, as a share."`
	Period  Span      `json:"period,omitempty" only:"wave" above:"0" jsonschema:"Length of the wave. Default: 1d."`
	Peak    Span      `json:"peak,omitempty" only:"wave" min:"0" jsonschema:"Time at which the rate is highest. Default: at the start."`
}

// Phase is a stretch of time in which the rate holds or changes evenly.
type Phase struct {
	Rate PerSecond  `json:"rate" required:"true" min:"0" jsonschema:"Rate at the start of the phase."`
	To   *PerSecond `json:"to,omitempty" min:"0" jsonschema:"Rate at its end. Default: the same."`
	For  Span       `json:"for" required:"true" above:"0" jsonschema:"Its length."`
}

// Arrivals says how evenly requests arrive around the rate.
type Arrivals struct {
	Process  string  `json:"process,omitempty" kind:"true" short:"true" enum:"poisson,constant,gamma,weibull,lognormal,closed-loop,at-once" jsonschema:"Gaps of a distribution, users who wait for their answers (closed-loop), or all requests at the start (at-once)."`
	CV       float64 `json:"cv,omitempty" need:"gamma,lognormal" only:"weibull" min:"0.001" max:"100" jsonschema:"Coefficient of variation of the gaps: 1 is like Poisson, a larger number is burstier."`
	Shape    float64 `json:"shape,omitempty" only:"weibull" above:"0" jsonschema:"Shape parameter of the gaps, instead of cv: 1 is Poisson, a smaller number is burstier."`
	Users    int     `json:"users,omitempty" need:"closed-loop" min:"1" jsonschema:"Number of users, who each wait for an answer before the next request."`
	Think    Delay   `json:"think,omitzero" only:"closed-loop" jsonschema:"Time between an answer and the user's next request."`
	Start    string  `json:"start,omitempty" only:"closed-loop" enum:"equilibrium,together" jsonschema:"When users send their first requests: each at a random place of the mean cycle of answer and thinking, as if they had been there before (equilibrium), or all at once (together), as benchmarks do. Default: equilibrium, or over ramp-up."`
	RampUp   Span    `json:"ramp-up,omitempty" only:"closed-loop" min:"0" jsonschema:"Time over which the users' first requests are spread evenly, in place of start."`
	StartMin float64 `json:"start-min,omitempty" only:"closed-loop" min:"0" max:"1" jsonschema:"Least share of the calls of a user's first session that were made before the run, as in AgentX."`
	StartMax float64 `json:"start-max,omitempty" only:"closed-loop" min:"0" max:"1" jsonschema:"Largest such share. Default: 1 in equilibrium, 0 otherwise."`
}

// Length is a distribution of token counts. Continuous ones are rounded, and truncated to [min,
// max].
type Length struct {
	Distribution string  `json:"distribution,omitempty" kind:"true" enum:"fixed,uniform,normal,lognormal,gamma,exponential,zipf,empirical" jsonschema:"Distribution."`
	Value        int     `json:"value,omitempty" short:"true" need:"fixed" min:"1" jsonschema:"Length, if all lengths are the same."`
	Mean         float64 `json:"mean,omitempty" need:"normal,lognormal,gamma,exponential" above:"0" jsonschema:"Mean, before truncation."`
	Std          float64 `json:"std,omitempty" need:"normal" min:"0" jsonschema:"Standard deviation, before truncation."`
	CV           float64 `json:"cv,omitempty" need:"lognormal,gamma" min:"0" jsonschema:"Standard deviation divided by the mean, before truncation."`
	Exponent     float64 `json:"exponent,omitempty" need:"zipf" min:"0" jsonschema:"Probability of a length k is proportional to k^-exponent."`
	Min          int     `json:"min,omitempty" need:"uniform" only:"normal,lognormal,gamma,exponential,zipf" min:"1" jsonschema:"Shortest length. Default: 1."`
	Max          int     `json:"max,omitempty" need:"uniform,zipf" only:"normal,lognormal,gamma,exponential" min:"1" jsonschema:"Longest length. Default: engine.max-model-len, or the longest context for which the model was made."`
	File         string  `json:"file,omitempty" need:"empirical" jsonschema:"A file with a length in each line, and its weight in a second column."`
}

// Scaled returns the distribution with all lengths multiplied by a factor. A distribution that is
// read from a file, or left to its default, does not change.
func (l Length) Scaled(by float64) Length {
	scale := func(n int) int {
		if n == 0 {
			return 0
		}
		return max(1, int(math.Round(float64(n)*by)))
	}
	l.Value, l.Min, l.Max = scale(l.Value), scale(l.Min), scale(l.Max)
	l.Mean, l.Std = l.Mean*by, l.Std*by
	return l
}

// Ends reports whether all rates stop by themselves.
func (w *Workload) Ends() bool {
	shared := len(w.Classes) == 0
	for i := range w.Classes {
		if r := &w.Classes[i].Rate; r.Pattern == "" && r.Value == 0 {
			shared = true
		} else if !r.ends() {
			return false
		}
	}
	return !shared || w.Rate.ends()
}

// ends reports whether a rate stops by itself.
func (r *Rate) ends() bool { return r.Pattern == "phases" && !r.Repeat }

// Lengths returns the distribution of token counts. An empirical distribution is read from a file
// of fsys.
func (l *Length) Lengths(fsys fs.FS) (*lengths.Distribution, error) {
	switch l.Distribution {
	case "uniform":
		return lengths.Uniform(l.Min, l.Max)
	case "normal":
		return lengths.Normal(l.Mean, l.Std, l.Min, l.Max)
	case "lognormal":
		return lengths.LogNormal(l.Mean, l.CV, l.Min, l.Max)
	case "gamma":
		return lengths.Gamma(l.Mean, l.CV, l.Min, l.Max)
	case "exponential":
		return lengths.Exponential(l.Mean, l.Min, l.Max)
	case "zipf":
		return lengths.Zipf(l.Exponent, l.Min, l.Max)
	case "empirical":
		return lengths.Read(fsys, l.File)
	}
	return lengths.Fixed(l.Value)
}

// The defaults for a scenario that does not describe its load.
const (
	defaultRate     PerSecond = 1
	defaultRequests int64     = 1000
)

func defaultPrompt() Length {
	return Length{Distribution: "normal", Mean: 500, Std: 200, Min: 2, Max: 2000}
}

func defaultOutput() Length {
	return Length{Distribution: "normal", Mean: 250, Std: 100, Min: 2, Max: 1000}
}

// complete fills in the defaults of a distribution; longest bounds it if nothing else does. A
// default length takes at most half of the context, so that a default prompt and a default output
// fit together.
func (l *Length) complete(otherwise Length, longest int) {
	if *l == (Length{}) {
		*l = otherwise
		l.Max = max(1, min(l.Max, longest/2))
		l.Min = min(l.Min, l.Max)
	}
	if l.Distribution != "" && l.Distribution != "fixed" && l.Distribution != "empirical" {
		l.Min, l.Max = cmp.Or(l.Min, 1), cmp.Or(l.Max, longest)
	}
}

// complete fills in the defaults of the rate.
func (r *Rate) complete() {
	switch r.Pattern {
	case "", "steady":
		r.Value = cmp.Or(r.Value, defaultRate)
	case "wave":
		r.Period = cmp.Or(r.Period, Span(24*60*60*sim.Second))
	}
}
