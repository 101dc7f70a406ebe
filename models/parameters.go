package models

// Parameters counts the parameters of a model by component. Total is exact: it equals the number of
// elements in the published weights, buffers and duplicates of tied matrices aside.
type Parameters struct {
	// Embedding is the input embedding, with OPT-350M's projections; a tied output head is counted
	// here, and once.
	Embedding int64
	// Positions is the learned position table, or the projections of relative positions.
	Positions int64
	// Attention is the query, key, value and output projections.
	Attention int64
	// MLP is the feed-forward matrices of layers without experts.
	MLP int64
	// Router, Experts and SharedExperts are the parts of a mixture of experts.
	Router, Experts, SharedExperts int64
	// Norms is the weights and biases of all norms; Biases counts the biases of the projections,
	// and the attention sinks.
	Norms, Biases int64
	// Head is the output head; 0 when it is tied to the embedding.
	Head int64
	// Towers is the encoders of images and sounds.
	Towers int64
}

// Total returns the number of all parameters.
func (p Parameters) Total() int64 {
	return p.Embedding + p.Positions + p.Attention + p.MLP + p.Router + p.Experts +
		p.SharedExperts + p.Norms + p.Biases + p.Head + p.Towers
}

// Parameters counts all parameters.
func (a *Architecture) Parameters() Parameters { return a.count(allExperts) }

// ActiveParameters counts the parameters on the path of one token: with a mixture of experts, only
// the experts that it visits, and of the embeddings for each layer nothing, since it reads one row
// of each. Towers have no biases: text does not pass through them.
func (a *Architecture) ActiveParameters() Parameters {
	p := a.count(activeExperts)
	p.Towers = 0
	p.Embedding -= layerInputs(a)
	return p
}

// count counts the parameters with all routed experts of each layer, or with the experts that a
// token visits.
func (a *Architecture) count(share expertShare) Parameters {
	var p Parameters
	p.Embedding = product(a.Vocab, a.embeddingDim())
	if a.EmbeddingDim != 0 {
		p.Embedding += 2 * product(a.EmbeddingDim, a.Hidden)
	}
	p.Embedding += layerInputs(a)
	p.Positions = product(a.LearnedPositions, a.Hidden)
	if !a.TiedEmbeddings {
		p.Head = product(a.Vocab, a.embeddingDim())
	}
	for _, l := range a.LinearLayers(1) {
		p.add(&l, share)
	}
	norms := product(a.norms(), a.Hidden) + int64(a.LayerInput)
	for i := range a.Groups {
		for _, part := range a.Groups[i].parts() {
			n, extra := int64(a.Groups[i].Count), part.nonMatrix(a.Hidden, share)
			norms += n * extra.Norms
			p.Biases += n * extra.Biases
			p.Positions += n * extra.Positions
		}
	}
	if a.NormBias {
		norms *= 2
	}
	p.Norms = norms
	for _, t := range a.Towers {
		p.Towers += t.Parameters
	}
	if a.HeadBias {
		p.Biases += int64(a.Vocab)
	}
	return p
}

// layerInputs returns the number of parameters of the embeddings for each layer.
func layerInputs(a *Architecture) int64 {
	if a.LayerInput == 0 {
		return 0
	}
	return product(a.Vocab, a.Layers(), a.LayerInput)
}

// add counts the matrices of a linear layer.
func (p *Parameters) add(l *Linear, share expertShare) {
	n := l.Weights() * int64(l.Count)
	switch l.Part {
	case AttentionPart:
		p.Attention += n
	case MLPPart:
		p.MLP += n
	case RouterPart:
		p.Router += n
	case SharedPart:
		p.SharedExperts += n
	case ExpertPart:
		if share == activeExperts {
			n = n / int64(l.Experts) * int64(l.Active)
		}
		p.Experts += n
	}
}

// PredictorParameters counts the parameters of the layers for multi-token prediction, each with its
// projection.
func (a *Architecture) PredictorParameters() int64 {
	if len(a.Predictors) == 0 {
		return 0
	}
	layers := *a
	layers.Groups, layers.Towers = a.Predictors, nil
	p := layers.Parameters()
	return p.Attention + p.MLP + p.Router + p.Experts + p.SharedExperts + p.Norms + p.Biases +
		int64(layers.Layers())*(product(2, a.Hidden, a.Hidden)+product(2, a.Hidden))
}

// Seconds that the host of an H100 takes for each token of a prompt before its first step.
const (
	// tokenise is the time of Kimi-K2.5's tokenizer under SGLang: 47 ms for 80,000 tokens
	// (sgl-project/sglang, pull request 25265); tokenizers of Hugging Face take 1.1 µs a token of a
	// long text in one thread (charlesxu.io/parallel-tokenizer). Served rows leave no room for
	// more: of gpt-oss and Llama under TensorRT-LLM, prompts of 8,192 tokens begin no later than
	// prompts of 1,024 let one expect (SemiAnalysisAI/InferenceX).
	tokenise = 0.6e-6
	// tokeniseDeepSeek is the time of DeepSeek-V3's tokenizer, which splits texts by three
	// expressions in turn, for prompts of random tokens: with four and eight clients, prompts of
	// 8,192 tokens take 47 to 57 ms longer than steps and prompts of 1,024 explain, under
	// TensorRT-LLM on H200 and B200 and under SGLang on MI300X and MI355X alike, whose hosts are
	// 1.3 to 2 times slower (SemiAnalysisAI/InferenceX-app).
	tokeniseDeepSeek = 4e-6
)

// vocabDeepSeek is the number of tokens of DeepSeek-V3's tokenizer and of its successors'.
const vocabDeepSeek = 129_280

// Tokenise returns the seconds in which a server sends, reads and tokenises one token of a prompt:
// the time of the model's tokenizer, which servers of all engines call in the same way (SGLang's
// TokenizerManager, vLLM's processor, tensorrt_llm/llmapi/tokenizer.py).
func (a *Architecture) Tokenise() float64 {
	if a.Vocab == vocabDeepSeek {
		return tokeniseDeepSeek
	}
	return tokenise
}
