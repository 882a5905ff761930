package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// A public key is in a file of any usual form. An error names the file, and says what is wrong.
func TestPublicKeyFiles(t *testing.T) {
	cert, _ := newAuthority(t).issue(t, 3, func(*x509.Certificate) {})
	const unusable = "want an RSA key of 2048 to 16384 bits, an EC key on P-256, P-384 or P-521, or an Ed25519 key"
	for name, tt := range map[string]struct {
		text []byte
		want string // of the error after the path; empty: it is a key
	}{
		"RSA":             {publicPEM(t, rsaKey().Public()), ""},
		"RSA, PKCS #1":    {pemOf("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)), ""},
		"EC":              {publicPEM(t, p521().Public()), ""},
		"Ed25519":         {publicPEM(t, edKey().Public()), ""},
		"a certificate":   {cert, ""},
		"no certificate":  {pemOf("CERTIFICATE", []byte("x")), "x509: malformed certificate"},
		"no key":          {pemOf("PUBLIC KEY", []byte("x")), "asn1: "},
		"another curve":   {publicPEM(t, must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)).Public()), unusable},
		"a small RSA key": {pemOf("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsa.PublicKey{N: big.NewInt(15), E: 3})), unusable},
		"private":         {privatePEM(rsaKey()), "it holds a private key: want the public one"},
		"private, EC":     {pemOf("EC PRIVATE KEY", nil), "it holds a private key: want the public one"},
		"private, RSA":    {pemOf("RSA PRIVATE KEY", nil), "it holds a private key: want the public one"},
		"encrypted":       {pemOf("ENCRYPTED PRIVATE KEY", nil), "it holds a private key: want the public one"},
		"a request":       {pemOf("CERTIFICATE REQUEST", nil), "the PEM block is not a public key"},
		"no PEM":          {[]byte("x"), "no PEM block in it"},
		"empty":           {nil, "no PEM block in it"},
		"as long as may":  {[]byte(strings.Repeat("x", maxKeyFile)), "no PEM block in it"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, tt.text)
			key, err := loadPublicKey(path)
			switch {
			case tt.want == "":
				if err != nil || !usable(key) {
					t.Errorf("%T, %v", key, err)
				}
			case err == nil || key != nil || !strings.HasPrefix(err.Error(), "auth: "+path+": "+tt.want):
				t.Errorf("%v and a %T, want %q", err, key, tt.want)
			}
		})
	}
}

// Small files are read whole, or not at all.
func TestSmallFiles(t *testing.T) {
	folder, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for _, tt := range []struct{ path, want, err string }{
		{writeFile(t, []byte("0123456789")), "0123456789", ""},
		{writeFile(t, nil), "", ""},
		{writeFile(t, []byte("01234567890")), "", "auth: PATH is longer than 10 bytes"},
		{writeFile(t, []byte("\ufeffa")), "", "auth: PATH: it begins with a byte order mark (U+FEFF); save it as UTF-8 without one"},
		{writeFile(t, []byte("\xff\xfea")), "", "auth: PATH: it begins with a byte order mark (U+FEFF); save it as UTF-8 without one"},
		{writeFile(t, []byte("\xfe\xffa")), "", "auth: PATH: it begins with a byte order mark (U+FEFF); save it as UTF-8 without one"},
		{missing, "", "auth: open PATH: no such file or directory"},
		{folder, "", "auth: read PATH: is a directory"},
	} {
		got, err := readSmall(tt.path, 10)
		if want := strings.ReplaceAll(tt.err, "PATH", tt.path); string(got) != tt.want || (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q, %v, want %q, %s", got, err, tt.want, want)
		}
	}
	for text, want := range map[string]string{
		secret64[:32] + "\r\n": "", secret64[:31] + "\n": "a shared secret has at least 32 bytes", "-----BEGIN PUBLIC KEY-----": "a PEM file is not a shared secret: set JWTOptions.KeyFile instead",
	} {
		path := writeFile(t, []byte(text))
		secret, err := loadSecret(path)
		if want == "" && (err != nil || string(secret) != secret64[:32]) || want != "" && (err == nil || err.Error() != "auth: "+path+": "+want) {
			t.Errorf("%q, %v, want %q", secret, err, want)
		}
	}
	if _, err := loadSecret(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}
}

// A key goes with the algorithms that it is strong enough for.
func TestKeysOfAlgorithms(t *testing.T) {
	of := func(bits, e int) *rsa.PublicKey {
		return &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), bits-1, 1), E: e}
	}
	const ofRSA = "RS256 RS384 RS512 PS256 PS384 PS512"
	for _, tt := range []struct {
		name string
		key  any
		want string
	}{
		{"31 bytes", make([]byte, 31), ""},
		{"32 bytes", make([]byte, 32), "HS256"},
		{"47 bytes", make([]byte, 47), "HS256"},
		{"48 bytes", make([]byte, 48), "HS256 HS384"},
		{"63 bytes", make([]byte, 63), "HS256 HS384"},
		{"64 bytes", make([]byte, 64), "HS256 HS384 HS512"},
		{"RSA without a number", &rsa.PublicKey{E: 65537}, ""},
		{"RSA of 2047 bits", of(2047, 65537), ""},
		{"RSA of 2048 bits", of(2048, 3), ofRSA},
		{"RSA of 16384 bits", of(16_384, 1<<31-1), ofRSA},
		{"RSA of 16385 bits", of(16_385, 3), ""},
		{"RSA with the exponent 1", of(2048, 1), ""},
		{"RSA with an even exponent", of(2048, 4), ""},
		{"RSA with a long exponent", of(2048, 1<<31+1), ""},
		{"P-224", must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)).Public(), ""},
		{"P-256", p256().Public(), "ES256"},
		{"P-384", p384().Public(), "ES384"},
		{"P-521", p521().Public(), "ES512"},
		{"Ed25519", edKey().Public(), "EdDSA"},
		{"a short Ed25519", ed25519.PublicKey{1}, ""},
		{"a text", "x", ""},
	} {
		var names []string
		for _, a := range algorithms {
			if fits(a.name, tt.key) {
				names = append(names, a.name)
			}
		}
		if got := strings.Join(names, " "); got != tt.want || usable(tt.key) != (tt.want != "") {
			t.Errorf("%s goes with %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A file has changed when another one is in its place, or when its time or its length differ.
func TestWatchedFiles(t *testing.T) {
	path := writeFile(t, []byte("a"))
	w := watched{path: path}
	changed := func(want bool) {
		t.Helper()
		if got, err := w.changed(); got != want || err != nil {
			t.Errorf("changed: %t, %v", got, err)
		}
	}
	changed(true)
	changed(false)
	then := must(os.Stat(path)).ModTime()
	for name, change := range map[string]func() error{
		"another length": func() error { return os.WriteFile(path, []byte("ab"), 0o600) },
		"another time":   func() error { then = then.Add(1e9); return nil },
		"another file": func() error {
			if err := os.WriteFile(path+".new", must(os.ReadFile(path)), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		changed(true)
		changed(false)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := w.changed(); got || err == nil || err.Error() != "auth: stat "+path+": no such file or directory" {
		t.Errorf("%t, %v", got, err)
	}
}
