// Package trace reads recorded workloads as streams: one request at a time, from plain or gzip
// files of any length, in memory that does not grow with the file.
//
// The formats, which are recognised by their first line unless Options.Format names one:
//
//	azure     CSV with the columns TIMESTAMP, ContextTokens, GeneratedTokens (Azure LLM inference
//	          traces of 2023 and 2024; github.com/Azure/AzurePublicDataset). Times are dates like
//	          2023-11-16 18:15:46.6805900, with or without a fraction and a zone (+00:00 or Z; UTC
//	          where there is none), and are counted from the first row.
//	bailian   JSON lines as Mooncake's, with timestamps in seconds, a hash_id for each 16 prompt
//	          tokens, chat_id, and parent_chat_id (-1 for the first turn of a chat). The turns of
//	          a chat are a session (github.com/alibaba-edu/qwen-bailian-usagetraces-anon).
//	burstgpt  CSV with the columns Timestamp (in seconds), Request tokens, Response tokens
//	          (github.com/HPMLL/BurstGPT), and Total tokens, which is their sum if it is there.
//	          Times are counted from the first row. Rows with 0 response tokens are failed
//	          requests: they are skipped and counted.
//	mooncake  JSON lines with timestamp (in milliseconds), input_length, output_length and
//	          hash_ids, one for each block of 512 prompt tokens, the last block being shorter
//	          (github.com/kvcache-ai/Mooncake). Equal hash_ids are equal text. A row may have
//	          block_size, the number of tokens for which one of its hash_ids stands, or
//	          block_sizes, a number for each of them; and answer_id, the hash_id that its answer
//	          has in the prompts of later rows, as llmsim serve --record writes it. Rows with
//	          session_id and delay (in milliseconds after the answer before) in place of a
//	          timestamp are further turns of the session, as AIPerf sends them.
//	llmsim    CSV with the columns arrival_s, prompt_tokens, output_tokens and any of class,
//	          tenant, priority, deadline_s (after the arrival), session, prefix (a number: rows
//	          with the same one share a text) and prefix_tokens (its length). Empty optional
//	          fields count as 0.
//	otel      JSON: an object for each session, one after another, with "spans" of OpenTelemetry
//	          that have start_time, end_time and attributes of generative models. A span with
//	          gen_ai.input.messages is a call, and follows the calls that had ended before. It
//	          ends when it starts or later, and its span_id is its own.
//	          Each message is a text of its own. Where gen_ai.usage has no numbers of tokens, four
//	          bytes of text count as one.
//	sharegpt  JSON: an array of objects, or objects one after another. Each has a prompt length
//	          under one of the keys prompt_len, prompt_tokens, input_len, input_length,
//	          input_tokens and an output length under one of output_len, output_tokens,
//	          output_length, completion_tokens; or is a pair [prompt, output]; or has
//	          "conversations", a list of messages with "tokens", of which the first two are the
//	          prompt and the answer, as in vLLM's serving benchmark. There are no arrival times:
//	          an object with a key that looks like a time is refused, unless the format is named.
//	tracelab  CSV with the columns session_id, arrival_time (of the session, in milliseconds),
//	          round_idx, prefix_len (the session so far), input_len (what the round adds),
//	          output_len and tool_wait_after_ms (github.com/uw-syfi/TraceLab). The rounds of a
//	          session stand one after another. Later rounds come when the answer before is there
//	          and its tools have worked.
//	tracelab-rounds
//	          JSON: an object for each call, one after another, with session_id,
//	          input_tokens_total, prefix_tokens, output_tokens and timing_events, as TraceLab
//	          recorded them. The calls of a session stand one after another. A prompt begins with
//	          prefix_tokens of the session so far. There are no arrival times.
//	servegen  CSV with a client in each row and the columns mean_rate_rps, rate_weighted_cv,
//	          main_arrival (Gamma or Weibull), windows (of 600 s), active_windows (the others are
//	          silent; those of them are drawn) and the mean and p50 of
//	          input_tokens (or text_tokens, image_tokens, …) and output_tokens
//	          (github.com/alibaba/ServeGen). Requests are drawn: gaps of that coefficient of
//	          variation, lengths lognormal. Clients without lengths are left out.
//	weka      JSON: an object for each session, one after another, with block_size (in tokens) and
//	          requests, which have t and api_time (in seconds), in, out, hash_ids (which mean the
//	          same text within a session only) and think_time; or which are of the type subagent,
//	          and have requests of their own. Agents work beside each other, and the next request
//	          waits for all of them. There are no arrival times.
//
// CSV columns may come in any order, beside others, which are ignored; fields may be quoted but not
// hold line breaks. Rows must be in order of time. Requests have at least one prompt token and one
// output token: recorded zeros are raised to one and counted. A row that cannot be read ends the
// stream with an error that names file, line, field, what was found and what is allowed.
package trace
