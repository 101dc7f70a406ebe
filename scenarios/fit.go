package scenarios

// fit refuses a model that does not fit, and decides the longest context that is served. It is the
// context that the model was made for, or what the cache holds if that is less. It sets ownContext.
func (p *server) fit() {
	name, made := p.Config.Model.Name, p.Config.Model.MaxContext
	if err := p.Plan.Err(); err != nil {
		field := "model"
		switch {
		case p.Plan.Missing == 0:
			field = "memory.tokens"
		case p.Plan.Adapters > p.Plan.Missing: // it fits without them
			field = "adapters"
		}
		p.problem(field, "%s %v. %s", name, err, p.whatWouldFit())
		return
	}
	most, asked := p.Plan.Longest(), p.s.Engine.MaxModelLen
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
		p.s.Engine.MaxModelLen = most
	default:
		p.s.Engine.MaxModelLen = made
	}
	p.ownContext = p.s.Engine.MaxModelLen
}
