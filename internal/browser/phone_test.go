package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// outside lists what a user of a small screen cannot reach: a control beyond the sides of the
// screen or of its card, and a page that is wider than the screen. What lies in a part that scrolls
// by itself can be reached.
const outside = `[...document.querySelectorAll('button, input, select, a, .card, dialog[open]')].flatMap((e) => {
	const r = e.getBoundingClientRect();
	if (!r.width || e.closest('.viewport, .scroll, .tree') || e.id === 'skip') return [];
	const in_ = (e.matches('.card') ? null : e.closest('.card, dialog'))?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
	return r.left < Math.max(0, in_.left) - 1 || r.right > Math.min(innerWidth, in_.right) + 1 || in_.bottom && r.bottom > in_.bottom + 1 ? [e.outerHTML.slice(0, 80)] : [];
}).concat(document.documentElement.scrollWidth > innerWidth ? ['the page: ' + document.documentElement.scrollWidth] : []).join('\n')`

// On a phone each control can be reached, and a step can be denied.
func testPhone(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	verdict := n.propose("deploy the next version of the web shop", map[string]any{"text": strings.Repeat("a long text ", 50)})
	b := open(t, browser, n.url)
	for _, width := range []int64{320, 360, 480} {
		b.must(chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 740, DeviceScaleFactor: 1, Mobile: true}))
		for i, view := range []struct{ at, ready string }{
			{"", "td"}, {"#/agents", ".space .row"}, {"#/conversations", ".space .row"}, {conversationOf(d.Conversation()), ".states .box"}, {"#/approvals", ".step"}, {"#/refusals", ".empty"},
		} {
			b.goTo(view.at)
			b.until("document.querySelector(" + js(view.ready) + ")")
			if text := eval[string](b, outside); text != "" {
				t.Errorf("%d pixels, %s: out of reach is\n%s", width, view.at, text)
			}
			if folder := os.Getenv("PHONE"); folder != "" {
				picture, _ := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				_ = os.WriteFile(filepath.Join(folder, fmt.Sprint(width, "-", i, ".png")), picture, 0o600)
			}
		}
		b.goTo(conversationOf(d.Conversation()))
		b.click("#cancel", "Cancel it")
		if text := eval[string](b, outside); text != "" {
			t.Errorf("%d pixels, the question: out of reach is\n%s", width, text)
		}
		b.click("dialog[open] button", "Leave it")
	}
	b.goTo("#/approvals")
	b.click(".step button", "Deny")
	select {
	case v := <-verdict:
		if v.Approved {
			t.Errorf("%+v", v)
		}
	case <-patience.Context(t).Done():
		t.Fatal("no verdict")
	}
}
