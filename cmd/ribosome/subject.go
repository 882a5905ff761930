package main

import (
	"context"
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
)

// subjectOf returns the subject of a JSON Web Token (RFC 7519 §4.1.2) if an agent can have that
// name, and otherwise nothing. It does not verify the token: the node does.
func subjectOf(token string) performatives.AgentID {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxSecret {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if performatives.Unmarshal(text, &claims) != nil || !canSpeak(claims.Subject) || isNamespace(claims.Subject) {
		return ""
	}
	return performatives.AgentID(claims.Subject)
}

// canSpeak reports whether name has the form of a name for an agent.
func canSpeak(name string) bool {
	return name != "" && len(name) <= performatives.MaxIDLength && utf8.ValidString(name) &&
		strings.TrimSpace(name) == name && !strings.ContainsFunc(name, unicode.IsControl)
}

// isNamespace reports whether name is a namespace, which stands for all agents of a node (addenda
// §5, Namespaces).
func isNamespace(name string) bool {
	id := performatives.AgentID(name)
	return id.Is(systemAgent) || id.Is("default")
}

// settle chooses the name of the sender if --as has none: the subject of the token, or else a
// random name. It fails if the issuer gives no token.
func (l *link) settle(ctx context.Context) error {
	why := "the name of --as"
	if l.operator != nil {
		if err := firstToken(ctx, l.issuer); err != nil {
			return err
		}
		l.operator.token = l.token
		name, err := l.find(ctx)
		if err != nil {
			return err
		}
		if l.nameless && name != "" {
			l.name, l.nameless, why = name, false, "the name of the token"
		}
	}
	if l.nameless {
		why = "a random name"
		if err := firstToken(ctx, l.issuer); err != nil {
			return err
		}
		if l.token != nil {
			if subject := subjectOf(l.token()); subject != "" {
				l.name, l.nameless, why = subject, false, "the subject of the token"
			}
		}
	}
	if l.verbose != nil {
		l.verbose.line("speaking to " + l.at.url + " as " + string(l.name) + ", " + why)
	}
	return nil
}
