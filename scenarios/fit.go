package scenarios

// fitted is a planned server that fits, with the longest context that it serves.
type fitted struct {
	*planned
	s Scenario // with the longest context
}

// fit refuses a model that does not fit, and decides the longest context that is served. It is the
// context that the model was made for, or what the cache holds if that is less.
func fit(p *planned) *fitted {
	f := &fitted{planned: p, s: p.s}
	name, made := p.config.Model.Name, p.config.Model.MaxContext
	if err := p.plan.Err(); err != nil {
		field := "model"
		switch {
		case p.plan.Missing == 0:
			field = "memory.tokens"
		case p.plan.Adapters > p.plan.Missing: // it fits without them
			field = "adapters"
		}
		p.problem(field, "%s %v. %s", name, err, p.whatWouldFit())
		return f
	}
	most, asked := p.plan.Longest(), p.s.Engine.MaxModelLen
	switch {
	case asked > most:
		p.problem("engine.max-model-len",
			"found %d; the KV cache holds %d tokens, less than one such context. "+
				"Lower max-model-len, or raise memory.utilization or parallelism.tensor", asked,
			most)
	case asked > 0:
	case made == 0 || made > most:
		p.warn("contexts are limited to the %d tokens that the KV cache holds; %s was made for %d",
			most, name, made)
		f.s.Engine.MaxModelLen = most
	default:
		f.s.Engine.MaxModelLen = made
	}
	return f
}
