package actors

import (
	"bytes"
	"errors"
	"log/slog"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// fragile is a sealer whose methods are functions. Nil leaves messages as they are.
type fragile struct {
	seal, open func(*performatives.Message) (*performatives.Message, error)
	entry      func()
}

func (fragile) Agent() performatives.AgentID { return "a" }

func (f fragile) Entry(c performatives.Capabilities) performatives.Capabilities {
	if f.entry != nil {
		f.entry()
	}
	return c
}

func (f fragile) Seal(m *performatives.Message, _ performatives.Capabilities) (*performatives.Message, error) {
	if f.seal == nil {
		return m, nil
	}
	return f.seal(m)
}

func (f fragile) Open(m *performatives.Message, _ performatives.Capabilities) (*performatives.Message, bool, error) {
	if f.open == nil {
		return m, true, nil
	}
	opened, err := f.open(m)
	return opened, err == nil, err
}

// fails has what a method of a sealer can do wrong on its first message.
var fails = map[string]func() (*performatives.Message, error){
	"panic":      func() (*performatives.Message, error) { panic("canary") },
	"nil panic":  func() (*performatives.Message, error) { panic(nil) },
	"no message": func() (*performatives.Message, error) { return nil, nil },
	"an error":   func() (*performatives.Message, error) { return nil, errors.New("canary") },
}

// once fails on the first message.
func once(fail func() (*performatives.Message, error)) func(*performatives.Message) (*performatives.Message, error) {
	failed := false
	return func(m *performatives.Message) (*performatives.Message, error) {
		if !failed {
			failed = true
			return fail()
		}
		return m, nil
	}
}

// sealedSystem returns a system with an agent, "a", that has a sealer, the replies to agent "x",
// and the log.
func sealedSystem(t *testing.T, f fragile, newAgent func() Agent) (*System, *replies, *bytes.Buffer) {
	t.Helper()
	r, log := &replies{}, new(bytes.Buffer)
	s, err := NewSystem(Options{Router: r, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	if _, err := s.Spawn(t.Context(), Spec{ID: "a", Sealer: f, New: newAgent}); err != nil {
		t.Fatal(err)
	}
	return s, r, log
}

func stopSystem(t *testing.T, s *System) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// The sender of a message that the sealer fails to open is told so, and of the failure nothing. The
// agent is not restarted and gets the next message.
func TestSealerFailsToOpen(t *testing.T) {
	for name, fail := range fails {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []performatives.MessageID
				made := 0
				s, r, log := sealedSystem(t, fragile{open: once(fail)}, func() Agent {
					made++
					return receiving{receive: func(m *performatives.Message) { got = append(got, m.ID()) }}
				})
				deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal), recordedMessage(t, "c2", "m2", performatives.Normal))
				time.Sleep(time.Minute) // a restart would have happened
				synctest.Wait()
				if len(r.to) != 1 || r.to[0].InReplyTo() != "m1" || !r.to[0].Undeliverable() || r.to[0].AsRefusal().Code != performatives.CodeInternal ||
					strings.Contains(r.to[0].AsRefusal().Text, "canary") {
					t.Errorf("the sender got %v, want one refusal of m1", r.to)
				}
				if len(got) != 1 || got[0] != "m2" || made != 1 {
					t.Errorf("the agent was made %d times and got %v, want once and m2", made, got)
				}
				if text := log.String(); !strings.Contains(text, "a message was not opened") || name != "an error" && !strings.Contains(text, "message=m1") ||
					name == "panic" && !strings.Contains(text, "sealer_test.go") || name == "an error" && !strings.Contains(text, "canary") {
					t.Errorf("the log: %s", text)
				}
				stopSystem(t, s)
			})
		})
	}
}

