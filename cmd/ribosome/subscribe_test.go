package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// exchange publishes the prices of shares, and of one share only if the parameters name it.
type exchange struct{ quotes, trades *subscribe.Topic[quote] }

type quote struct {
	Share string `json:"share"`
	Price int    `json:"price"`
}

func newExchange() exchange {
	return exchange{subscribe.NewTopic[quote](subscribe.TopicOptions{}), subscribe.NewTopic[quote](subscribe.TopicOptions{})}
}

func (exchange) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"quotes", "trades"}}
}

func (x exchange) ConsiderSubscription(_ context.Context, s subscribe.Subscribing) (subscribe.Feed, error) {
	only, err := performatives.Decode[struct {
		Share string `json:"share"`
	}](s.Parameters)
	if err != nil {
		return subscribe.Feed{}, err
	}
	topics := map[string]*subscribe.Topic[quote]{"quotes": x.quotes, "trades": x.trades}
	topic := topics[s.Topic]
	if topic == nil {
		return subscribe.Feed{}, &performatives.Refusal{Code: performatives.CodeIncapable, Text: "only quotes and trades"}
	}
	if only.Share == "" {
		return topic.Feed(), nil
	}
	return topic.Where(func(q quote) bool { return q.Share == only.Share }), nil
}

// Events of two topics, over each transport, until an interrupt ends the subscriptions.
func TestSubscribe(t *testing.T) {
	n := hosts(t, "--no-auth")
	for scheme, url := range n.at {
		x, agent := newExchange(), "Exchange-"+scheme
		joins(t, url, performatives.AgentID(agent), x)
		s := begins(t, "subscribe", agent, "quotes", "trades", "--addr", url, "--as", "Ana/"+scheme)
		s.shows(&s.stderr, "subscribed to quotes of "+agent+"\n")
		s.shows(&s.stderr, "subscribed to trades of "+agent+"\n")
		x.quotes.Publish(quote{"<ACME>", 10})
		s.shows(&s.stdout, `{"topic":"quotes","seq":1,"value":{"share":"<ACME>","price":10}}`+"\n")
		x.trades.Publish(quote{"ACME", 11})
		s.shows(&s.stdout, `{"topic":"trades","seq":1,"value":{"share":"ACME","price":11}}`+"\n")
		got := s.end()
		if got.code != exitDone || strings.Count(got.stdout, "\n") != 2 || strings.Count(got.stderr, "\n") != 3 || !strings.Contains(got.stderr, "connected to "+url+" as Ana/"+scheme+"\n") {
			t.Errorf("%s: got %+v", scheme, got)
		}
		if x.quotes.Subscribers()+x.trades.Subscribers() != 0 {
			t.Errorf("%s: there are subscribers after the end", scheme)
		}
	}
}

// The parameters select events. A quiet command prints nothing but events.
func TestSubscribeWithParameters(t *testing.T) {
	n := hosts(t, "--no-auth", "--log-messages")
	x := newExchange()
	joins(t, n.at["ws"], "Exchange", x)
	s := begins(t, "subscribe", "exchange", "quotes", "-d", `{"share":"B"}`, "-q", "--addr", n.at["tcp"])
	n.shows(&n.stderr, "AGREE")
	x.quotes.Publish(quote{"A", 1})
	x.quotes.Publish(quote{"B", 2})
	s.shows(&s.stdout, `{"topic":"quotes","seq":2,"value":{"share":"B","price":2}}`+"\n")
	if got := s.end(); got.code != exitDone || strings.Count(got.stdout, "\n") != 1 || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
}

