package auth

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

func uris(list ...string) func(*certTemplate) {
	return func(c *certTemplate) {
		c.Subject.CommonName, c.DNSNames = "common", []string{"dns.example.org", "other.example.org"}
		for _, u := range list {
			c.URIs = append(c.URIs, must(url.Parse(u)))
		}
	}
}

func TestCertificates(t *testing.T) {
	ca := newAuthority(t)
	prefix := CertOptions{Pattern: "spiffe://example.org/agent/{agent}"}
	workload := CertOptions{Pattern: "spiffe://example.org/ns/*/sa/{agent}/v1"}
	for name, tt := range map[string]struct {
		o    CertOptions
		cert func(*certTemplate)
		want string // empty: rejected
	}{
		"URI":                          {CertOptions{}, uris("spiffe://any.org/ns/a/agent/crm"), "crm"},
		"below":                        {prefix, uris("spiffe://example.org/agent/crm/invoices"), "crm/invoices"},
		"the first that fits":          {prefix, uris("spiffe://other.org/agent/a", "spiffe://example.org/agent/b", "spiffe://example.org/agent/c"), "b"},
		"another domain":               {prefix, uris("spiffe://other.org/agent/crm"), ""},
		"a longer domain":              {prefix, uris("spiffe://example.org.evil.org/agent/crm"), ""},
		"no spiffe":                    {CertOptions{}, uris("https://example.org/agent/crm"), ""},
		"no name":                      {prefix, uris("spiffe://example.org/agent/"), ""},
		"dots":                         {prefix, uris("spiffe://example.org/agent/../crm"), ""},
		"encoded":                      {prefix, uris("spiffe://example.org/agent/crm%2Finvoices"), ""},
		"query":                        {prefix, uris("spiffe://example.org/agent/crm?x"), ""},
		"dots below":                   {prefix, uris("spiffe://example.org/agent/crm/.."), ""},
		"dots, any domain":             {CertOptions{}, uris("spiffe://any.org/agent/../crm"), ""},
		"encoded, any domain":          {CertOptions{}, uris("spiffe://any.org/agent/crm%2Fx"), ""},
		"no name, any domain":          {CertOptions{}, uris("spiffe://any.org/agent/"), ""},
		"a name of segments, any":      {CertOptions{}, uris("spiffe://any.org/agent/crm/agent/b"), "crm/agent/b"},
		"within":                       {workload, uris("spiffe://example.org/ns/prod/sa/crm/v1"), "crm"},
		"within, another namespace":    {workload, uris("spiffe://example.org/ns/a/b/sa/crm/v1"), ""},
		"within, an empty one":         {workload, uris("spiffe://example.org/ns//sa/crm/v1"), ""},
		"within, dots":                 {workload, uris("spiffe://example.org/ns/../sa/crm/v1"), ""},
		"within, more":                 {workload, uris("spiffe://example.org/ns/prod/sa/crm/v1/x"), ""},
		"within, less":                 {workload, uris("spiffe://example.org/ns/prod/sa/crm"), ""},
		"any domain":                   {CertOptions{Pattern: "spiffe://*/{agent}"}, uris("spiffe://other.org/crm"), "crm"},
		"no URI":                       {CertOptions{}, uris(), "common"},
		"no URI, and it is asked for":  {prefix, uris(), ""},
		"no common name":               {CertOptions{}, func(*certTemplate) {}, ""},
		"a common name with a newline": {CertOptions{}, func(c *certTemplate) { c.Subject.CommonName = "a\nb" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cred := ca.leaf(t, tt.cert)
			got, err := must(Certificates(tt.o)).Authenticate(t.Context(), cred)
			switch {
			case tt.want == "":
				checkRejected(t, err, "names no agent")
			case err != nil || string(got.Name) != tt.want || !got.Expires.Equal(cred.Certificates[0].NotAfter):
				t.Errorf("%+v, %v, want %s until the end of the certificate", got, err, tt.want)
			}
		})
	}
}

