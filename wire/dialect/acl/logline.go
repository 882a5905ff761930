package acl

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Direction says whether a logged message was sent or received.
type Direction uint8

// The directions.
const (
	Sent     Direction = iota // MCP_MESSAGE_SENT
	Received                  // MCP_MESSAGE_RECEIVED
)

var logPrefixes = [...]string{Sent: "MCP_MESSAGE_SENT: ", Received: "MCP_MESSAGE_RECEIVED: "}

// AppendLogLine appends m as a log line of acl §7.2, such as
//
//	MCP_MESSAGE_SENT: {"mcp_version":"0.1.0",…}
//
// without the final newline. The JSON holds no line break, even if the payload has
// some between its members.
func (c *Codec) AppendLogLine(dst []byte, d Direction, m *performatives.Message) ([]byte, error) {
	if int(d) >= len(logPrefixes) {
		return dst, fmt.Errorf("acl: log line: Direction(%d) is no direction", d)
	}
	start := len(dst)
	line, err := c.Append(append(dst, logPrefixes[d]...), m)
	if err != nil {
		return dst, err
	}
	for i, c := range line[start:] {
		if c == '\n' || c == '\r' { // it is between two members: a text has none
			line[start+i] = ' '
		}
	}
	return line, nil
}
