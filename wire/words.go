package wire

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Words is the vocabulary of a protocol for the codes of refusals. A protocol has fewer words than
// there are codes. The zero value has no words.
type Words struct {
	words map[performatives.Code]string
	codes map[string]performatives.Code
}

// WordsOf returns the vocabulary of a table with the codes of each word. A word is read as the
// first of its codes: the one that is closest to what the specification says of the word. WordsOf
// panics if a code has two words, or if a word has no code.
func WordsOf(table map[string][]performatives.Code) Words {
	w := Words{make(map[performatives.Code]string), make(map[string]performatives.Code)}
	for word, codes := range table {
		w.codes[word] = codes[0]
		for _, c := range codes {
			if other, twice := w.words[c]; twice {
				panic(fmt.Sprintf("wire: %s has the words %q and %q", c, other, word))
			}
			w.words[c] = word
		}
	}
	return w
}

// Of returns the word for a code. An unknown code has that of [performatives.CodeInternal].
func (w Words) Of(c performatives.Code) string {
	if word, ok := w.words[c]; ok {
		return word
	}
	return w.words[performatives.CodeInternal]
}

// Own returns the word for a code, and an unknown code, which a peer has made, as it is.
func (w Words) Own(c performatives.Code) string {
	if c != "" && !c.Known() {
		return string(c)
	}
	return w.Of(c)
}

// Code returns the code as which a word is read, and whether there is one. Case matters.
func (w Words) Code(word string) (performatives.Code, bool) {
	c, ok := w.codes[word]
	return c, ok
}

// Read returns the code of a word, with the code that came beside it as its reason: that one where
// it has the word, too, because it is more exact, also a code of the peer's own beside the word of
// unknown codes. A word without a code is a code of the peer's own.
func (w Words) Read(word, reason string) performatives.Code {
	if exact := performatives.Code(reason); exact != "" && w.Of(exact) == word {
		return exact
	}
	if c, ok := w.codes[word]; ok {
		return c
	}
	return performatives.Code(word)
}

// Exact returns a code whose word is read as another code, and nothing for any other code.
func (w Words) Exact(c performatives.Code) performatives.Code {
	if back, ok := w.codes[w.Own(c)]; c.Known() && ok && back != c {
		return c
	}
	return ""
}

// ErrorCodes has the Standard Error Codes of the wire specification.
var ErrorCodes = WordsOf(map[string][]performatives.Code{
	"INVALID_REQUEST": {
		performatives.CodeInvalidPayload, performatives.CodeUnknownPerformative, performatives.CodeParsingError,
		performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID, performatives.CodeUnexpectedAct, performatives.CodeCanceled,
		performatives.CodeConversationEnded, performatives.CodeRejected,
	},
	"SERVICE_UNAVAILABLE": {
		performatives.CodeStopped, performatives.CodeBusy, performatives.CodeMoved, performatives.CodeExpired, performatives.CodeTimeout,
		performatives.CodeDisconnected,
	},
	"NOT_FOUND": {
		performatives.CodeUnknownAgent, performatives.CodeIncapable, performatives.CodeUnknownAction, performatives.CodeNoMatch,
		performatives.CodeUnknownReference, performatives.CodeCannotDecide,
	},
	"UNAUTHORIZED": {
		performatives.CodeUnauthorized, performatives.CodeHandshakeRequired, performatives.CodeSealRequired,
		performatives.CodeUnknownKey, performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired,
		performatives.CodeReplayed,
	},
	"FORBIDDEN":           {performatives.CodeForbidden},
	"RATE_LIMIT_EXCEEDED": {performatives.CodeRateLimited},
	"INTERNAL_ERROR": {
		performatives.CodeInternal, performatives.CodeMiddleware, performatives.CodeUnspecified, performatives.CodeFailed,
		performatives.CodeStillRunning, performatives.CodeBudget,
	},
})

// statuses has the HTTP equivalents of the Standard Error Codes.
var statuses = map[string]int{
	"INVALID_REQUEST": 400, "UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMIT_EXCEEDED": 429,
	"INTERNAL_ERROR": 500, "SERVICE_UNAVAILABLE": 503,
}

// StatusOf returns the status of an HTTP answer that refuses a request for that reason.
func StatusOf(c performatives.Code) int { return statuses[ErrorCodes.Of(c)] }
