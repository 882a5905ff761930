package console_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/runtime/observe/console"
)

func ask(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	console.New().ServeHTTP(w, r)
	return w
}

// files returns the names and texts of all files of the console.
func files(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("static/*")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	all := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(text)
	}
	return all
}

// Each file is served with its type, under a policy that allows nothing inline, and a browser that
// has it is told so.
func TestFiles(t *testing.T) {
	types := map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	for name, text := range files(t) {
		got := ask("GET", "/console/"+name)
		h := got.Header()
		if got.Code != 200 || got.Body.String() != text || h.Get("Content-Type") != types[filepath.Ext(name)] {
			t.Errorf("%s: %d %v", name, got.Code, h)
		}
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q has no %s", name, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || h.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v", name, h)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if h.Get(header) != want {
				t.Errorf("%s: %s is %q, want %q", name, header, h.Get(header), want)
			}
		}
		if again := ask("GET", "/console/"+name, "If-None-Match", h.Get("ETag")); again.Code != http.StatusNotModified || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s again: %d %v", name, again.Code, h)
		}
		if old := ask("GET", "/console/"+name, "If-None-Match", `"other"`); old.Code != 200 {
			t.Errorf("%s after a change: %d", name, old.Code)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, test := range []struct {
		method, path string
		code         int
		want         string
	}{
		{"GET", "/console/", 200, "<!doctype html>"},
		{"GET", "/below/console/", 200, "<!doctype html>"},
		{"HEAD", "/console/main.js", 200, ""},
		{"GET", "/console/static/main.js", 404, "/console/"},
		{"GET", "/console/../console.go", 404, ""},
		{"POST", "/console/", 405, "read"},
	} {
		if got := ask(test.method, test.path); got.Code != test.code || !strings.Contains(got.Body.String(), test.want) {
			t.Errorf("%s %s: %d %s", test.method, test.path, got.Code, got.Body)
		}
	}
	if got := ask("POST", "/console/").Header().Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow is %q", got)
	}
	for path, want := range map[string]string{"/console": "console/", "/below/console": "console/"} {
		if got := ask("GET", path); got.Code != http.StatusPermanentRedirect || got.Header().Get("Location") != want {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
}

// The page loads only what there is, of this site, and no text can become markup, a style or a
// script.
func TestSources(t *testing.T) {
	all := files(t)
	loads := regexp.MustCompile(`(?:src|href)="([^"#]+)"|from '\./([^']+)'`)
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|\.cookie|localStorage|EventSource|setAttribute\('(?:style|on)|https?://`)
	used := map[string]bool{"index.html": true}
	for name, text := range all {
		for _, found := range loads.FindAllStringSubmatch(text, -1) {
			file := found[1] + found[2]
			if _, ok := all[file]; !ok && file != "../api/node" {
				t.Errorf("%s loads %s, which is not there", name, file)
			}
			used[file] = true
		}
		if strings.HasSuffix(name, ".js") {
			text = strings.ReplaceAll(text, "'http://www.w3.org/2000/svg'", "")
			text = regexp.MustCompile(`(?m)(?://|\*) .*$`).ReplaceAllString(text, "") // comments
			if found := forbidden.FindString(text); found != "" {
				t.Errorf("%s has %s", name, found)
			}
		}
	}
	for name := range all {
		if !used[name] {
			t.Errorf("nothing loads %s", name)
		}
	}
	inline := regexp.MustCompile(`<style|\sstyle=|\son[a-z]+=|<script[^>]*>[^<]`)
	if found := inline.FindString(all["index.html"]); found != "" {
		t.Errorf("index.html has %q inline", found)
	}
}
