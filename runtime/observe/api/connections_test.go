package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

// asks sends a request over the connection; the answer is nil if the connection has been closed without one.
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

// Requests of connections beyond the bound are refused with a reason, save those of probes; when a connection has ended, there is room for another.
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

// Connections far beyond the bound are closed without an answer.
func TestLimitOfRefusals(t *testing.T) {
	s := limited(t, 1, false)
	var idle []*held
	for range 1 + sockets.Spare {
		idle = append(idle, hold(t, s))
	}
	for late := time.Now().Add(time.Minute); ; { // the server accepts them one after the other
		if got, _ := hold(t, s).asks(t, "/healthz"); got == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal("there is no bound")
		}
	}
	if got, body := idle[0].asks(t, "/api/node"); got == nil || got.StatusCode != http.StatusOK {
		t.Errorf("the first one: %v %s", got, body)
	}
	if got, body := idle[1].asks(t, "/api/node"); got == nil || got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the second one: %v %s", got, body)
	}
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
