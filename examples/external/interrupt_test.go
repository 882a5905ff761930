package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The types of frames (wire, Frame Types).
const (
	frameData byte = iota + 1
	framePing
	framePong
	_
	frameClose
)

// bareNode is the node's side of a connection, without a node.
type bareNode struct {
	*testing.T
	listener net.Listener
	conn     net.Conn
}

// accept accepts a connection and the agent's introduction.
func (n *bareNode) accept() {
	n.Helper()
	var err error
	if n.conn, err = n.listener.Accept(); err != nil {
		n.Fatal(err)
	}
	conn := n.conn
	n.Cleanup(func() { _ = conn.Close() })
	hello := n.receive(performatives.ActQueryCapabilities)
	if hello.Token != "open sesame" || hello.Payload["query_type"] != "summary" || hello.Payload["capabilities"] == nil {
		n.Errorf("it introduces itself by %+v", hello)
	}
	n.send(performatives.ActInformCapabilities, "c1", hello.ID, hello.ID, `{"status":"success","capabilities":{}}`)
}

func (n *bareNode) write(kind byte, payload string) {
	n.Helper()
	frame := binary.BigEndian.AppendUint32([]byte{0x4D, 0x43, kind}, uint32(len(payload)))
	if _, err := n.conn.Write(append(frame, payload...)); err != nil {
		n.Fatal(err)
	}
}

// read reads a frame of a kind.
func (n *bareNode) read(kind byte) []byte {
	n.Helper()
	got, payload := n.frame()
	if got != kind {
		n.Fatalf("got a frame of the type %d with %s", got, payload)
	}
	return payload
}

func (n *bareNode) frame() (byte, []byte) {
	n.Helper()
	var header [7]byte
	if _, err := io.ReadFull(n.conn, header[:]); err != nil {
		n.Fatal(err)
	}
	payload := make([]byte, binary.BigEndian.Uint32(header[3:]))
	if _, err := io.ReadFull(n.conn, payload); err != nil {
		n.Fatal(err)
	}
	if header[0] != 0x4D || header[1] != 0x43 {
		n.Fatalf("got a frame % X with %s", header, payload)
	}
	return header[2], payload
}

// receivedMessage holds the fields of a message that the tests examine.
type receivedMessage struct {
	ID           string         `json:"message_id"`
	Act          string         `json:"performative"`
	InReplyTo    string         `json:"in_reply_to"`
	Conversation string         `json:"conversation_id"`
	Token        string         `json:"auth_token"`
	Payload      map[string]any `json:"payload"`
}

func (n *bareNode) receive(act performatives.Performative) receivedMessage {
	n.Helper()
	var m receivedMessage
	if err := json.Unmarshal(n.read(frameData), &m); err != nil || m.Act != act.String() {
		n.Fatalf("got %+v, %v, want %s", m, err, act)
	}
	return m
}

func (n *bareNode) send(act performatives.Performative, id, conversation, inReplyTo, payload string) {
	n.Helper()
	n.write(frameData, fmt.Sprintf(`{"message_id":%q,"performative":%q,"sender":{"agent_id":"Host"},"receiver":{"agent_id":"Wordsmith"},
		"conversation_id":%q,"in_reply_to":%q,"timestamp":"2026-11-21T14:00:00Z","payload":%s}`, id, act.String(), conversation, inReplyTo, payload))
}

// bare starts the agent in Python and accepts its connection. The words of the interpreter's
// command line before the agent may be given.
func bare(t *testing.T, before ...string) (*bareNode, *exec.Cmd, *screen) {
	t.Helper()
	needs(t, "python3")
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	dir := installed(t)
	args := append([]string{"-B"}, before...)
	cmd := exec.CommandContext(t.Context(), "python3", append(args, filepath.Join(dir, "python", "agent.py"), "tcp://"+l.Addr().String())...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	stderr := startWithToken(t, "open sesame", cmd)
	n := &bareNode{T: t, listener: l}
	n.accept()
	return n, cmd, stderr
}

// TestInterruptedInsideAsyncio interrupts the agent while asyncio wakes its reader up. A handler
// that cancels the task at once has asyncio set the result of a cancelled future
// (InvalidStateError), which breaks the connection: the node would get no CLOSE.
func TestInterruptedInsideAsyncio(t *testing.T) {
	racetest.Skip(t)
	caught := make(chan os.Signal, 1) // as in TestInterruptedRemote
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	n, cmd, stderr := bare(t, filepath.Join("testdata", "interrupt.py"))
	n.write(framePing, "are you waiting?") // else the next PING may come together with the answer to the introduction
	n.read(framePong)
	n.write(framePing, "interrupt")
	n.read(framePong)
	n.read(frameClose)
	n.write(frameClose, "")
	if err := cmd.Wait(); err != nil || strings.Contains(stderr.String(), "Error") {
		t.Errorf("got %v, stderr %s", err, stderr)
	}
}
