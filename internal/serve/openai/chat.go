package openai

import (
	"encoding/json"
	"strings"
)

// message is one of a conversation. Items of the Responses API that are no messages have a type.
type message struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Output    string          `json:"output"`
	Arguments string          `json:"arguments"`
}

// part is a piece of a message's content.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// maxMessages bounds a conversation.
const maxMessages = 1 << 14

// conversation puts messages into one text, by a template of our own: a line with the role, then
// what was said. A conversation that goes on begins with the same text as before, so that its KV
// cache is found again.
func conversation(messages []message) ([]Prompt, error) {
	if len(messages) == 0 || len(messages) > maxMessages {
		return nil, Invalid("messages", "messages: found %d, allowed: 1 to %d", len(messages),
			maxMessages)
	}
	var text strings.Builder
	for i := range messages {
		m := &messages[i]
		role := m.Role
		if role == "" {
			role = m.Type
		}
		switch role {
		case "system", "developer", "user", "assistant", "tool", "function", "function_call",
			"function_call_output":
		case "reasoning", "item_reference":
			continue
		default:
			return nil, Invalid("messages",
				"messages.%d.role: found %q, allowed: system, developer, user, assistant, tool",
				i, shorten(role))
		}
		content, err := m.text(i)
		if err != nil {
			return nil, err
		}
		text.WriteString("<" + role + ">")
		text.WriteString(content)
		if !absent(m.ToolCalls) {
			text.Write(m.ToolCalls)
		}
		text.WriteString(m.Arguments + m.Output + "\n")
	}
	text.WriteString("<assistant>")
	return []Prompt{{Text: text.String()}}, nil
}

// text returns the content of the i-th message: a text, or a list of parts that are.
func (m *message) text(i int) (string, error) {
	if absent(m.Content) {
		return "", nil
	}
	var one string
	if json.Unmarshal(m.Content, &one) == nil {
		return one, nil
	}
	var parts []part
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", Invalid("messages",
			"messages.%d.content: found something other than a text or a list of parts", i)
	}
	var all strings.Builder
	for k, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text", "":
			all.WriteString(p.Text)
		default:
			return "", Invalid("messages",
				"messages.%d.content.%d.type: found %q, allowed: text; the model reads "+
					"nothing else", i, k, shorten(p.Type))
		}
	}
	return all.String(), nil
}

// input reads the prompt of the Responses API: a text or a list of messages.
func input(instructions string, raw json.RawMessage) ([]Prompt, error) {
	var messages []message
	if instructions != "" {
		content, err := json.Marshal(instructions)
		if err != nil {
			return nil, Invalid("instructions", "instructions: %v", err)
		}
		messages = append(messages, message{Role: "system", Content: content})
	}
	if absent(raw) {
		return nil, Invalid("input", "input: found none")
	}
	var one string
	var list []message
	if json.Unmarshal(raw, &one) == nil {
		list = []message{{Role: "user", Content: raw}}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return nil, Invalid("input",
			"input: found something other than a text or a list of messages")
	}
	return conversation(append(messages, list...))
}

// waiting reports whether the last message waits for an answer that may call a function: it is not
// what a function returned.
func waiting(b *body) bool {
	list := b.Messages
	if len(list) == 0 && json.Unmarshal(b.Input, &list) != nil {
		return true
	}
	if len(list) == 0 {
		return true
	}
	last := list[len(list)-1]
	return last.Role != "tool" && last.Role != "function" && last.Type != "function_call_output"
}
