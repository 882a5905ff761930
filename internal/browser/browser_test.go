package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// startBrowser starts the browser of all tests, and returns the context for its tabs.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("there is no chromium in the PATH: run .ci/setup, which installs it")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1360, 900),
	}
	for _, name := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-extensions", "disable-dev-shm-usage", "mute-audio"} {
		options = append(options, chromedp.Flag(name, true))
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits for the end of its process
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return ctx
}

// tab is a tab of the browser that shows the console of a node.
type tab struct {
	t    *testing.T
	ctx  context.Context
	url  string // of the console
	mu   sync.Mutex
	said []string // errors of the page, and dialogs that it has opened
}

// open opens a tab. At its end, nothing may have failed in the page, save what allowed says, and no
// dialog of the browser may have been opened.
func open(t *testing.T, browser context.Context, url string, allowed ...string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	b := &tab{t: t, ctx: ctx, url: url + "/console/"}
	t.Cleanup(func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.said {
			// The console works with a node that does not serve these two; the browser notes them.
			if strings.Contains(text, "404 (Not Found)") && (strings.HasSuffix(text, "/api/rates") || strings.Contains(text, "/api/refusals?")) {
				continue
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return strings.Contains(text, a) }) {
				t.Errorf("the page: %s", text)
			}
		}
	})
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" {
				b.note(m.String() + " " + m.URL)
			}
		}
	}()
	dialogs := chromedp.Events(ctx, page.JavascriptDialogOpening)
	go func() {
		for d, err := range dialogs {
			if err != nil {
				return
			}
			b.note("it has opened a dialog: " + d.Message)
		}
	}()
	b.must(chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}))
	b.scheme("light")
	return b
}

func (b *tab) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, text)
}

func (b *tab) must(_ any, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// scheme sets whether the system of the browser is light or dark.
func (b *tab) scheme(name string) {
	b.t.Helper()
	b.must(chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}))
}

// goTo shows a view.
func (b *tab) goTo(view string) {
	b.t.Helper()
	if err := b.run(chromedp.Navigate(b.url + view)); err != nil {
		b.t.Fatal(err)
	}
	b.until(`document.getElementById('main').dataset.at === location.hash`) // a change of the fragment does not load the page
}

func (b *tab) run(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience.Time)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// eval returns the value of an expression of JavaScript.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience.Time)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until a condition of the page holds; what throws does not hold.
func (b *tab) until(condition string) {
	b.t.Helper()
	await[bool](b, "Boolean("+condition+")")
}

// await waits until an expression of JavaScript has a value that is true, and returns it; what
// throws is not. chromedp.Poll makes code of a text, which the policy of the console forbids.
func await[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience.Time)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](`new Promise((done) => {
		const value = () => { try { return `+expression+`; } catch { return null; } };
		const look = () => { const v = value(); if (v) done(v); else setTimeout(look, 20); };
		look();
	})`, chromedp.EvalAwaitPromise))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			b.t.Fatalf("the page never has: %s\nit shows:\n%s", expression, eval[string](b, "document.body.innerText"))
		}
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// shows waits until an element has a text.
func (b *tab) shows(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.textContent.includes(%s))", js(selector), js(text)))
}

// click waits for the first element with a text, and clicks it as a user would: at its place, so
// that it has to be in sight and not covered.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%s)].find((e) => e.textContent.includes(%s) && !e.disabled)", js(selector), js(text))
	at := await[[]float64](b, `(() => { const e = `+find+`; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	if err := b.run(chromedp.MouseClickXY(at[0], at[1])); err != nil {
		b.t.Fatal(err)
	}
}

// typeIn focuses a field and types a text.
func (b *tab) typeIn(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%s)", js(selector)))
	eval[chromedp.Void](b, fmt.Sprintf("document.querySelector(%s).focus()", js(selector)))
	b.press(text)
}

// press presses keys.
func (b *tab) press(keys string) {
	b.t.Helper()
	if err := b.run(chromedp.KeyEvent(keys)); err != nil {
		b.t.Fatal(err)
	}
}

// js returns a text as a literal of JavaScript.
func js(text string) string {
	literal, _ := json.Marshal(text) // a string can be encoded
	return string(literal)
}
