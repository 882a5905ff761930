package tcp

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// dataType returns the type of a data frame in the versioned form (addenda §5: request or
// response). It scans the JSON only as far as needed: an envelope whose mcp_payload, or the
// first one of a batch, has a method is a request, one with a result or an error is a
// response. Otherwise a server's frame is a response and a client's a request.
func dataType(b []byte, server bool) uint16 {
	_, payload := jsonscan.Seek(b, "mcp_payload")
	payload = bytes.TrimPrefix(bytes.TrimLeft(payload, " \t\r\n"), []byte("["))
	switch name, _ := jsonscan.Seek(payload, "method", "result", "error"); {
	case name == "method", name == "" && !server:
		return typeRequest
	}
	return typeResponse
}
