package sim

// predict estimates when the prompts given to r will be computed, from the number of tokens that
// are not computed yet.
func (r *member) predict(now Time) {
	r.computed = now + Time(r.uncomputed)*r.timePerPromptToken()
}

// probe is the length in tokens of the prompt that measures the speed of a replica. It is about the
// length at which GPUs reach their full prefill throughput (Splitwise, ISCA 2024, figure 6).
const probe = 2048

// timePerPromptToken returns the time that r takes for one token of a prompt.
func (r *member) timePerPromptToken() Time {
	if r.promptToken == 0 {
		step := Step{Prefill: []Chunk{{New: probe, Last: true}}}
		r.promptToken = max(r.clock.Duration(&step)*Time(len(r.batches))/probe, 1)
	}
	return r.promptToken
}
