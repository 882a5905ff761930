package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// webKey is a key of a JSON Web Key Set.
type webKey struct {
	kid, alg string // alg is empty for any algorithm that accepts the key
	key      any
}

// maxKeys is the largest number of keys in a set.
const maxKeys = 256

// parseKeys parses a JSON Web Key Set (RFC 7517 §5). It skips unusable keys, as the RFC
// demands. A set without a usable key is an error that describes the first key. Shared
// secrets are not usable, because the set is published.
func parseKeys(text []byte) ([]webKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if jsonscan.Unmarshal(text, &set) != nil { // its error may contain parts of the text
		return nil, errors.New("it is not a JSON Web Key Set")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has more than %d keys", maxKeys)
	}
	var keys []webKey
	why := errors.New("it is empty")
	for i, raw := range slices.Backward(set.Keys) {
		k, err := parseKey(raw)
		if err != nil {
			why = fmt.Errorf("key %d: %w", i, err)
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("no key in it can be used: %w", why)
	}
	slices.Reverse(keys)
	return keys, nil
}

// kinds are the key types and curves that an algorithm accepts (RFC 7518 §6, RFC 8037 §2).
var kinds = []string{"RSA", "EC P-256", "EC P-384", "EC P-521", "OKP Ed25519", "oct"}

// parseKey parses a JSON Web Key (RFC 7517 §4). The errors have no part of it.
func parseKey(raw []byte) (webKey, error) {
	var k struct {
		Kty    string   `json:"kty"`
		Crv    string   `json:"crv"`
		Use    string   `json:"use"`
		KeyOps []string `json:"key_ops"`
		D      string   `json:"d"`
	}
	if jsonscan.Unmarshal(raw, &k) != nil {
		return webKey{}, errors.New("it is not a JSON Web Key")
	}
	kind := k.Kty
	if k.Crv != "" {
		kind += " " + k.Crv
	}
	switch {
	case k.Use != "" && k.Use != "sig", len(k.KeyOps) > 0 && !slices.Contains(k.KeyOps, "verify"):
		return webKey{}, errors.New("it is not for signatures")
	case k.D != "":
		return webKey{}, errors.New("it is a private key, which must not be published")
	case !slices.Contains(kinds, kind):
		return webKey{}, errors.New("its kty or crv is not supported")
	case k.Kty == "oct":
		return webKey{}, errors.New("shared secrets are not allowed")
	}
	var key jose.JSONWebKey
	if err := key.UnmarshalJSON(raw); err != nil {
		return webKey{}, errors.New("a parameter of it is missing, or has a value that is not valid for its kty and crv")
	}
	if key.Algorithm != "" && !fits(key.Algorithm, key.Key) || !usable(key.Key) {
		return webKey{}, errors.New("it is too weak or too large, or does not match its alg")
	}
	return webKey{key.KeyID, key.Algorithm, key.Key}, nil
}
