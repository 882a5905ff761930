package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// limited is a server of the interface with a bound on its connections.
func limited(t *testing.T, most int, byTLS bool) *httptest.Server {
	t.Helper()
	_, h, _ := serve(t, nil)
	s := httptest.NewUnstartedServer(checked(t, h))
	api.Limit(s.Config, most)
	s.EnableHTTP2 = byTLS
	if byTLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// held is a connection that stays open.
type held struct {
	net.Conn
	answers *bufio.Reader
}

func hold(t *testing.T, s *httptest.Server) *held {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &held{c, bufio.NewReader(c)}
}

// asks sends a request over the connection; the answer is nil if the connection has been closed
// without one.
func (c *held) asks(t *testing.T, path string) (answer *http.Response, body string) {
	t.Helper()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return nil, ""
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return nil, ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// Requests of connections beyond the bound are refused with a reason, save those of probes; when a
// connection has ended, there is room for another.
func TestLimit(t *testing.T) {
	s := limited(t, 2, false)
	first, second := hold(t, s), hold(t, s)
	for _, c := range []*held{first, second} {
		if got, body := c.asks(t, "/api/node"); got == nil || got.StatusCode != http.StatusOK || got.Close {
			t.Fatalf("%v %s", got, body)
		}
	}
	got, body := hold(t, s).asks(t, "/api/node")
	var told struct{ Error struct{ Code, Text string } }
	if got == nil || got.StatusCode != http.StatusServiceUnavailable || !got.Close || got.Header.Get("Retry-After") == "" || json.Unmarshal([]byte(body), &told) != nil ||
		told.Error.Code != "busy" || !strings.Contains(told.Error.Text, "at most 2 connections") {
		t.Errorf("%v %s", got, body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got, body := hold(t, s).asks(t, path); got == nil || got.StatusCode != http.StatusOK || !got.Close {
			t.Errorf("%s: %v %s", path, got, body)
		}
	}
	if got, body := first.asks(t, "/api/node"); got == nil || got.StatusCode != http.StatusOK {
		t.Errorf("one of the first: %v %s", got, body)
	}
	_ = second.Close()
	for late := time.Now().Add(time.Minute); ; { // the server notices a little later
		if got, _ := hold(t, s).asks(t, "/api/node"); got != nil && got.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(late) {
			t.Fatal("there is no room after the end of a connection")
		}
	}
}

// Silent connections, and such with bodies that never end, hold all places. A probe is served, in
// the place of the oldest of the spare ones; the first one keeps its place.
func TestProbeAmongSlowClients(t *testing.T) {
	for _, slow := range []string{"", "GET /healthz HTTP/1.1\r\nX: ", "POST /api/node/drain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"} {
		s := limited(t, 1, false)
		first := hold(t, s)
		if got, body := first.asks(t, "/api/node"); got == nil || got.StatusCode != http.StatusOK {
			t.Fatalf("%v %s", got, body)
		}
		for range 3 * sockets.Spare {
			c := hold(t, s)
			_, _ = io.WriteString(c, slow) // the server may have closed it
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if got, body := hold(t, s).asks(t, path); got == nil || got.StatusCode != http.StatusOK {
				t.Errorf("after %q: %s: %v %s", slow, path, got, body)
			}
		}
		if got, body := first.asks(t, "/api/node"); got == nil || got.StatusCode != http.StatusOK {
			t.Errorf("after %q: the first one: %v %s", slow, got, body)
		}
	}
}

// A request that is refused is answered without its body, and its connection is closed. One whose
// body was read keeps its connection.
func TestSlowBodyOfARefusedRequest(t *testing.T) {
	s := limited(t, 10, false)
	for _, path := range []string{"/healthz", "/nothing", "/api/node/drain"} { // the last one has a wrong content type
		c := hold(t, s)
		if _, err := io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		if got, err := http.ReadResponse(c.answers, nil); err != nil || got.StatusCode < 400 || !got.Close {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	c := hold(t, s)
	for range 2 {
		body := `{"approve":true}`
		if _, err := io.WriteString(c, "POST /api/approvals/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(c.answers, nil)
		if err != nil || got.StatusCode != http.StatusNotFound || got.Close {
			t.Fatalf("%v, %v", got, err)
		}
		_, _ = io.ReadAll(got.Body)
	}
}

// deadlined is an answer that knows by when the request has to be read.
type deadlined struct {
	*httptest.ResponseRecorder
	by []time.Time
}

func (d *deadlined) SetReadDeadline(by time.Time) error { d.by = append(d.by, by); return nil }

// The body of a request has ten seconds; what follows it has none of them. A stream of events,
// which has no body, has no bound.
func TestBoundedBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })}
		api.Limit(server, 10)
		unread := &http.Server{Handler: http.NotFoundHandler()}
		api.Limit(unread, 10)
		w := httptest.NewRecorder()
		if unread.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader("{}"))); w.Header().Get("Connection") != "close" {
			t.Error("the server reads the rest of the body before it answers")
		}
		for body, want := range map[string][]time.Time{"": nil, "{}": {time.Now().Add(10 * time.Second), {}}} {
			w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
			server.Handler.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(body)))
			if !slices.EqualFunc(w.by, want, time.Time.Equal) {
				t.Errorf("%q: the deadlines are %v, want %v", body, w.by, want)
			}
			if got := w.Header().Get("Connection"); got != "" {
				t.Errorf("%q was read, and Connection is %s", body, got)
			}
		}
	})
}

// The bound holds for connections by TLS and HTTP/2, each with many requests.
func TestLimitOfTLS(t *testing.T) {
	s := limited(t, 1, true)
	client := func() *http.Client {
		transport := &http.Transport{TLSClientConfig: s.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: time.Minute}
	}
	ask := func(c *http.Client) *http.Response {
		t.Helper()
		answer, err := c.Get(s.URL + "/api/node")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if _, err := io.ReadAll(answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	inside, outside := client(), client()
	for range 3 {
		if got := ask(inside); got.StatusCode != http.StatusOK || got.ProtoMajor != 2 {
			t.Fatalf("%v", got)
		}
		if got := ask(outside); got.StatusCode != http.StatusServiceUnavailable || got.ProtoMajor != 2 {
			t.Errorf("%v", got)
		}
	}
}
