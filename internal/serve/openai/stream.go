package openai

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Stream turns an answer into server-sent events, piece by piece. It collects bytes, which its user
// sends and resets.
type Stream struct {
	Head
	// Bytes is the event to send, as it goes over the wire.
	Bytes []byte
	// Continuous adds the usage so far to every event.
	Continuous bool
	// Logprobs are the probabilities of the next piece, or of what comes at the end of a choice;
	// nil without one.
	Logprobs json.RawMessage

	prefix []byte // of every event of Completions and Chat
	number int    // of the next event of Responses
}

// NewStream returns the stream of an answer.
func NewStream(h Head, continuous bool) *Stream {
	s := &Stream{Head: h, Continuous: continuous}
	s.prefix = append(s.prefix, `data: {"id":`...)
	s.prefix = append(s.prefix, quote(h.ID)...)
	s.prefix = append(append(s.prefix, `,"object":`...), quote(h.object(true))...)
	s.prefix = strconv.AppendInt(append(s.prefix, `,"created":`...), h.Created, 10)
	s.prefix = append(append(s.prefix, `,"model":`...), quote(h.Model)...)
	return s
}

// Begin opens the choice of an index, before its first piece.
func (s *Stream) Begin(index int, c *Choice) {
	switch {
	case s.Endpoint == Completions:
	case s.Endpoint == Responses:
		s.beginResponse(c)
	case c.Call == "":
		s.delta(index, []byte(`{"role":"assistant","content":""}`), nil, nil)
	default:
		zero := 0
		s.delta(index, mustMarshal(struct {
			Role    string  `json:"role"`
			Content *string `json:"content"`
			Calls   []call  `json:"tool_calls"`
		}{"assistant", nil, []call{{&zero, c.CallID, "function", callFunction{Name: c.Call}}}}),
			nil, nil)
	}
}

// Piece adds text to a choice.
func (s *Stream) Piece(index int, c *Choice, text string, u *Usage) {
	switch {
	case s.Endpoint == Responses:
		s.pieceOfResponse(c, text)
	case s.Endpoint == Completions:
		s.open(index)
		s.Bytes = appendText(append(s.Bytes, `"text":`...), text)
		s.close(nil, u)
	case c.Call != "":
		zero := 0
		s.delta(index, mustMarshal(struct {
			Calls []call `json:"tool_calls"`
		}{[]call{{Index: &zero, Function: callFunction{Arguments: text}}}}), nil, u)
	default:
		s.open(index)
		s.Bytes = append(appendText(append(s.Bytes, `"delta":{"content":`...), text), '}')
		s.close(nil, u)
	}
}

// Finish closes a choice, whose Text is complete.
func (s *Stream) Finish(index int, c *Choice, u *Usage) {
	switch s.Endpoint {
	case Responses:
		s.finishResponse(c, u)
	case Completions:
		s.open(index)
		s.Bytes = append(s.Bytes, `"text":""`...)
		s.close(c, u)
	default:
		s.delta(index, []byte(`{}`), c, u)
	}
}

// End closes the stream, with the usage where it is wanted.
func (s *Stream) End(u *Usage) {
	if s.Endpoint == Responses {
		return
	}
	if u != nil {
		s.Bytes = append(append(s.Bytes, s.prefix...), `,"choices":[],"usage":`...)
		s.Bytes = append(u.appendTo(s.Bytes, s.Endpoint), "}\n\n"...)
	}
	s.Bytes = append(s.Bytes, "data: [DONE]\n\n"...)
}

// Fail ends a stream that cannot go on.
func (s *Stream) Fail(e *Error) {
	if s.Endpoint == Responses {
		s.Bytes = append(s.Bytes, "event: error\n"...)
	}
	s.Bytes = append(append(append(s.Bytes, "data: "...), e.Body()...), "\n\n"...)
}

// delta adds an event of Chat, the last of a choice that is ended.
func (s *Stream) delta(index int, delta []byte, ended *Choice, u *Usage) {
	s.open(index)
	s.Bytes = append(append(s.Bytes, `"delta":`...), delta...)
	s.close(ended, u)
}

// open begins an event with one choice, and close ends it, as the last of a choice that is ended.
func (s *Stream) open(index int) {
	s.Bytes = append(append(s.Bytes, s.prefix...), `,"choices":[{"index":`...)
	s.Bytes = append(strconv.AppendInt(s.Bytes, int64(index), 10), ',')
}

