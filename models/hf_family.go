package models

// family is what a model_type implies beyond the fields of its config.json. Where it follows a
// default, that is of the family's configuration class in Hugging Face's transformers (or of the
// model's own repository).
type family struct {
	// defaults is the fields that are assumed where config.json is silent.
	defaults map[string]any
	// base has the traits that no field gives.
	base shape
	// fourfoldMLP reports whether the MLP is four times the hidden size unless a field says
	// otherwise.
	fourfoldMLP bool
	// biasOfInputs reports whether attention_bias means the projections of queries, keys and
	// values, not that of the output.
	biasOfInputs bool
	// qkNormKeys are the keys that tell whether queries and keys have norms.
	qkNormKeys []string
	// noDenseMLP reports whether the width of an ordinary MLP may be missing.
	noDenseMLP bool
	// headsFillHidden reports whether the heads are as wide as the hidden vector, whatever head_dim
	// says; latent that head_dim is not used.
	headsFillHidden, latent bool
	// read reads what only this family has.
	read func(c *config, s *shape)
}

// fields are values of config.json that are assumed where it is silent.
type fields = map[string]any