// A sealer that ends the goroutine takes no message with it, either.
func TestSealerEndsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []performatives.MessageID
		open := once(func() (*performatives.Message, error) { goruntime.Goexit(); return nil, nil })
		s, r, log := sealedSystem(t, fragile{open: open}, func() Agent {
			return receiving{receive: func(m *performatives.Message) { got = append(got, m.ID()) }}
		})
		deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal), recordedMessage(t, "c2", "m2", performatives.Normal))
		time.Sleep(time.Minute) // the delay of the restart
		synctest.Wait()
		if len(r.to) != 1 || r.to[0].InReplyTo() != "m1" || r.to[0].AsRefusal().Code != performatives.CodeInternal || len(got) != 1 || got[0] != "m2" {
			t.Errorf("the sender got %v, the agent %v", r.to, got)
		}
		if !strings.Contains(log.String(), "Goexit") {
			t.Errorf("the log: %s", log)
		}
		stopSystem(t, s)
	})
}

// An agent whose sealer fails to seal is told so by Send, nothing of the message is routed, and the
// next one is.
func TestSealerFailsToSeal(t *testing.T) {
	for name, fail := range fails {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r, log := sealedSystem(t, fragile{seal: once(fail)}, func() Agent { return silent{} })
				self, ok := s.Lookup("a")
				if !ok {
					t.Fatal("no agent")
				}
				message := func(id performatives.MessageID) *performatives.Message {
					m, err := recordedMessage(t, "c", string(id), performatives.Normal).With(func(e *performatives.Envelope) { e.Sender, e.Receiver = "a", "x" })
					if err != nil {
						t.Fatal(err)
					}
					return m
				}
				err := self.Send(message("m1"))
				if refused := performatives.RefusalOf(err); refused == nil || refused.Code != performatives.CodeInternal || refused.About != "m1" || strings.Contains(refused.Text, "canary") {
					t.Errorf("got %#v", err)
				}
				if len(r.to) != 0 {
					t.Errorf("routed: %v", r.to)
				}
				if name != "an error" && !strings.Contains(log.String(), "the sealer of an agent failed") {
					t.Errorf("the log: %s", log)
				}
				if err := self.Send(message("m2")); err != nil || len(r.to) != 1 {
					t.Errorf("the next message: %v, %v", err, r.to)
				}
				stopSystem(t, s)
			})
		})
	}
}

// The refusal of an authentic message tells its sender the code alone, when it cannot be sealed.
func TestSealerFailsToSealARefusal(t *testing.T) {
	for name, fail := range fails {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r, _ := sealedSystem(t, fragile{seal: once(fail)}, func() Agent { return silent{} })
				m := recordedMessage(t, "c", "m2", performatives.Normal)
				m.MarkAuthentic()
				s.Refuse("a", m, performatives.CodeForbidden, "canary")
				if n := len(r.to); n == 0 || r.to[n-1].InReplyTo() != "m2" || r.to[n-1].AsRefusal().Code != performatives.CodeForbidden || strings.Contains(r.to[n-1].AsRefusal().Text, "canary") {
					t.Errorf("the sender got %v", r.to)
				}
				s.Refuse("a", m, performatives.CodeForbidden, "sealed text")
				if text := r.to[len(r.to)-1].AsRefusal().Text; text != "sealed text" {
					t.Errorf("when it can be sealed, the sender is told %q", text)
				}
				stopSystem(t, s)
			})
		})
	}
}

// A sealer that cannot describe the agent's keys keeps the agent from being spawned, and no more.
func TestSealerFailsToDescribe(t *testing.T) {
	s, _, _ := sealedSystem(t, fragile{}, func() Agent { return silent{} })
	defer stopSystem(t, s)
	spec := Spec{ID: "A2", New: func() Agent { return silent{} }, Sealer: named{fragile{entry: func() { panic("canary") }}, "A2"}}
	if _, err := s.Spawn(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "Sealer.Entry panicked") {
		t.Errorf("got %v", err)
	}
	spec.Sealer = named{fragile{}, "A2"}
	if _, err := s.Spawn(t.Context(), spec); err != nil {
		t.Error(err)
	}
}

// named is the sealer of another agent.
type named struct {
	fragile
	id performatives.AgentID
}

func (n named) Agent() performatives.AgentID { return n.id }
