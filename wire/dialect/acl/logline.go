package acl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Direction says whether a logged message was sent or received.
type Direction uint8

// The directions.
const (
	Sent     Direction = iota // MCP_MESSAGE_SENT
	Received                  // MCP_MESSAGE_RECEIVED
)

var logPrefixes = [...]string{Sent: "MCP_MESSAGE_SENT: ", Received: "MCP_MESSAGE_RECEIVED: "}

// String returns the prefix of a log line without its colon.
func (d Direction) String() string {
	if int(d) >= len(logPrefixes) {
		return fmt.Sprintf("Direction(%d)", uint8(d))
	}
	return logPrefixes[d][:len(logPrefixes[d])-2]
}

// AppendLogLine appends m as a log line of acl §7.2, such as
//
//	MCP_MESSAGE_SENT: {"mcp_version":"0.1.0",…}
//
// without the final newline. The JSON holds no line break, even if the payload has
// some between its members.
func (c *Codec) AppendLogLine(dst []byte, d Direction, m *performatives.Message) ([]byte, error) {
	if int(d) >= len(logPrefixes) {
		return dst, fmt.Errorf("acl: log line: %s is no direction", d)
	}
	start := len(dst)
	line, err := c.Append(append(dst, logPrefixes[d]...), m)
	if err != nil {
		return dst, err
	}
	if !bytes.ContainsAny(line[start:], "\r\n") {
		return line, nil
	}
	prefix, text, _ := bytes.Cut(line[start:], []byte(": "))
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return dst, fmt.Errorf("acl: log line: %w", err)
	}
	dst = append(append(dst, prefix...), ": "...)
	return append(dst, compact.Bytes()...), nil
}

// ErrNoLogLine is the error of [Codec.ParseLogLine] for a line that logs no message.
var ErrNoLogLine = errors.New("acl: not a log line of a message")

// ParseLogLine reads a line of [Codec.AppendLogLine]. A logger may have added a prefix,
// such as a time and a level, and attributes after the message; or it may have made the
// line the msg of a JSON object, as [log/slog.JSONHandler] does. The error is
// [ErrNoLogLine] for any other line, and the error of [Codec.Decode] for a message that
// cannot be read.
func (c *Codec) ParseLogLine(line []byte) (Direction, *performatives.Message, error) {
	if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
		var record struct {
			Msg string `json:"msg"`
		}
		if json.Unmarshal(line, &record) != nil {
			return 0, nil, ErrNoLogLine
		}
		line = []byte(record.Msg)
	}
	at, text, found := len(line), []byte(nil), Direction(0)
	for d, prefix := range logPrefixes {
		mark := []byte(prefix[:len(prefix)-1])
		// The first mark counts: the text of the message may contain the other.
		if i := bytes.Index(line, mark); i >= 0 && i < at {
			at, text, found = i, line[i+len(mark):], Direction(d)
		}
	}
	if at == len(line) {
		return 0, nil, ErrNoLogLine
	}
	text = bytes.TrimSpace(text)
	s := jsonscan.Scanner{Data: text, Depth: exchange.MaxDepth}
	if s.Peek() == '{' && s.Value() {
		text = text[:s.Pos] // without the attributes of a logger
	}
	m, _, err := c.decode(decoder{codec: c, logged: true}, text)
	return found, m, err
}

// LogEntry is one message of a log.
type LogEntry struct {
	Direction Direction
	Message   *performatives.Message
}

// ReadLog yields the messages of a log, and an error for each log line of a message that
// cannot be read. It skips other lines. It ends after an error of r, and at a line that
// is longer than the longest message.
func (c *Codec) ReadLog(r io.Reader) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 2*c.opts.MaxBytes+4096) // quotes are escaped in the object of a JSON logger
		for lines.Scan() {
			d, m, err := c.ParseLogLine(lines.Bytes())
			if !errors.Is(err, ErrNoLogLine) && !yield(LogEntry{d, m}, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(LogEntry{}, fmt.Errorf("acl: log: %w", err))
		}
	}
}
