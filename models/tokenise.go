package models

// Seconds that the host of an H100 takes for each token of a prompt before its first step.
const (
	// tokenise is what Kimi-K2.5's tokenizer takes under SGLang: 47 ms for 80,000 tokens
	// (sgl-project/sglang, pull request 25265); those of Hugging Face take 1.1 µs a token of a long
	// text in one thread (charlesxu.io/parallel-tokenizer). Served rows leave no room for more: of
	// gpt-oss and Llama under TensorRT-LLM, prompts of 8,192 tokens begin no later than those of
	// 1,024 let one expect (SemiAnalysisAI/InferenceX).
	tokenise = 0.6e-6
	// tokeniseDeepSeek is that of DeepSeek-V3's tokenizer, which splits texts by three expressions
	// in turn, for prompts of random tokens: with four and eight clients, prompts of 8,192 tokens
	// take 47 to 57 ms longer than steps and prompts of 1,024 explain, under TensorRT-LLM on H200
	// and B200 and under SGLang on MI300X and MI355X alike, whose hosts are 1.3 to 2 times slower
	// (SemiAnalysisAI/InferenceX-app).
	tokeniseDeepSeek = 4e-6
)

// vocabDeepSeek is the number of tokens of DeepSeek-V3's tokenizer and of its successors'.
const vocabDeepSeek = 129_280

// Tokenise returns the seconds in which a server sends, reads and tokenises one token of a prompt:
// those of the model's tokenizer, which servers of all engines call in the same way (SGLang's
// TokenizerManager, vLLM's processor, tensorrt_llm/llmapi/tokenizer.py).
func (a *Architecture) Tokenise() float64 {
	if a.Vocab == vocabDeepSeek {
		return tokeniseDeepSeek
	}
	return tokenise
}
