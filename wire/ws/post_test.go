package ws

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// poster is a client without WebSocket.
type poster struct {
	t      *testing.T
	url    string
	header http.Header
}

func newPoster(t *testing.T, h *host) *poster {
	return &poster{t, "http://" + h.Addr().String(), http.Header{"Content-Type": {"application/json"}}}
}

func (p *poster) do(ctx context.Context, method, path, body string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = p.header.Clone()
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// post sends a message, and returns the status, and the stream or the text of the error.
func (p *poster) post(path, body string) (status int, text string) {
	p.t.Helper()
	answer := p.do(p.t.Context(), http.MethodPost, path, body)
	var a struct {
		ID, Stream, Message string
	}
	raw, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil {
		p.t.Fatalf("%v: %s", err, raw)
	}
	if answer.StatusCode == http.StatusAccepted {
		return answer.StatusCode, a.Stream
	}
	return answer.StatusCode, a.Message
}

// read opens a stream of events.
func (p *poster) read(ctx context.Context, stream string) *bufio.Reader {
	p.t.Helper()
	answer := p.do(ctx, http.MethodGet, EventsPath+"?stream="+stream, "")
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		p.t.Fatalf("got %d, %s", answer.StatusCode, kind)
	}
	return bufio.NewReader(answer.Body)
}

// answers reads the next event, and returns the message that it answers.
func answers(t *testing.T, events *bufio.Reader) string {
	t.Helper()
	for {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var m struct{ About string }
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			return m.About
		}
	}
}

func posting(id string) string {
	return `{"ID":"` + id + `","act":"TASK_REQUEST","From":"a","To":"b",` + "\n" + `"Time":1,"Payload":{"task_type":"x"}}`
}

var posts = Options{Posts: wiretest.Dialect{}}

func TestPosts(t *testing.T) {
	h := start(t, posts, nil)
	p := newPoster(t, h)
	status, stream := p.post(RequestPath, posting("1"))
	if status != http.StatusAccepted || len(stream) < 26 {
		t.Fatalf("got %d, %q", status, stream)
	}
	if status, again := p.post(RequestPath+"?stream="+stream, posting("2")); status != http.StatusAccepted || again != stream {
		t.Errorf("got %d, %q", status, again)
	}
	ctx, leave := context.WithCancel(t.Context())
	first := p.read(ctx, stream)
	for _, want := range []string{"1", "2"} {
		if got := answers(t, first); got != want {
			t.Errorf("got the answer to %s, want %s", got, want)
		}
	}
	second := p.read(t.Context(), stream) // replaces the first reader
	if rest, err := io.ReadAll(first); err != nil || strings.Contains(string(rest), "data") {
		t.Errorf("the first reader has got %q, %v", rest, err)
	}
	leave()
	p.post(RequestPath+"?stream="+stream, posting("3"))
	if got := answers(t, second); got != "3" {
		t.Errorf("got the answer to %s", got)
	}
	_, other := p.post(RequestPath, posting("4"))
	if other == stream {
		t.Error("two clients have one stream")
	}
	if err := h.Server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(second); err != nil {
		t.Errorf("at the end of the session: %v", err)
	}
	if status, text := p.post(RequestPath, posting("5")); status != http.StatusServiceUnavailable {
		t.Errorf("a stopped server answers %d, %s", status, text)
	}
}

// stalled is the writer of a client that does not read.
type stalled struct {
	*httptest.ResponseRecorder

	writes, ended chan struct{}
}

func (s *stalled) Write([]byte) (int, error) {
	close(s.writes)
	<-s.ended
	return 0, os.ErrDeadlineExceeded
}

func (s *stalled) SetWriteDeadline(at time.Time) error {
	if !at.After(time.Now()) {
		close(s.ended)
	}
	return nil
}

// A reader that does not read is not in the way of the next one.
func TestStalledReader(t *testing.T) {
	h := start(t, posts, nil)
	p := newPoster(t, h)
	_, stream := p.post(RequestPath, posting("1"))
	w := &stalled{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	left := make(chan struct{})
	go func() {
		defer close(left)
		h.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, EventsPath+"?stream="+stream, nil))
	}()
	<-w.writes
	if got := answers(t, p.read(patience.Context(t), stream)); got != "1" {
		t.Errorf("got the answer to %s", got)
	}
	<-left
}

func TestPostsRefused(t *testing.T) {
	h := start(t, posts, func(o *wire.Options) {
		guarded(o)
		o.Limits.Frame = 1000
		o.MaxPerHost = 1
	})
	p := newPoster(t, h)
	p.header.Set("Authorization", "Bearer secret")
	_, stream := p.post(RequestPath, posting("1"))
	own := RequestPath + "?stream=" + stream
	for name, tt := range map[string]struct {
		change     func(http.Header)
		path, body string
		status     int
		says       string
	}{
		"a form of another page": {func(h http.Header) { h.Set("Content-Type", "text/plain") }, own, posting("2"), 415, "application/json"},
		"another origin":         {func(h http.Header) { h.Set("Origin", "http://evil.example") }, own, posting("2"), 403, "origin"},
		"no credentials":         {func(h http.Header) { h.Del("Authorization") }, own, posting("2"), 401, "credentials"},
		"no such stream":         {nil, RequestPath + "?stream=x", posting("2"), 404, "no such stream"},
		"one stream too many":    {nil, RequestPath, posting("2"), 503, "connections"},
		"no message":             {nil, own, `{"performative":1}`, 400, "dialect test"},
		"an invalid message":     {nil, own, strings.Replace(posting("2"), "TASK_REQUEST", "JUMP", 1), 400, ""},
		"a long message":         {nil, own, posting(strings.Repeat("2", 1000)), 413, "too long"},
		"another method":         {nil, EventsPath + "?stream=" + stream, "", 405, "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &poster{t, p.url, p.header.Clone()}
			if tt.change != nil {
				tt.change(p.header)
			}
			if status, text := p.post(tt.path, tt.body); status != tt.status || !strings.Contains(text, tt.says) {
				t.Errorf("got %d, %q", status, text)
			}
		})
	}
	events := p.read(t.Context(), stream)
	got := answers(t, events)
	if got == "?" { // the report about the invalid message has come first
		got = answers(t, events)
	}
	if got != "1" {
		t.Errorf("got the answer to %s", got)
	}
}

// The stream of an authenticated client is its own.
func TestStreamOfAnotherClient(t *testing.T) {
	h := start(t, Options{Posts: wiretest.Dialect{}, LateAuth: true}, guarded)
	p := newPoster(t, h)
	p.header.Set("Authorization", "Bearer secret")
	_, stream := p.post(RequestPath, posting("1"))
	p.header.Del("Authorization")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		path := map[string]string{http.MethodGet: EventsPath, http.MethodPost: RequestPath}[method]
		if answer := p.do(t.Context(), method, path+"?stream="+stream, posting("2")); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %d", method, answer.StatusCode)
		}
	}
}
