package clients

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func goClient(address, key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(address+"/v1"), option.WithAPIKey(key),
		option.WithMaxRetries(0))
}

// chat returns the parameters of a chat of one message.
func chat(content string, most int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:               "llama-3.1-8b",
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)},
		MaxCompletionTokens: openai.Int(most),
	}
}

func TestGoClient(t *testing.T) {
	address := server(t, "--api-key", "secret")
	client := goClient(address, "secret")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	t.Run("models", func(t *testing.T) {
		page, err := client.Models.List(ctx)
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != "llama-3.1-8b" {
			t.Errorf("%+v, %v", page, err)
		}
	})
	t.Run("whole", func(t *testing.T) {
		answer, err := client.Chat.Completions.New(ctx, chat("Hello", 5))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Usage.CompletionTokens != 5 || answer.Choices[0].FinishReason != "length" ||
			answer.Choices[0].Message.Content == "" {
			t.Errorf("%+v", answer)
		}
	})
	t.Run("stream", func(t *testing.T) {
		p := chat("Hello", 8)
		p.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(ctx, p)
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Fatalf("a chunk does not go with those before: %s", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil || all.Usage.CompletionTokens != 8 ||
			len(strings.Fields(all.Choices[0].Message.Content)) != 8 {
			t.Errorf("%+v, %v", all.ChatCompletion, err)
		}
	})
	t.Run("tools", func(t *testing.T) {
		p := chat("Rain in Basel?", 200)
		p.Tools = []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
				Name: "weather",
				Parameters: openai.FunctionParameters{
					"type": "object", "properties": map[string]any{
						"city": map[string]any{"type": "string"}}, "required": []string{"city"},
				},
			})}
		stream := client.Chat.Completions.NewStreaming(ctx, p)
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			all.AddChunk(stream.Current())
		}
		calls := all.Choices[0].Message.ToolCalls
		var arguments struct{ City string }
		if stream.Err() != nil || len(calls) != 1 || calls[0].Function.Name != "weather" ||
			json.Unmarshal([]byte(calls[0].Function.Arguments), &arguments) != nil ||
			arguments.City == "" {
			t.Errorf("%+v, %v", all.Choices, stream.Err())
		}
	})
	t.Run("responses", func(t *testing.T) {
		stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
			Model: "llama-3.1-8b", MaxOutputTokens: openai.Int(6),
			Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello")},
		})
		text, completed := "", false
		for stream.Next() {
			event := stream.Current()
			if event.Type == "response.output_text.delta" {
				text += event.Delta
			}
			completed = completed || event.Type == "response.incomplete"
		}
		if stream.Err() != nil || !completed || len(strings.Fields(text)) != 6 {
			t.Errorf("%q, %v, %v", text, completed, stream.Err())
		}
	})
	t.Run("errors", func(t *testing.T) {
		stranger := goClient(address, "wrong")
		for _, c := range []struct {
			client openai.Client
			change func(*openai.ChatCompletionNewParams)
			status int
			code   string
		}{
			{stranger, func(*openai.ChatCompletionNewParams) {}, 401, "invalid_api_key"},
			{client, func(p *openai.ChatCompletionNewParams) { p.Model = "gpt-9" }, 404,
				"model_not_found"},
			{client, func(p *openai.ChatCompletionNewParams) {
				p.MaxCompletionTokens = openai.Int(1 << 20)
			}, 400, "context_length_exceeded"},
		} {
			p := chat("Hello", 5)
			c.change(&p)
			_, err := c.client.Chat.Completions.New(ctx, p)
			var e *openai.Error
			if !errors.As(err, &e) || e.StatusCode != c.status || e.Code != c.code ||
				e.Message == "" {
				t.Errorf("found %v, want %d %s", err, c.status, c.code)
			}
		}
	})
	t.Run("abort", func(t *testing.T) {
		inner, stop := context.WithCancel(ctx)
		p := chat("Hello", 10_000)
		stream := client.Chat.Completions.NewStreaming(inner, p,
			option.WithJSONSet("ignore_eos", true))
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
		stop()
		for stream.Next() {
		}
		if stream.Err() == nil {
			t.Error("an aborted stream ended without an error")
		}
	})
}