func (s *Stream) close(ended *Choice, u *Usage) {
	s.Bytes = append(s.Bytes, `,"logprobs":`...)
	if s.Logprobs == nil {
		s.Bytes = append(s.Bytes, "null"...)
	}
	s.Bytes = append(append(s.Bytes, s.Logprobs...), `,"finish_reason":`...)
	s.Logprobs = nil
	switch {
	case ended == nil:
		s.Bytes = append(s.Bytes, "null}]"...)
	case ended.Stop == nil:
		s.Bytes = append(append(append(s.Bytes, '"'), ended.Finish...), `","stop_reason":null}]`...)
	default:
		s.Bytes = append(append(append(s.Bytes, '"'), ended.Finish...), `","stop_reason":`...)
		s.Bytes = append(appendText(s.Bytes, *ended.Stop), "}]"...)
	}
	if s.Continuous && u != nil {
		s.Bytes = u.appendTo(append(s.Bytes, `,"usage":`...), s.Endpoint)
	}
	s.Bytes = append(s.Bytes, "}\n\n"...)
}

// appendText appends a JSON string: fast for the words that made-up text consists of.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(b, quote(text)...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// The events of the Responses API come in a fixed order: the response is created, an item and a
// part of it are added, text comes, and all are done.

func (s *Stream) beginResponse(c *Choice) {
	s.event("response.created", field{"response", s.response("in_progress", nil, nil)})
	s.event("response.in_progress", field{"response", s.response("in_progress", nil, nil)})
	empty := Choice{Call: c.Call, CallID: c.CallID}
	s.event("response.output_item.added", zero("output_index"),
		field{"item", mustMarshal(s.item(&empty, "in_progress"))})
	if c.Call == "" {
		s.event("response.content_part.added", s.itemID(c), zero("output_index"),
			zero("content_index"), field{"part", mustMarshal(textPart(""))})
	}
}

func (s *Stream) pieceOfResponse(c *Choice, text string) {
	if c.Call != "" {
		s.event("response.function_call_arguments.delta", s.itemID(c), zero("output_index"),
			field{"delta", quote(text)})
		return
	}
	s.event("response.output_text.delta", s.itemID(c), zero("output_index"), zero("content_index"),
		field{"delta", quote(text)}, field{"logprobs", []byte("[]")})
}

func (s *Stream) finishResponse(c *Choice, u *Usage) {
	if c.Call != "" {
		s.event("response.function_call_arguments.done", s.itemID(c), zero("output_index"),
			field{"arguments", quote(c.Text)}, field{"name", quote(c.Call)})
	} else {
		s.event("response.output_text.done", s.itemID(c), zero("output_index"),
			zero("content_index"), field{"text", quote(c.Text)}, field{"logprobs", []byte("[]")})
		s.event("response.content_part.done", s.itemID(c), zero("output_index"),
			zero("content_index"), field{"part", mustMarshal(textPart(c.Text))})
	}
	s.event("response.output_item.done", zero("output_index"),
		field{"item", mustMarshal(s.item(c, "completed"))})
	name := "response.completed"
	if c.Finish == "length" {
		name = "response.incomplete"
	}
	s.event(name, field{"response", s.response("completed", []Choice{*c}, u)})
}

// field is a field of an event.
type field struct {
	name  string
	value json.RawMessage
}

func zero(name string) field { return field{name, []byte("0")} }

func (s *Stream) itemID(c *Choice) field {
	if c.Call != "" {
		return field{"item_id", quote("fc_" + s.ID)}
	}
	return field{"item_id", quote("msg_" + s.ID)}
}

func (s *Stream) event(name string, fields ...field) {
	s.Bytes = append(append(append(s.Bytes, "event: "...), name...), "\ndata: {\"type\":"...)
	s.Bytes = append(s.Bytes, quote(name)...)
	s.Bytes = strconv.AppendInt(append(s.Bytes, `,"sequence_number":`...), int64(s.number), 10)
	s.number++
	for _, f := range fields {
		s.Bytes = append(append(append(s.Bytes, ','), quote(f.name)...), ':')
		s.Bytes = append(s.Bytes, f.value...)
	}
	s.Bytes = append(s.Bytes, "}\n\n"...)
}