// A refusal, an unknown agent and the end of a topic end the command, with the reason. The other
// subscriptions end, too.
func TestSubscribeFails(t *testing.T) {
	n := hosts(t, "--no-auth")
	url := n.at["grpc"]
	x := newExchange()
	joins(t, url, "Exchange", x)
	lists := "; ribosome agents --addr " + url + " lists "
	for name, tt := range map[string]struct {
		args []string
		line string
	}{
		"refused": {[]string{"Exchange", "quotes", "gossip"}, "cannot subscribe to gossip: Exchange cannot do it: only quotes and trades (incapable)" + lists + "who can do what"},
		"nobody":  {[]string{"Nobody", "quotes"}, "cannot subscribe to quotes: there is no agent Nobody at " + url + lists + "them"},
	} {
		r := runs(t, append([]string{"subscribe", "-q", "--addr", url}, tt.args...)...)
		if r.code != exitFailed || r.stdout != "" || r.stderr != "ribosome: "+tt.line+"\n" {
			t.Errorf("%s: got %+v, want %s", name, r, tt.line)
		}
	}
	if x.quotes.Subscribers() != 0 {
		t.Error("there is a subscriber after a refusal")
	}
	x.quotes.Publish(quote{"A", 1}) // before the subscription
	s := begins(t, "subscribe", "Exchange", "quotes", "--addr", url)
	s.shows(&s.stderr, "subscribed to quotes")
	x.quotes.Close("the exchange has closed")
	want := "\nribosome: the subscription to quotes has ended: Exchange gave no result: the exchange has closed (conversation_ended); this will not change by trying again\n"
	if got := s.wait(); got.code != exitFailed || !strings.HasSuffix(got.stderr, want) || got.stdout != "" {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// After a lost connection the command connects and subscribes again, and no event is missing.
func TestSubscribeComesBack(t *testing.T) {
	n := hosts(t, "--no-auth")
	x := newExchange()
	joins(t, n.at["ws"], "Exchange", x)
	r := newRelay(t, n.at["tcp"])
	s := begins(t, "subscribe", "Exchange", "quotes", "--addr", r.url)
	s.shows(&s.stderr, "subscribed to quotes")
	x.quotes.Publish(quote{"A", 1})
	s.shows(&s.stdout, `"seq":1,`)
	r.cut()
	s.shows(&s.stderr, "not connected, next attempt in ")
	x.quotes.Publish(quote{"A", 2})
	s.shows(&s.stdout, `{"topic":"quotes","seq":2,"value":{"share":"A","price":2}}`)
	x.quotes.Publish(quote{"A", 3})
	s.shows(&s.stdout, `"seq":3,`)
	if got := s.end(); got.code != exitDone || strings.Count(got.stdout, "\n") != 3 || strings.Count(got.stderr, "\nsubscribed to quotes") != 1 || !strings.Contains(got.stderr, "\nconnected to ") {
		t.Errorf("got %+v", got)
	}
}

// passage is a network between clients and a node whose connections can be cut.
type passage struct {
	url   string // for the clients
	mu    sync.Mutex
	conns []net.Conn
}

// newRelay opens a passage to the node at url, over TCP, until the test ends.
func newRelay(t *testing.T, url string) *passage {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &passage{url: "tcp://" + l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			node, err := net.Dial("tcp", strings.TrimPrefix(url, "tcp://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, node)
			p.mu.Unlock()
			for _, pair := range [][2]net.Conn{{client, node}, {node, client}} {
				running.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		running.Wait()
	})
	return p
}

// cut closes the connections.
func (p *passage) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// An output that takes no more ends the command: with success if its reader has seen enough, as
// head has.
func TestSubscribeWithoutReader(t *testing.T) {
	n := hosts(t, "--no-auth")
	url := n.at["tcp"]
	x := newExchange()
	joins(t, url, "Exchange", x)
	for why, code := range map[syscall.Errno]int{syscall.EPIPE: exitDone, syscall.ENOSPC: exitFailed} {
		r := &running{t: t, done: make(chan struct{})}
		go func() {
			defer close(r.done)
			r.code = run(t.Context(), []string{"subscribe", "Exchange", "quotes", "--addr", url}, strings.NewReader(""), failing{why}, &r.stderr)
		}()
		r.shows(&r.stderr, "subscribed to quotes")
		x.quotes.Publish(quote{"A", 1})
		if got := r.wait(); got.code != code {
			t.Errorf("%v: got %+v", why, got)
		}
	}
	if x.quotes.Subscribers() != 0 {
		t.Error("there is a subscriber after the end")
	}
}

// As processes: a signal ends the subscription, with the exit code 0.
func TestSubscribeProcess(t *testing.T) {
	racetest.Skip(t)
	n := hosts(t, "--no-auth")
	url := n.at["ws"]
	x := newExchange()
	joins(t, url, "Exchange", x)
	p := program(t, "subscribe", "Exchange", "quotes", "--addr", url)
	var stdout bytes.Buffer
	p.Stdout = &stdout
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan() && lines.Text() != "subscribed to quotes of Exchange"; {
	}
	x.quotes.Publish(quote{"A", 1})
	x.quotes.Publish(quote{"A", 2})
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil || x.quotes.Subscribers() != 0 {
		t.Errorf("%v: stdout %s, %d subscribers", err, &stdout, x.quotes.Subscribers())
	}
}
