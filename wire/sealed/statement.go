package sealed

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The limits of a statement.
const (
	maxStatement = 16 << 10 // bytes
	maxKeys      = 8
)

// The types of the JOSE objects, in the header typ (RFC 7515 §4.1.9). One is never taken for
// another.
const (
	typeStatement = "ribosome-keys+jws"
	typeSigned    = "ribosome-payload+jws"
	typeSealed    = "ribosome-payload+jwe"
)

// signatures are the algorithms that are accepted for signatures.
var signatures = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256}

// statement says which keys an agent has. It is the content of a JWS by the agent's own key or by
// that of an authority.
type statement struct {
	Agent   performatives.AgentID `json:"agent"`
	Version int64                 `json:"version"`       // the greater one replaces the others
	Expires int64                 `json:"exp,omitempty"` // Unix time in seconds; 0: never
	Keys    []jose.JSONWebKey     `json:"keys"`          // the first one of each use is the one to use
}

// state returns the signed statement of an agent that has those keys.
func state(agent performatives.AgentID, version int64, signer Keys, all ...Keys) (string, error) {
	s := statement{Agent: agent, Version: version}
	for _, k := range all {
		s.Keys = append(s.Keys, k.public()...)
	}
	return s.sign(signer)
}

func (s statement) sign(by Keys) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("sealed: statement: %w", err)
	}
	return sign(by, typeStatement, text)
}

// sign returns a JWS in the compact form.
func sign(by Keys, typ string, text []byte) (string, error) {
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(typ))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm(by.signing.Public()), Key: by.signing}, options)
	if err != nil {
		return "", fmt.Errorf("sealed: sign: %w", err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", fmt.Errorf("sealed: sign: %w", err)
	}
	return signed.CompactSerialize()
}

// header is the protected header of a compact JWS or JWE.
type header struct {
	Algorithm  string          `json:"alg"`
	Encryption string          `json:"enc"`
	Key        string          `json:"kid"`
	Type       string          `json:"typ"`
	Ephemeral  json.RawMessage `json:"epk"`
}

// The members that a header may have. With any other, such as zip, crit, jwk, jku or p2c, an object
// is refused unread.
var (
	signedHeader = map[string]bool{"alg": true, "kid": true, "typ": true}
	sealedHeader = map[string]bool{"alg": true, "enc": true, "kid": true, "typ": true, "epk": true}
)

// maxHeader is the length of the longest header that is read, in bytes of base64.
const maxHeader = 2 << 10

// readHeader reads the protected header of a compact object. The header must have exactly the given
// members.
func readHeader(compact, typ string, members map[string]bool) (h header, err error) {
	first, _, ok := strings.Cut(compact, ".")
	if !ok || len(first) > maxHeader {
		return h, errors.New("want a JOSE object in the compact form")
	}
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return h, errors.New("want a header in base64url")
	}
	var all map[string]json.RawMessage
	if err := jsonscan.Unmarshal(text, &all); err != nil || jsonscan.Unmarshal(text, &h) != nil {
		return h, errors.New("want an object as the header")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !members[name] {
			return h, fmt.Errorf("the header has the member %.16q, which is not allowed", name)
		}
	}
	if len(all) != len(members) || h.Type != typ || h.Key == "" {
		return h, fmt.Errorf("want a header of the type %s with all its members", typ)
	}
	return h, nil
}

// signed is a JWS whose signature is still to be verified.
type signed struct {
	jws  *jose.JSONWebSignature
	alg  string
	kid  string
	text []byte // not verified
}

func parseSigned(compact, typ string) (s signed, err error) {
	h, err := readHeader(compact, typ, signedHeader)
	if err != nil {
		return s, err
	}
	jws, err := jose.ParseSignedCompact(compact, signatures)
	if err != nil || len(jws.Signatures) != 1 || jws.Signatures[0].Protected.KeyID != h.Key {
		return s, errors.New("want a JWS of the algorithm EdDSA or ES256")
	}
	return signed{jws, h.Algorithm, h.Key, jws.UnsafePayloadWithoutVerification()}, nil
}

// verify checks the signature against a key.
func (s signed) verify(public jose.JSONWebKey) error {
	if s.alg != string(algorithm(public)) || public.Use != useSign {
		return errors.New("the algorithm of the signature is not that of the key")
	}
	if _, err := s.jws.Verify(public); err != nil {
		return errors.New("the signature is wrong")
	}
	return nil
}

// parseStatement reads a statement without verifying it. The ids of its keys are computed.
func parseStatement(compact string) (s signed, about statement, err error) {
	if len(compact) > maxStatement {
		return s, about, fmt.Errorf("want a statement of at most %d bytes", maxStatement)
	}
	if s, err = parseSigned(compact, typeStatement); err != nil {
		return s, about, err
	}
	if err := jsonscan.Unmarshal(s.text, &about); err != nil {
		return s, about, errors.New("want the members of a statement")
	}
	if len(about.Keys) > maxKeys {
		return s, about, fmt.Errorf("want at most %d keys", maxKeys)
	}
	uses := make(map[string]bool)
	for i, k := range about.Keys {
		if !k.IsPublic() {
			return s, about, errors.New("a private key is in the statement: it must be replaced, because others have seen it")
		}
		if err := checkPublic(k); err != nil {
			return s, about, err
		}
		about.Keys[i] = jose.JSONWebKey{Key: k.Key, Use: k.Use, KeyID: thumbprint(k)}
		uses[k.Use] = true
	}
	if !uses[useSign] || !uses[useEncrypt] || about.Agent == "" {
		return s, about, errors.New("want an agent, a key to sign and a key to encrypt")
	}
	return s, about, nil
}

// key returns the public key with that id and use; without an id, the one to use.
func (s statement) key(id, use string) (jose.JSONWebKey, bool) {
	for _, k := range s.Keys {
		if (id == "" || k.KeyID == id) && k.Use == use {
			return k, true
		}
	}
	return jose.JSONWebKey{}, false
}

// current returns the key to use.
func (s statement) current(use string) jose.JSONWebKey {
	k, _ := s.key("", use) // parseStatement has seen one
	return k
}

func (s statement) expired(now time.Time) bool { return s.Expires != 0 && now.Unix() >= s.Expires }

// Certify has an authority confirm the statement of an agent, that of [Sealer.Statement], until
// expires; the zero time stands for ever. The agent gets the result by [Options].Statement. Agents
// that trust the authority ([Trust]) trust the keys then. The caller must have made sure that the
// statement is the agent's: Certify checks that its author has the private key, and no more.
func Certify(authority Keys, own string, expires time.Time) (string, error) {
	s, about, err := parseStatement(own)
	if err != nil {
		return "", fmt.Errorf("sealed: certify: %w", err)
	}
	k, ok := about.key(s.kid, useSign)
	if !ok {
		return "", errors.New("sealed: certify: the statement is not signed by one of its own keys")
	}
	if err := s.verify(k); err != nil {
		return "", fmt.Errorf("sealed: certify: %w", err)
	}
	if about.Expires = 0; !expires.IsZero() {
		about.Expires = expires.Unix()
	}
	return about.sign(authority)
}
