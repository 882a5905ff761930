package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// jwk is a JSON Web Key (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2).
type jwk struct {
	Kty    string   `json:"kty"`
	Use    string   `json:"use"`
	KeyOps []string `json:"key_ops"`
	Alg    string   `json:"alg"`
	Kid    string   `json:"kid"`
	Crv    string   `json:"crv"`
	N      string   `json:"n"`
	E      string   `json:"e"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
	K      string   `json:"k"`
	D      string   `json:"d"`
}

// webKey is a key of a JSON Web Key Set.
type webKey struct {
	kid, alg string // alg is empty for any algorithm that accepts the key
	key      any
}

// maxKeys is the largest number of keys in a set.
const maxKeys = 256

// parseKeys parses a JSON Web Key Set (RFC 7517 §5). It skips unusable keys, as the RFC
// demands. A set without a usable key is an error that describes the first key. Shared
// secrets are usable only if symmetric is true.
func parseKeys(text []byte, symmetric bool) ([]webKey, error) {
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
		k, err := parseKey(raw, symmetric)
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

func parseKey(raw []byte, symmetric bool) (webKey, error) {
	var k jwk
	if jsonscan.Unmarshal(raw, &k) != nil {
		return webKey{}, errors.New("it is not a JSON Web Key")
	}
	switch {
	case k.Use != "" && k.Use != "sig", len(k.KeyOps) > 0 && !slices.Contains(k.KeyOps, "verify"):
		return webKey{}, errors.New("it is not for signatures")
	case k.D != "":
		return webKey{}, errors.New("it is a private key, which must not be published")
	}
	key, err := k.key(symmetric)
	switch {
	case err != nil:
		return webKey{}, err
	case k.Alg != "" && !fits(k.Alg, key), !usable(key):
		return webKey{}, errors.New("it is too weak, or does not match its alg")
	}
	return webKey{k.Kid, k.Alg, key}, nil
}

func (k jwk) key(symmetric bool) (any, error) {
	switch k.Kty {
	case "RSA":
		return k.rsa()
	case "EC":
		return k.ec()
	case "OKP":
		return k.okp()
	case "oct":
		if !symmetric {
			return nil, errors.New("shared secrets are not allowed")
		}
		return octets(k.K)
	}
	return nil, errors.New("its kty is not supported")
}

func (k jwk) rsa() (any, error) {
	n, err := octets(k.N)
	if err != nil || len(n) > maxRSA/8+1 {
		return nil, errors.New("its modulus is not a number, or too large")
	}
	e, err := octets(k.E)
	exp := new(big.Int).SetBytes(e)
	if err != nil || len(e) > 4 || exp.Int64() < 3 || exp.Int64() >= 1<<31 || exp.Bit(0) == 0 {
		return nil, errors.New("its exponent is not an odd number from 3 to 2^31")
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exp.Int64())}, nil
}

// ec checks that the point has the length of its curve and is on it.
func (k jwk) ec() (any, error) {
	curve, ok := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[k.Crv]
	if !ok {
		return nil, errors.New("its crv is not supported")
	}
	size := (curve.Params().BitSize + 7) / 8
	x, errX := octets(k.X)
	y, errY := octets(k.Y)
	if errX != nil || errY != nil || len(x) != size || len(y) != size {
		return nil, errors.New("its point does not have the length of its curve")
	}
	key, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, x, y))
	if err != nil {
		return nil, errors.New("its point is not on its curve")
	}
	return key, nil
}

func (k jwk) okp() (any, error) {
	x, err := octets(k.X)
	if err != nil || k.Crv != "Ed25519" || len(x) != ed25519.PublicKeySize {
		return nil, errors.New("it is not an Ed25519 key")
	}
	return ed25519.PublicKey(x), nil
}

// octets decodes base64url without padding (RFC 7515 §2).
func octets(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) == 0 {
		return nil, errors.New("it is not base64url")
	}
	return b, nil
}
