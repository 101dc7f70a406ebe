package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

//go:embed page.html
var page []byte

// routes says which path is answered by what.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	work := func(pattern string, h http.Handler) { mux.Handle(pattern, s.authorized(h)) }
	work("POST /v1/completions", s.generate(openai.Completions))
	work("POST /v1/chat/completions", s.generate(openai.Chat))
	work("POST /v1/responses", s.generate(openai.Responses))
	work("GET /v1/models", http.HandlerFunc(s.listModels))
	work("GET /v1/models/{name...}", http.HandlerFunc(s.oneModel))
	work("POST /tokenize", http.HandlerFunc(s.tokenize))
	work("POST /detokenize", http.HandlerFunc(s.detokenize))
	if s.Control != nil {
		work("/llmsim/", http.StripPrefix("/llmsim", s.Control))
	}
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /ping", s.health)
	mux.HandleFunc("POST /ping", s.health)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]string{"version": s.Version})
	})
	mux.HandleFunc("GET /load", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]int64{"server_load": s.underWay.Load()})
	})
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")
		_, _ = w.Write(page)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if allowed := methods(mux, r); allowed != nil {
			s.wrongMethod(w, r, allowed)
			return
		}
		s.unknownPath(w, r)
	})
	return mux
}

// methods returns the methods that a path takes; nil where it is not known.
func methods(mux *http.ServeMux, r *http.Request) (list []string) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if _, pattern := mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); len(
			pattern) > 1 && strings.HasPrefix(pattern, method) {
			list = append(list, method)
		}
	}
	return list
}

// health reports whether the server takes requests.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() || !s.Backend.Ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// card describes a model as vLLM does.
type card struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
	Root    string `json:"root"`
	Context int    `json:"max_model_len"`
}

func (s *Server) card(m Model) card {
	return card{m.Name, "model", s.begun.Unix(), "llmsim", m.Name, m.Context}
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	list := struct {
		Object string `json:"object"`
		Data   []card `json:"data"`
	}{Object: "list"}
	for _, m := range s.models {
		list.Data = append(list.Data, s.card(m))
	}
	writeJSON(w, list)
}

func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) {
	m, _, err := s.model(r.PathValue("name"))
	if err != nil {
		s.refuse(w, err)
		return
	}
	writeJSON(w, s.card(m))
}

// tokenize answers with the tokens of a prompt or of chat messages.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	tokens, model, err := s.promptTokens(w, r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	writeJSON(w, struct {
		Count   int          `json:"count"`
		Context int          `json:"max_model_len"`
		Tokens  []text.Token `json:"tokens"`
		Strings []string     `json:"token_strs"`
	}{len(tokens), model.Context, tokens, nil})
}

func (s *Server) promptTokens(w http.ResponseWriter, r *http.Request) ([]text.Token, Model, error) {
	data, err := s.readBody(w, r)
	if err != nil {
		return nil, Model{}, err
	}
	var shape struct {
		Messages json.RawMessage `json:"messages"`
	}
	endpoint := openai.Completions
	if json.Unmarshal(data, &shape) == nil && shape.Messages != nil {
		endpoint = openai.Chat
	}
	request, err := openai.Parse(endpoint, data)
	if err != nil {
		return nil, Model{}, err
	}
	model, _, err := s.model(request.Model)
	if err != nil {
		return nil, Model{}, err
	}
	if tokens := request.Prompts[0].Tokens; tokens != nil {
		return tokens, model, nil
	}
	tokens, err := s.planner.encode(request.Prompts[0].Text, model.Context)
	return tokens, model, err
}

// detokenize answers with the text of tokens.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	data, err := s.readBody(w, r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	var request struct {
		Tokens []text.Token `json:"tokens"`
	}
	if err := json.Unmarshal(data, &request); err != nil {
		s.refuse(w, openai.Invalid("tokens",
			"tokens: found something other than a list of tokens"))
		return
	}
	prompt, err := s.Vocabulary.Decode(request.Tokens)
	if err != nil {
		s.refuse(w, openai.Invalid("tokens", "tokens: %v", err))
		return
	}
	writeJSON(w, map[string]string{"prompt": prompt})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the client has gone, if anything
}

// authorized lets through what has the key. The scheme before it may be in any case (RFC 9110,
// section 11.1).
func (s *Server) authorized(next http.Handler) http.Handler {
	if s.APIKey == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimLeft(key, " ")))
		if !strings.EqualFold(scheme, "Bearer") ||
			subtle.ConstantTimeCompare(sum[:], s.key[:]) != 1 {
			s.refuse(w, &openai.Error{Status: http.StatusUnauthorized, Code: "invalid_api_key",
				Message: "The API key is missing or wrong."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// wrongMethod answers a request whose path takes other methods.
func (s *Server) wrongMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.refuse(w, &openai.Error{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Message: fmt.Sprintf("%.100s takes %s, found %.20s.", r.URL.Path,
			strings.Join(allowed, " or "), r.Method),
	})
}

// unknownPath answers what is not served.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	known := []string{
		"/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/models", "/tokenize",
		"/detokenize",
		"/health", "/ping", "/version", "/metrics", "/load",
	}
	_, _ = io.CopyN(io.Discard, r.Body, 1<<10)
	s.refuse(w, &openai.Error{
		Status: http.StatusNotFound, Code: "not_found",
		Message: nearest.Unknown("path", r.URL.Path[:min(len(r.URL.Path), 100)], known),
	})
}
