package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// meeting is a worker whose tasks wait until all of them have begun.
type meeting struct {
	begun *sync.WaitGroup
}

func (meeting) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (meeting) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (meeting) MaxTasks() int { return 200 }

func (w meeting) PerformTask(ctx context.Context, task delegation.Task) (performatives.InformResult, error) {
	w.begun.Done()
	met := make(chan struct{})
	go func() { w.begun.Wait(); close(met) }()
	select {
	case <-met:
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "for " + string(task.Message.Sender())}, nil
	case <-ctx.Done():
		return performatives.InformResult{}, context.Cause(ctx)
	}
}

// TestClientsShareASource has two clients with the same source, the same ids and 40 calls each
// under way at once. Each of them gets its own answers, and no call is cancelled.
func TestClientsShareASource(t *testing.T) {
	const calls = 40
	h := newGatewayHub(t)
	begun := new(sync.WaitGroup)
	begun.Add(2 * calls)
	h.spawn("Jules", func() actors.Agent { return meeting{begun: begun} })
	clients := []*program{h.program("local-router"), h.program("local-router")}
	for i := range calls {
		for _, c := range clients {
			c.ask(fmt.Sprint(i), "", "jules.review", "{}")
		}
	}
	askers := map[string]bool{}
	for _, c := range clients {
		answered := map[string]bool{}
		for range calls {
			e := c.read()
			if e.Result == nil {
				t.Fatalf("got %s", e.Payload)
			}
			answered[string(e.ID)] = true
			_, asker, _ := strings.Cut(string(e.Result), "for ")
			asker, _, _ = strings.Cut(asker, `"`)
			askers[asker] = true
		}
		if len(answered) != calls {
			t.Errorf("%d calls were answered", len(answered))
		}
	}
	if len(askers) != 2 {
		t.Errorf("the agent was asked by %v", askers)
	}
}

// TestOwnerOfASource has a peer offer tools under the source of a client that has a call under way.
// Both go on. A second peer that offers tools under it takes the name over, and the log says so.
func TestOwnerOfASource(t *testing.T) {
	h := newGatewayHub(t)
	begun := new(sync.WaitGroup)
	begun.Add(2)
	h.spawn("Jules", func() actors.Agent { return meeting{begun: begun} })
	client := h.program("local-router")
	client.ask("1", "", "jules.review", "{}")
	owner := h.program("local-router")
	owner.ask("1", "", "initialize", `{"protocolVersion":"1.0","capabilities":{"topics":["Go"]}}`)
	owner.result("1")
	h.awaitVisible("local-router")
	owner.ask("2", "", "jules.review", "{}")
	for _, p := range []*program{client, owner} {
		if e := p.read(); e.Result == nil {
			t.Errorf("got %s", e.Payload)
		}
	}
	second := h.program("local-router")
	second.ask("1", "", "initialize", `{"protocolVersion":"1.0","capabilities":{"topics":["Go"]}}`)
	second.result("1")
	h.awaitStopped("local-router", 1)
	told := make([]byte, 7+0x48) // the error frame that ends the connection
	if _, err := io.ReadFull(owner.conn, told); err != nil || !strings.Contains(string(told), `{"code":"FORBIDDEN","message":"another connection speaks for the agent"`) {
		t.Errorf("the former owner is told %q, %v", told, err)
	}
	client.ask("3", "", "tools/list", "{}")
	client.result("3")
}

// TestSourceUnderAnIdentity has a client that has authenticated as crm, and whose source is another
// name. It is served as crm. It offers nothing under the other name.
func TestSourceUnderAnIdentity(t *testing.T) {
	d := gateway.New(gateway.Options{})
	h := newHub(t, runtime.PeerOptions{}, func(o *wire.Options) {
		o.Dialects, o.Auth, o.Anonymous = []wire.Dialect{d}, strict{}, false
	})
	begun := new(sync.WaitGroup)
	begun.Add(1)
	h.spawn("Jules", func() actors.Agent { return meeting{begun: begun} })
	near, far := wiretest.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.server.Serve(far, &wire.Identity{Name: "crm"})
	}()
	t.Cleanup(func() { _ = near.Close(); <-served })
	say := func(payload string) receivedEnvelope {
		t.Helper()
		frame := fmt.Sprintf(`{"id":"e-%d","timestamp":%q,"source":"local-router","mcp_payload":%s}`, len(payload), time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), payload)
		if err := near.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
			t.Fatal(err)
		}
		got, err := near.Read(func(wire.Frame) {})
		if err != nil {
			t.Fatal(err)
		}
		var e receivedEnvelope
		if err = json.Unmarshal(got, &e); err == nil {
			err = json.Unmarshal(e.Payload, &e.rpc)
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := say(request("1", "jules.review", "{}")); !strings.Contains(string(e.Result), "for crm/client-") {
		t.Errorf("got %s", e.Payload)
	}
	if e := say(request("2", "initialize", `{"protocolVersion":"1.0","capabilities":{"topics":["Go"]}}`)); e.Fault == nil || e.Error == nil || e.Error.Code != "FORBIDDEN" {
		t.Errorf("got %s", e.Payload)
	}
}
