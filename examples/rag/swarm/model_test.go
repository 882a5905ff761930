package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// endpoint is a server that gives one answer.
func endpoint(t *testing.T, status int, body string, header ...string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func says(text string) string {
	b, _ := json.Marshal(text) // a string always has a JSON form
	return `{"choices":[{"message":{"role":"assistant","content":` + string(b) + `}}],"usage":{"total_tokens":7}}`
}

func testModel(t *testing.T, s *httptest.Server) *Model {
	t.Helper()
	env := map[string]string{variableURL: s.URL + "/v1/", variableModel: "small", variableKey: "sesame-key"}
	m, err := ModelFrom(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	m.client = s.Client()
	return m
}

var asked = response{Question: "How long?", Passages: []Passage{{Content: "Five days.", Source: "a.md"}, {Content: "Not at all.", Source: "b.md"}}}

func TestModelIsAsked(t *testing.T) {
	var got chatRequest
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sesame-key" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, says(" It takes five days [2, 1][1].\n"))
	}))
	defer s.Close()
	warm := 0.5
	request := asked
	request.Params = generation{Model: "large", MaxTokens: 9, Temperature: &warm}
	r, err := testModel(t, s).answer(t.Context(), request)
	want := Responded{Response: "It takes five days [2, 1][1].", Tokens: 7, Model: "large", Cited: []int{1, 2}}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	wanted := chatRequest{Model: "large", MaxTokens: 9, Temperature: &warm, Messages: []chatMessage{
		{"system", instructions}, {"user", "[1] a.md\nFive days.\n\n[2] b.md\nNot at all.\n\nQuestion: How long?"},
	}}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestModelErrors(t *testing.T) {
	for want, s := range map[string]*httptest.Server{
		"401 Unauthorized: wrong key ***; check RAG_LLM_URL, RAG_LLM_MODEL and RAG_LLM_KEY":                   endpoint(t, 401, `{"error":{"message":"wrong key sesame-key"}}`),
		"404 Not Found; check RAG_LLM_URL, RAG_LLM_MODEL and RAG_LLM_KEY":                                     endpoint(t, 404, "<html>"),
		"429 Too Many Requests: slow down; try again later":                                                   endpoint(t, 429, `{"error":"slow down"}`),
		"503 Service Unavailable; try again later":                                                            endpoint(t, 503, ""),
		"400 Bad Request: " + strings.Repeat("é", 200) + "; check RAG_LLM_URL, RAG_LLM_MODEL and RAG_LLM_KEY": endpoint(t, 400, `{"error":{"message":"`+strings.Repeat("é", 300)+`"}}`),
		"has answered with an error: overloaded":                                                              endpoint(t, 200, `{"error":{"message":"overloaded"}}`),
		"not answered in the form of an OpenAI-compatible endpoint":                                           endpoint(t, 200, "<html>"),
		"the model small has given an empty answer":                                                           endpoint(t, 200, `{"choices":[]}`),
		"the model cites passage 3 of 2":                                                                      endpoint(t, 200, says("Five days [3].")),
		"the model cites passage 0 of 2":                                                                      endpoint(t, 200, says("Five days [0].")),
		"the model cites no passage, so its answer cannot be checked":                                         endpoint(t, 200, says("Five days.")),
		"OpenAI-compatible endpoint: unexpected":                                                              endpoint(t, 200, `{"x":"`+strings.Repeat("x", maxReply)+`"}`),
		"cannot be reached: unexpected EOF; check RAG_LLM_URL, or unset it for":                               endpoint(t, 200, "cut", "Content-Length", "100"),
		"cannot be reached: stopped after 10 redirects; check RAG_LLM_URL, or unset":                          endpoint(t, 307, "", "Location", "/again"),
	} {
		_, err := testModel(t, s).answer(t.Context(), asked)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame-key") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	r, err := testModel(t, endpoint(t, 200, says(NothingFound))).answer(t.Context(), asked)
	if err != nil || r.Response != NothingFound || len(r.Cited) > 0 {
		t.Errorf("no answer: %+v, %v", r, err)
	}
}

func TestModelTakesTooLong(t *testing.T) {
	arrived := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	m := testModel(t, s)
	m.time = time.Millisecond
	if _, err := m.answer(t.Context(), asked); err == nil || !strings.Contains(err.Error(), "has not answered within 1ms; try again, or set RAG_LLM_TIMEOUT") {
		t.Errorf("too slow: %v", err)
	}
	m.time = time.Minute
	cause := errors.New("withdrawn")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-arrived
		cancel(cause)
	}()
	if _, err := m.answer(ctx, asked); !errors.Is(err, cause) {
		t.Errorf("withdrawn: %v", err)
	}
}
