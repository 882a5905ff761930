package auth

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ParseTokens parses a list of tokens, one per line. A line consists of words, separated by
// spaces or tabs: the agent id, the token, and further agent ids or scopes (with the prefix
// "scope:"). A word that begins with # starts a comment.
//
//	# agent   token                             further agents and scopes
//	crm       Vq0m8cQy5m3kz7o2hZ4p1A            billing scope:read
//	gateway   cR8dXw2nT6uJf9aLs3kEyQ            *
//
// An agent can have several tokens, so that a new one can replace an old one. The error names
// the line and never contains a token.
func ParseTokens(text []byte) ([]Token, error) {
	if err := CheckMark(text); err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	var list []Token
	first := make(map[Secret]int)
	n := 0
	for line := range bytes.Lines(text) {
		n++
		t, ok, err := parseToken(string(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf("auth: line %d: %w", n, err)
		case !ok:
			continue
		case first[t.Value] > 0:
			return nil, fmt.Errorf("auth: line %d: the token occurs in line %d already", n, first[t.Value])
		}
		first[t.Value] = n
		list = append(list, t)
	}
	return list, nil
}

// parseToken parses a line and reports whether it holds a token.
func parseToken(line string) (Token, bool, error) {
	words := strings.Fields(line)
	for i, w := range words {
		if strings.HasPrefix(w, "#") {
			words = words[:i]
			break
		}
	}
	switch len(words) {
	case 0:
		return Token{}, false, nil
	case 1:
		return Token{}, false, fmt.Errorf("want the name of an agent and its token")
	}
	t := Token{Name: performatives.AgentID(words[0]), Value: Secret(words[1])}
	for _, w := range words[2:] {
		if scope, ok := strings.CutPrefix(w, "scope:"); ok {
			t.Scopes = append(t.Scopes, scope)
			continue
		}
		t.Agents = append(t.Agents, performatives.AgentID(w))
	}
	return t, true, t.validate()
}
