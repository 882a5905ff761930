package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

func TestDialURLs(t *testing.T) {
	for url, says := range map[string]string{
		"":                           "want a URL",
		"http://x/mcp":               "want a URL",
		"ws:///mcp":                  "want a URL",
		"ws://user:hush@x/mcp":       "password",
		"ws://user:hush@x y/mcp":     "invalid",
		"ws://x/%zz?token=hush":      "invalid",
		"ws://127.0.0.1:1/mcp":       "127.0.0.1:1",
		"ws://[::1]:bad/?token=hush": "invalid",
	} {
		conn, err := Dial(t.Context(), url, DialOptions{})
		if conn != nil || err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", url, err)
		}
	}
	h := start(t, Options{}, nil)
	if _, err := Dial(t.Context(), h.URL(), DialOptions{TLS: &tls.Config{}}); err == nil || !strings.Contains(err.Error(), "want wss://") {
		t.Errorf("TLS options with a ws URL: %v", err)
	}
	g := dialSession(t, strings.TrimSuffix(h.URL(), DefaultPath), DialOptions{})
	g.request(t, "hello", 1)
	if p := g.Peer().Path; p != DefaultPath {
		t.Errorf("the default path is %q", p)
	}
}

func TestDialHeader(t *testing.T) {
	h := start(t, Options{Origins: []string{"https://app.example"}}, guarded)
	o := DialOptions{Header: http.Header{"Origin": {"https://app.example"}, "authorization": nil}, Token: "secret"}
	dialSession(t, h.URL(), o).request(t, "hello", 1)
	if len(o.Header) != 2 {
		t.Errorf("Dial changed its options: %v", o.Header)
	}
	o.Header.Set("Origin", "https://evil.example")
	_, err := Dial(t.Context(), h.URL(), o)
	wantRefused(t, err, 403, "forbidden", "origin")
	if _, err := Dial(t.Context(), h.URL(), DialOptions{Header: http.Header{"Upgrade": {"x"}}}); err == nil {
		t.Error("DialOptions.Header overrides a header of the upgrade")
	}
}

// silentServer accepts TCP connections and sends nothing.
func silentServer(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "ws://" + l.Addr().String()
}

func TestDialEnds(t *testing.T) {
	url := silentServer(t)
	for _, u := range []string{url, "wss" + strings.TrimPrefix(url, "ws")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("changed my mind")
		done := make(chan error)
		go func() {
			_, err := Dial(ctx, u, DialOptions{})
			done <- err
		}()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("%s: %v", u, err)
		}
		if _, err := Dial(t.Context(), u, DialOptions{Limits: wire.Limits{FrameTime: 5 * time.Millisecond}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", u, err)
		}
	}
}
