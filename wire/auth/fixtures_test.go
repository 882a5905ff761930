package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The keys are shared by all tests, because generating them is slow.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p256     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edKey    = sync.OnceValue(func() ed25519.PrivateKey { _, k, err := ed25519.GenerateKey(rand.Reader); return must(k, err) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// secret64 is a shared secret that is long enough for every HS* algorithm.
const secret64 = "kQ2v7Jx0ZpLr9sT4uW8yB1cD5eF3gH6i-kQ2v7Jx0ZpLr9sT4uW8yB1cD5eF3gH6i"

func claims(change ...func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "crm", "iss": "https://id.example.org", "aud": "ribosome", "exp": time.Now().Add(time.Hour).Unix()}
	for _, f := range change {
		f(c)
	}
	return c
}

func with(name string, v any) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c[name] = v } }

func without(name string) func(jwt.MapClaims) { return func(c jwt.MapClaims) { delete(c, name) } }

func sign(t testing.TB, alg, kid string, key any, c jwt.Claims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(alg), c)
	if kid != "" {
		token.Header["kid"] = kid
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeFile(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func publicPEM(t testing.TB, key any) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(key))})
}

// jwkOf returns a public key as a JSON Web Key.
func jwkOf(kid string, key any) map[string]any {
	b64 := base64.RawURLEncoding.EncodeToString
	k := map[string]any{"kid": kid, "use": "sig"}
	switch key := key.(type) {
	case *rsa.PublicKey:
		k["kty"], k["n"], k["e"] = "RSA", b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point := must(key.Bytes())[1:]
		k["kty"], k["crv"] = "EC", key.Params().Name
		k["x"], k["y"] = b64(point[:len(point)/2]), b64(point[len(point)/2:])
	case ed25519.PublicKey:
		k["kty"], k["crv"], k["x"] = "OKP", "Ed25519", b64(key)
	case []byte:
		k["kty"], k["k"] = "oct", b64(key)
	}
	return k
}

func jwks(keys ...map[string]any) []byte { return must(json.Marshal(map[string]any{"keys": keys})) }

// checkRejected checks that the peer learns no reason and that the operator does.
func checkRejected(t *testing.T, err error, why string) {
	t.Helper()
	var r *performatives.Refusal
	var owner *RejectedError
	switch {
	case !errors.As(err, &r) || r.Code != performatives.CodeUnauthorized || r.Text != "":
		t.Errorf("the peer gets %v, want unauthorized and nothing else", err)
	case !errors.As(err, &owner) || !strings.Contains(err.Error(), why) || !slices.Contains([]string{"token", methodJWT, methodIntrospection, "certificate"}, owner.Method):
		t.Errorf("the operator gets %v, want %q in it", err, why)
	}
}

type certTemplate = x509.Certificate

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return &authority{must(x509.ParseCertificate(der)), key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns the PEM encodings of a certificate and its key.
func (a *authority) issue(t testing.TB, serial int64, change func(*x509.Certificate)) (cert, key []byte) {
	t.Helper()
	k := p256()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	change(template)
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key))
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return cert, privatePEM(k)
}

func privatePEM(k crypto.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(k))})
}

// leaf issues a certificate and returns it as a verified chain.
func (a *authority) leaf(t testing.TB, change func(*x509.Certificate)) wire.Credentials {
	t.Helper()
	cert, key := a.issue(t, 2, change)
	pair := must(tls.X509KeyPair(cert, key))
	return wire.Credentials{Certificates: []*x509.Certificate{pair.Leaf, a.cert}}
}
