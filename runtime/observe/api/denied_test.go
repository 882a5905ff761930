package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// oneToken accepts the token "good" of ann.
type oneToken struct{}

func (oneToken) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	switch c.Token {
	case "good":
		return wire.Identity{Name: "ann"}, nil
	case "":
		return wire.Identity{}, wire.ErrNoCredentials
	}
	return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized}
}

// Two thousand wrong tokens are counted, audited and logged, a few events in all, and their answers
// take a second each. A valid token of the same address is served at once in the middle of them.
func TestWrongTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stream := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{observe.KindOperatorRefused, observe.KindOperatorActed}})
		recorder, err := observe.New(n, observe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		h, err := api.New(api.Options{
			Node: n, Recorder: recorder, Auth: oneToken{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Permits: func(_ wire.Identity, right auth.Right) bool { return right == auth.RightRead },
		})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(method, token string) (int, time.Duration) {
			began := time.Now()
			r := httptest.NewRequest(method, "/api/node", http.NoBody)
			if method == http.MethodPost {
				r = httptest.NewRequest(method, "/api/node/drain?node=n", strings.NewReader("{}"))
			}
			r.RemoteAddr = "192.0.2.7:5"
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code, time.Since(began)
		}
		codes, answers := map[int]int{}, sync.Mutex{}
		var guesses sync.WaitGroup
		began := time.Now()
		for range 20 {
			guesses.Go(func() {
				for range 100 {
					code, _ := ask("GET", "bad")
					answers.Lock()
					codes[code]++
					answers.Unlock()
				}
			})
		}
		synctest.Wait()
		for _, token := range []string{"good", ""} { // a request without a token is no guess
			if code, took := ask("GET", token); took != 0 || code != map[string]int{"good": 200, "": 401}[token] {
				t.Errorf("%q: %d after %v", token, code, took)
			}
		}
		guesses.Wait()
		if codes[401]+codes[429] != 2000 || codes[401] > 5+16*101 || time.Since(began) < time.Minute {
			t.Errorf("%v in %v", codes, time.Since(began))
		}
		time.Sleep(time.Minute)
		if code, took := ask("GET", "bad"); code != 401 || took != 0 {
			t.Errorf("after a pause: %d after %v", code, took)
		}
		if code, _ := ask("POST", "good"); code != 403 {
			t.Errorf("a forbidden act: %d", code)
		}
		h.Close()
		synctest.Wait()
		count, last := 0, observe.OperatorRefused{}
		for len(stream.C) > 0 {
			r := <-stream.C
			last = r.Event.(observe.OperatorRefused)
			count += last.Count
		}
		if count != 2002 || last.Who != "ann" || last.Host != "192.0.2.7" || last.Right != "act" || last.Of != "POST /api/node/drain" || last.Code != "forbidden" {
			t.Errorf("events of %d refusals, the last one %+v", count, last)
		}
		if lines := strings.Count(log.String(), "operator refused"); lines < 5 || lines > 40 || strings.Contains(log.String(), "bad") {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
		stream.Close()
		recorder.Close()
		_ = n.Stop(context.Background())
	})
}

// An attacker with many addresses does not use up memory, and each address of one IPv6 network
// counts as the same one.
func TestManyAddressesOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		recorder, err := observe.New(n, observe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := api.New(api.Options{Node: n, Recorder: recorder, Auth: oneToken{}})
		if err != nil {
			t.Fatal(err)
		}
		guess := func(addr string) time.Duration {
			began := time.Now()
			r := httptest.NewRequest("GET", "/api/node", http.NoBody)
			r.RemoteAddr = addr
			r.Header.Set("Authorization", "Bearer bad")
			h.ServeHTTP(httptest.NewRecorder(), r)
			return time.Since(began)
		}
		for i := range 6 {
			if took := guess(fmt.Sprintf("[2001:db8:0:1::%d]:5", i+1)); took != []time.Duration{0, time.Second}[i/5] {
				t.Errorf("guess %d of the network took %v", i, took)
			}
		}
		for i := range 3000 {
			guess(fmt.Sprintf("10.0.%d.%d:5", i/250, i%250))
		}
		if known := api.Addresses(h); known > 1025 {
			t.Errorf("%d addresses are known", known)
		}
		h.Close()
		recorder.Close()
		_ = n.Stop(context.Background())
		time.Sleep(time.Minute)
	})
}
