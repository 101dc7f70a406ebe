package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Error is an answer that is not one, in OpenAI's shape.
type Error struct {
	// Status is the HTTP status, RetryAfter the seconds after which to try again; 0 means unsaid.
	Status     int
	RetryAfter int
	Message    string
	// Param is the field that is wrong, Code a word for programs; both may be empty.
	Param, Code string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// kind returns the type that OpenAI gives errors of a status.
func (e *Error) kind() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "authentication_error"
	case e.Status == http.StatusNotFound:
		return "not_found_error"
	case e.Status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case e.Status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// Body returns the JSON of the error.
func (e *Error) Body() []byte {
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	body, err := json.Marshal(struct {
		Error inner `json:"error"`
	}{inner{e.Message, e.kind(), optional(e.Param), optional(e.Code)}})
	if err != nil {
		panic(err) // strings marshal
	}
	return body
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Invalid returns the error of a field; an empty name stands for the request as a whole.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Param: param,
		Message: fmt.Sprintf(format, args...)}
}

// NoModel returns the error about a model that is not served.
func NoModel(name string) *Error {
	return &Error{
		Status: http.StatusNotFound, Param: "model", Code: "model_not_found",
		Message: fmt.Sprintf("The model `%s` does not exist.", shorten(name)),
	}
}

// TooLong returns the error about a prompt that does not fit into the context.
func TooLong(context, prompt, output int) *Error {
	return &Error{
		Status: http.StatusBadRequest, Param: "messages", Code: "context_length_exceeded",
		Message: fmt.Sprintf("This model's maximum context length is %d tokens. However, you "+
			"requested %d tokens "+
			"(%d in the prompt, %d for the answer).", context, prompt+output, prompt, output),
	}
}

// jsonError words what encoding/json found, without the names of Go's types.
func jsonError(err error) *Error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return Invalid(wrong.Field, "%s: found a JSON %s of the wrong kind", wrong.Field,
			wrong.Value)
	case errors.As(err, &syntax):
		return Invalid("", "the body is not JSON: %v at byte %d", syntax, syntax.Offset)
	}
	return Invalid("", "the body is not JSON: %v", err)
}

// shorten cuts what a client sent to a length that fits into a message.
func shorten(s string) string {
	const most = 100
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