func TestCertificatesExpired(t *testing.T) {
	ca := newAuthority(t)
	auth := must(Certificates(CertOptions{}))
	for name, change := range map[string]func(*certTemplate){
		"expired":       func(c *certTemplate) { c.Subject.CommonName, c.NotAfter = "a", time.Now().Add(-time.Minute) },
		"not yet valid": func(c *certTemplate) { c.Subject.CommonName, c.NotBefore = "a", time.Now().Add(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.Authenticate(t.Context(), ca.leaf(t, change))
			checkRejected(t, err, "expired, or is not valid yet")
		})
	}
	if _, err := auth.Authenticate(t.Context(), wire.Credentials{Token: "x"}); !errors.Is(err, wire.ErrNoCredentials) {
		t.Errorf("no certificate: %v", err)
	}
}

func TestCertOptions(t *testing.T) {
	for pattern, want := range map[string]string{
		"spiffe://example.org/agent":           "want the segment {agent} once",
		"spiffe://{agent}/x":                   "want the segment {agent} once",
		"spiffe://example.org/{agent}/{agent}": "want the segment {agent} once",
		"spiffe://example.org/a-{agent}":       "as whole segments",
		"spiffe://example.org/a%2F/{agent}":    "none of %, ? and #",
		"spiffe://example.org//{agent}":        "a segment is empty",
		"spiffe://example.org/{agent}/":        "a segment is empty",
		"example.org/ns/a/{agent}":             "",
		"/ns/a/{agent}":                        "",
		"{agent}":                              "want a URI such as",
		"spiffe://{agent}":                     "want a URI such as",
		"spiffe//a/{agent}":                    "want a URI such as",
		"spiffe:/a/b/{agent}":                  "want a URI such as",
		"spiffe://a/{agent":                    "as whole segments",
		"spiffe://a/?/{agent}":                 "as whole segments",
	} {
		if _, err := Certificates(CertOptions{Pattern: pattern}); err == nil || !strings.HasPrefix(err.Error(), "auth: CertOptions.Pattern: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}

// The agent of a URI is what stands at {agent}. A URI that does not fit names none.
func TestPattern(t *testing.T) {
	for _, tt := range []struct{ pattern, uri, want string }{
		{"spiffe://o/{agent}", "spiffe://o/a", "a"},
		{"spiffe://o/{agent}", "spiffe://o/a/b", "a/b"},
		{"spiffe://o/{agent}", "spiffe://o", ""},
		{"spiffe://o/{agent}", "spiffe://o/", ""},
		{"spiffe://o/{agent}", "spiffe://p/a", ""},
		{"spiffe://o/{agent}", "https://o/a", ""},
		{"spiffe://o/{agent}", "spiffe:/x/o/a", ""},
		{"spiffe://o/{agent}", "spiffe://o/a%2Fb", ""},
		{"spiffe://o/{agent}", "spiffe://o/a?b", ""},
		{"spiffe://o/{agent}", "spiffe://o/a#b", ""},
		{"spiffe://o/{agent}", "spiffe://o/./a", ""},
		{"spiffe://o/{agent}", "spiffe://o/a/..", ""},
		{"spiffe://o/{agent}", "spiffe://o/a//b", ""},
		{"spiffe://o/{agent}/x", "spiffe://o/a/x", "a"},
		{"spiffe://o/{agent}/x", "spiffe://o/a/y", ""},
		{"spiffe://o/{agent}/x", "spiffe://o/a/x/y", ""},
		{"spiffe://o/*/{agent}", "spiffe://o/any/a", "a"},
		{"spiffe://o/{agent}/*", "spiffe://o/a/any", "a"},
		{"spiffe://*/ns/{agent}", "spiffe://any/ns/a", "a"},
	} {
		name, ok := must(parsePattern(tt.pattern)).agent(tt.uri)
		if name != tt.want || ok != (tt.want != "") {
			t.Errorf("%s has in %s the agent %q, %t, want %q", tt.pattern, tt.uri, name, ok, tt.want)
		}
	}
}
