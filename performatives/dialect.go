package performatives

import "strconv"

// Dialect is the vocabulary of a specification for the reasons of a refusal: a column of
// [CodeTraits]. acl is not among them, because it writes a [Code] unchanged.
type Dialect uint8

// The dialects. An HTTP status is only ever sent, so it is not among them.
const (
	DialectBridge  Dialect = iota // error_code of a bridge error message
	DialectRAG                    // error_code of a rag ERROR_MESSAGE
	DialectRossNet                // error_code of a rossnet TASK_FAIL or ERROR
	DialectWire                   // error.code of the wire envelope
	DialectJSONRPC                // error code in an mcp_payload, in decimal

	endOfDialects // one past the last dialect
)

// In returns the word of dialect d for the code, or nothing for an unknown dialect.
func (t CodeTraits) In(d Dialect) string {
	switch d {
	case DialectBridge:
		return t.Bridge
	case DialectRAG:
		return t.RAG
	case DialectRossNet:
		return t.RossNet
	case DialectWire:
		return t.Wire
	case DialectJSONRPC:
		return strconv.Itoa(t.JSONRPC)
	case endOfDialects:
	}
	return ""
}

// CodeBy returns the code for the word text of dialect d, and whether there is one;
// case matters. A dialect has fewer words than there are codes, so that several codes
// may share a word. CodeBy then returns the code closest to the definition of the word
// in the dialect's specification. So CodeBy(d, c.Traits().In(d)) may differ from c, and
// both have the same word in d.
func CodeBy(d Dialect, text string) (Code, bool) {
	c, ok := codesByWord[word{d, text}]
	return c, ok
}

// word is the text of a code in a dialect.
type word struct {
	dialect Dialect
	text    string
}

// shared has the code of each word that stands for several codes.
var shared = map[word]Code{
	{DialectBridge, "TOOL_NOT_FOUND"}:    CodeIncapable, // a TASK_REJECT (addenda §2)
	{DialectBridge, "INVALID_ARGUMENTS"}: CodeInvalidPayload,
	{DialectBridge, "EXECUTION_FAILED"}:  CodeFailed,
	{DialectBridge, "TIMEOUT"}:           CodeTimeout, // a FAILURE (addenda §2)
	{DialectBridge, "UNAUTHORIZED"}:      CodeUnauthorized,
	{DialectBridge, "INTERNAL_ERROR"}:    CodeInternal,

	{DialectRAG, "UNKNOWN_MESSAGE_TYPE"}: CodeUnknownPerformative,
	{DialectRAG, "INVALID_MESSAGE"}:      CodeInvalidPayload,
	{DialectRAG, "AGENT_NOT_FOUND"}:      CodeUnknownAgent,
	{DialectRAG, "TIMEOUT"}:              CodeTimeout,
	{DialectRAG, "UNAUTHORIZED"}:         CodeUnauthorized,
	{DialectRAG, "INTERNAL_ERROR"}:       CodeInternal,

	{DialectRossNet, "E001"}: CodeUnauthorized,
	{DialectRossNet, "E003"}: CodeInvalidPayload,
	{DialectRossNet, "E005"}: CodeIncapable,
	{DialectRossNet, "E006"}: CodeTimeout,
	{DialectRossNet, "E007"}: CodeStopped, // RESOURCE_UNAVAILABLE
	{DialectRossNet, "E008"}: CodeInternal,
	{DialectRossNet, "E999"}: CodeFailed,

	{DialectWire, "INVALID_REQUEST"}:     CodeInvalidPayload,
	{DialectWire, "UNAUTHORIZED"}:        CodeUnauthorized,
	{DialectWire, "NOT_FOUND"}:           CodeUnknownAgent,
	{DialectWire, "INTERNAL_ERROR"}:      CodeInternal,
	{DialectWire, "SERVICE_UNAVAILABLE"}: CodeStopped,

	{DialectJSONRPC, "-32001"}: CodeUnauthorized,
	{DialectJSONRPC, "-32600"}: CodeUnexpectedAct, // invalid request
	{DialectJSONRPC, "-32601"}: CodeUnknownAction, // method not found
	{DialectJSONRPC, "-32602"}: CodeInvalidPayload,
	{DialectJSONRPC, "-32603"}: CodeInternal,
	{DialectJSONRPC, "-32003"}: CodeUnknownAgent,
	{DialectJSONRPC, "-32004"}: CodeStopped,
}

var codesByWord = func() map[word]Code {
	m := make(map[word]Code)
	for _, t := range codeTable {
		for d := range endOfDialects {
			w := word{d, t.In(d)}
			m[w] = t.Code
			if c, ok := shared[w]; ok {
				m[w] = c
			}
		}
	}
	return m
}()
