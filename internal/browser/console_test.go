package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// The tests of the console share one browser: each has a tab and a node of its own.
func TestConsole(t *testing.T) {
	browser := startBrowser(t)
	tests := map[string]func(*testing.T, context.Context){
		"views": testViews, "live": testLive, "cancel": testCancel, "approvals": testApprovals, "inbox": testInbox, "rights": testRights, "many": testMany, "injection": testInjection,
		"keyboard": testKeyboard, "colours": testColours, "names": testNames, "refusals": testRefusals, "failures": testFailures, "filters": testFilters, "addresses": testAddresses, "return": testReturn, "approvals by keyboard": testApprovalsByKeyboard, "swarm": testSwarm, "again": testAgain, "texts": testTexts, "diagram": testDiagram, "nodes": testNodes, "served": testServed, "command": testCommand, "burst": testBurst, "pages": testPages, "group": testGroup, "rows": testRows, "ends": testEnds, "room": testRoom, "phone": testPhone, "overload": testOverload,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, browser)
		})
	}
}

func conversationOf(id performatives.ConversationID) string { return "#/conversations/" + string(id) }

// Each view has an address, and shows what there is.
func testViews(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	d := n.delegate(performatives.TaskRequest{TaskType: "dig", Description: "a hole", Parameters: performatives.ContentOf(map[string]any{"api_key": "canary", "depth": 7})},
		codons.WithBudget(codons.Budget{"tokens": 5000}))
	b := open(t, browser, n.url)
	for view, want := range map[string][]string{
		"":                               {"Overview", "Conversations under way", "north"},
		"#/agents":                       {"Agents", "Worker", "Boss", "Urgent"},
		"#/conversations":                {"Conversations", "task-delegation", "Worker", "1 conversation", "working"},
		"#/conversations?live=false":     {"No conversation matches."},
		conversationOf(d.Conversation()): {"TASK_REQUEST", "TASK_ACCEPT", "Task delegation", "initiator", "responder", "under way", "tokens 5,000 lent", "tokens 4,800 of 5,000 left", "receive INFORM_RESULT", "Legal next moves"},
		"#/approvals":                    {"Approvals", "Nothing waits for a decision."},
		"#/refusals":                     {"Refusals and dead letters", "There are none."},
		"#/nowhere":                      {"There is no such view."},
	} {
		b.goTo(view)
		for _, text := range want {
			b.shows("main", text)
		}
	}
	b.goTo(conversationOf(d.Conversation()))
	b.until(`document.querySelector('.states .box.current')?.textContent === 'working'`)
	b.until(`document.querySelectorAll('.states .box.current').length === 2`)
	b.until(`document.querySelectorAll('.states .edge.taken').length === 4 && document.querySelectorAll('.states .edge.lit').length > 2`)
	b.until(`[...document.querySelectorAll('td time')].some((e) => e.textContent.startsWith('in '))`) // the deadline
	b.click(".message", "TASK_REQUEST")
	b.shows(".payload pre", `"depth": 7`)
	b.shows(".payload pre", `"***"`)
	if text := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(text, "canary") {
		t.Error("the page has what is masked")
	}
}

// What happens appears on the page without a reload: in the list, in the diagram of messages, and
// in the states.
func testLive(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	list := open(t, browser, n.url)
	list.goTo("#/conversations")
	list.shows(".empty", "No conversation matches.")
	eval[chromedp.Void](list, "window.mark = 1")
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	list.shows(".list .row", "working")
	one := open(t, browser, n.url)
	one.goTo(conversationOf(d.Conversation()))
	one.shows("#live", "live")
	one.until(`document.querySelectorAll('.message').length === 2`)
	eval[chromedp.Void](one, "window.mark = 1")
	n.worker.report <- "half of it"
	one.until(`document.querySelectorAll('.message').length === 3`)
	one.click(".message", "STATUS_UPDATE")
	one.shows(".payload pre", "half of it")
	n.worker.finish <- struct{}{}
	if _, err := d.Wait(); err != nil {
		t.Fatal(err)
	}
	one.shows(".message", "INFORM_RESULT")
	one.until(`[...document.querySelectorAll('.states .box.current')].every((e) => e.textContent === 'completed')`)
	// The path of each side stands out: what it has come through, and no move that is over.
	one.until(`[...document.querySelectorAll('.states .box.passed')].map((e) => e.textContent).join(' ') === 'idle requested working idle considering working'`)
	one.until(`[...document.querySelectorAll('.states')].every((e) => e.querySelectorAll('.edge.taken').length === 3 && !e.querySelector('.edge.lit'))`)
	one.until(`[...document.querySelectorAll('.states .edge.taken title')].some((e) => e.textContent.startsWith('working → completed: receive INFORM_RESULT'))`)
	one.until(`document.querySelector('.states').getAttribute('aria-label') === 'States of the initiator; now: completed; so far: idle, requested, working, completed'`)
	one.shows(".facts", "ended")
	one.until(`document.querySelector('#cancel').disabled`)
	list.shows(".list .row", "completed")
	if eval[int](one, "window.mark") != 1 || eval[int](list, "window.mark") != 1 {
		t.Error("a page was loaded again")
	}
}

// An operator cancels a conversation, and sees the receipt.
func testCancel(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	b := open(t, browser, n.url)
	b.goTo(conversationOf(d.Conversation()))
	b.click("#cancel", "Cancel it")
	b.click("dialog[open] button", "Leave it")
	b.until(`!document.querySelector('dialog[open]')`)
	if n.Counts().Open == 0 {
		t.Fatal("it was cancelled without a confirmation")
	}
	b.click("#cancel", "Cancel it")
	b.click("#confirm", "Cancel it")
	b.shows("#outcome", "Cancelled: the peer says that nothing runs any more.")
	if _, err := d.Wait(); err == nil || !strings.Contains(err.Error(), "operator") {
		t.Errorf("the caller got %v", err)
	}
	b.shows(".message", "CANCEL")
	b.until(`document.querySelector('#cancel').disabled`)
}

// An operator approves and denies, with reasons.
func testApprovals(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("#/approvals")
	b.shows("main", "Nothing waits for a decision.")
	for _, test := range []struct {
		button string
		want   bool
	}{{"Approve", true}, {"Deny", false}} {
		verdict := n.propose("deploy", map[string]any{"password": "canary", "version": "1.2"})
		b.shows(".step pre", "1.2")
		b.until(`/^#\/conversations\/.+/.test(document.querySelector('.step a').getAttribute('href'))`)
		if strings.Contains(eval[string](b, "document.body.textContent"), "canary") {
			t.Error("the page has what is masked")
		}
		b.typeIn(".step input", "because of "+test.button)
		b.click(".step button", test.button)
		select {
		case v := <-verdict:
			if v.Approved != test.want || v.Reason != "because of "+test.button {
				t.Errorf("%s: %+v", test.button, v)
			}
		case <-patience.Context(t).Done():
			t.Fatal("no verdict")
		}
		b.until(`document.querySelectorAll('.step').length === 0`)
	}
	b.shows("#decided", "denied")
}

// Of many steps that wait, only the cards in sight are in the document. All can be reached and
// decided, and what was typed for one stays, also when it was out of sight.
func testInbox(t *testing.T, browser context.Context) {
	const count = 300
	n := serve(t, nil)
	verdicts := make([]<-chan approval.Approval, count)
	for i := range count {
		verdicts[i] = n.propose(fmt.Sprint("step ", i), map[string]any{"text": strings.Repeat("a long text ", 500)})
		if i%10 == 9 { // a slow machine refuses so many at once as busy
			n.open(2 * (i + 1))
		}
	}
	b := open(t, browser, n.url)
	b.goTo("#/approvals")
	b.shows(".count", "300 waiting")
	cards := func() {
		t.Helper()
		if got := eval[int](b, `document.querySelectorAll('.step').length`); got < 3 || got > 30 {
			t.Errorf("%d cards", got)
		}
	}
	cards()
	b.typeIn(".step input", "not yet")
	first := eval[string](b, `document.querySelector('.step h2').textContent`)
	eval[chromedp.Void](b, `document.querySelector('.inbox').scrollTop = 1e9`)
	b.until(`document.querySelector('.step[aria-posinset="300"][aria-setsize="300"]')`)
	cards()
	b.until(`document.activeElement.value === 'not yet'`) // what has the focus stays
	eval[chromedp.Void](b, `document.activeElement.blur()`)
	b.until(`![...document.querySelectorAll('.step h2')].some((e) => e.textContent === ` + js(first) + `)`)
	// The last one is in sight as a whole, and is decided.
	last := `document.querySelector('.step[aria-posinset="300"]')`
	b.until(`(() => { const c = ` + last + `.getBoundingClientRect(), i = document.querySelector('.inbox').getBoundingClientRect(); return c.top >= i.top && c.bottom <= i.bottom + 1; })()`)
	what := eval[string](b, `/step \d+/.exec(`+last+`.querySelector('pre').textContent)[0]`)
	eval[bool](b, last+`.querySelector('button.danger').click() || true`)
	b.shows(".count", "299 waiting")
	var of int
	if _, err := fmt.Sscanf(what, "step %d", &of); err != nil {
		t.Fatal(err)
	}
	select {
	case v := <-verdicts[of]:
		if v.Approved {
			t.Errorf("%+v", v)
		}
	case <-patience.Context(t).Done():
		t.Fatal("no verdict")
	}
	eval[chromedp.Void](b, `document.querySelector('.inbox').scrollTop = 0`)
	b.until(`document.querySelector('.step h2').textContent === ` + js(first) + ` && document.querySelector('.step input').value === 'not yet'`)
	cards()
}

// A token is asked for, kept for the tab only, and sent in the header only. An act without the
// right is refused visibly.
func testRights(t *testing.T, browser context.Context) {
	const reader, actor = "reader-0123456789abcdefg", "actor-0123456789abcdefgh"
	known, err := auth.Tokens([]auth.Token{{Value: reader, Name: "ann"}, {Value: actor, Name: "bob"}})
	if err != nil {
		t.Fatal(err)
	}
	permits, err := auth.Rules{{Agent: "ann", Operator: []auth.Right{auth.RightRead}}, {Agent: "bob", Operator: []auth.Right{auth.RightRead, auth.RightAct}}}.Operator()
	if err != nil {
		t.Fatal(err)
	}
	n := serve(t, func(o *api.Options) { o.Auth, o.Permits = known, permits })
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	verdict := n.propose("deploy", map[string]any{"version": "1.2"})
	b := open(t, browser, n.url, "401 (Unauthorized)", "403 (Forbidden)")
	b.goTo(conversationOf(d.Conversation()))
	b.shows("dialog[open]", "send a token")
	b.press("half of ")
	eval[chromedp.Void](b, `dispatchEvent(new CustomEvent('unauthorized', { detail: 'once more' }))`)
	b.shows("dialog[open]", "once more")
	if got := eval[string](b, "document.querySelector('#token-input').value"); got != "half of " {
		t.Errorf("what was typed has become %q", got)
	}
	b.click("#token-cancel", "Close")
	b.shows("#alert", "send a token")
	b.until(`!document.querySelector('dialog[open]')`)
	b.click("#token", "Token")
	enter := func(token string) {
		b.typeIn("#token-input", token)
		b.click("#token-form button", "Use it")
	}
	enter("unknown-0123456789abcdefgh")
	b.shows("dialog[open]", "does not accept")
	enter(reader)
	b.until(`document.querySelectorAll('.message').length === 2`)
	b.shows("#live", "live")
	b.click("#cancel", "Cancel it")
	b.click("#confirm", "Cancel it")
	b.shows("#outcome", "Not cancelled. forbidden: this token has not the right to act")
	b.shows("#alert", "forbidden")
	b.goTo("#/approvals")
	b.click(".step button", "Approve")
	b.shows("#alert", "forbidden")
	if n.Counts().Open == 0 || len(verdict) > 0 {
		t.Fatal("an act without the right")
	}
	for _, place := range []string{"location.href", "document.cookie", "JSON.stringify(localStorage)", "document.documentElement.outerHTML", "JSON.stringify(performance.getEntriesByType('resource').map((e) => e.name))"} {
		if text := eval[string](b, place); strings.Contains(text, reader) {
			t.Errorf("%s has the token: %s", place, text)
		}
	}
	b.click("#token", "Token")
	enter(actor)
	b.click(".step button", "Approve")
	if v := <-verdict; !v.Approved {
		t.Errorf("%+v", v)
	}
	b.goTo(conversationOf(d.Conversation()))
	b.click("#cancel", "Cancel it")
	b.click("#confirm", "Cancel it")
	b.shows("#outcome", "Cancelled")
	b.click("#token", "Token")
	b.click("#token-forget", "Forget it")
	b.shows("dialog[open]", "send a token")
	other := open(t, browser, n.url, "401 (Unauthorized)")
	other.goTo("")
	other.shows("dialog[open]", "send a token")
}

// Of ten thousand conversations under way, only the rows in sight are in the document, and all can
// be reached.
func testMany(t *testing.T, browser context.Context) {
	const count = 10_000
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	first := n.beginSilent(0, count)[0]
	n.open(count)
	b := open(t, browser, n.url)
	b.goTo("")
	eval[chromedp.Void](b, `window.long = []; new PerformanceObserver((l) => window.long.push(...l.getEntries().map((e) => e.duration))).observe({type: 'longtask', buffered: true})`)
	rows := func() {
		t.Helper()
		if got := eval[int](b, `document.querySelectorAll('.list .row').length`); got < 10 || got > 200 {
			t.Errorf("%d rows", got)
		}
	}
	eval[chromedp.Void](b, `location.hash = '#/conversations?live=true'`)
	b.shows(".count", "10,000 conversations")
	b.until(`!document.querySelector('.count').textContent.includes('loading')`)
	rows()
	b.shows(".row", "c-09999")
	b.typeIn(".viewport", kb.End)
	b.shows(".row.active", "c-00000")
	rows()
	for range 3 {
		b.press(kb.PageUp)
	}
	rows()
	eval[chromedp.Void](b, `document.querySelector('.viewport').scrollTop = 36 * 5000`)
	b.shows(".row", "c-04990")
	rows()
	b.press(kb.Home)
	b.shows(".row.active", "c-09999")
	n.delegate(performatives.TaskRequest{TaskType: "dig"}, codons.WithConversation("the-latest"))
	b.shows(".row", "the-latest")
	b.shows(".count", "10,001 conversations")
	first.Cancel() // it is far below
	b.shows(".count", "10,000 conversations")
	rows()
	t.Logf("long tasks of the page, in ms: %v", eval[[]float64](b, "window.long"))
}

// hostile is a text of everything that could become more than text.
const hostile = "</pre><img src=x onerror=alert(1)><script>alert(2)</script>'\"`${alert(3)}\u001b[31mred\u0007\u202egnorw\u2066\u200b\u0085javascript:alert(4)"

// Names, texts and payloads with markup, scripts, terminal escapes and bidirectional overrides are
// shown as text.
func testInjection(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	name := performatives.AgentID(`<img/src=x/onerror=alert(5)>`)
	n.spawn(name, silent{})
	d, err := delegation.Start(patience.Context(t), n, name, performatives.TaskRequest{TaskType: "dig", Description: hostile, Parameters: performatives.ContentOf(map[string]any{hostile: hostile, "lines": "a\n" + hostile})},
		ungraceful, codons.WithConversation(performatives.ConversationID("<svg/onload=alert(6)>/'\"#?&%41")))
	if err != nil {
		t.Fatal(err)
	}
	_ = n.propose(hostile, map[string]any{hostile: hostile})
	nobody := performatives.AgentID(`<b>nobody</b>`)
	_, _ = n.Delegate(patience.Context(t), nobody, performatives.TaskRequest{TaskType: "dig", Description: hostile})
	b := open(t, browser, n.url, "404 (Not Found)") // of the conversation that there is not
	b.goTo("")
	b.shows("main", "north")
	b.goTo("#/agents")
	b.shows(".row", string(name))
	b.goTo("#/conversations?text=" + "%3Cscript%3E%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(8)%3E")
	b.until(`document.querySelector('input[name=text]').value === '<script>"><img src=x onerror=alert(8)>'`)
	b.goTo("#/conversations")
	b.shows(".row", string(name))
	b.click(".row", string(d.Conversation())) // the whole of it is in the address
	b.shows("h1", string(d.Conversation()))
	b.shows(".agent", "alert(5)")
	b.click(".message", "TASK_REQUEST")
	b.shows(".payload pre", "<script>alert(2)</script>")
	b.shows(".payload pre", "⟨U+202E⟩gnorw⟨U+2066⟩⟨U+200B⟩⟨U+0085⟩")
	b.shows(".payload pre", `\u001b[31mred`)
	b.shows(".payload pre", "│ </pre>") // in a text of several lines
	b.shows(".payload pre", "␛[31mred␇")
	b.goTo("#/approvals")
	b.shows(".step pre", "<script>alert(2)</script>")
	b.goTo("#/refusals")
	b.shows("main", "Refusals")
	for _, view := range []string{"#/<img src=x onerror=alert(7)>", "#/conversations/%E0%A4%A?x=<script>", "#/conversations/%3Cscript%3E"} {
		b.goTo(view)
		b.until(`document.querySelector('h1')`)
	}
	if got := eval[int](b, `document.querySelectorAll('main img, main script, main svg svg, main b:not(.states b)').length`); got != 0 {
		t.Errorf("%d elements of hostile texts", got)
	}
}

// All of the console can be reached and worked by keyboard.
func testKeyboard(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	b := open(t, browser, n.url)
	b.goTo("")
	b.shows("main", "north")
	b.press(kb.Tab)
	if got := eval[string](b, "document.activeElement.id"); got != "skip" {
		t.Errorf("the first focus is on %q", got)
	}
	b.press(kb.Enter)
	if got := eval[string](b, "document.activeElement.id"); got != "main" {
		t.Errorf("the focus skips to %q", got)
	}
	b.goTo("#/conversations")
	b.shows(".row", "working")
	focus := func(what string) {
		t.Helper()
		for range 40 {
			if eval[bool](b, "document.activeElement.matches("+js(what)+")") {
				return
			}
			b.press(kb.Tab)
		}
		t.Fatalf("the Tab key never comes to %s", what)
	}
	focus(".viewport")
	b.until(`document.querySelector('.viewport').getAttribute('aria-activedescendant')`)
	b.press(kb.Enter)
	b.shows("h1", string(d.Conversation()))
	b.shows(".message", "TASK_ACCEPT")
	focus(".sequence")
	b.press(kb.ArrowDown)
	b.shows(".payload dd", "TASK_ACCEPT")
	b.goTo(conversationOf(d.Conversation()))
	b.until(`!document.querySelector('#cancel')?.disabled`)
	focus("#cancel")
	b.press(kb.Enter)
	focus("#confirm")
	b.press(kb.Enter)
	b.shows("#outcome", "Cancelled")
}

// Light and dark differ, and both have enough contrast (WCAG 2.2 §1.4.3).
func testColours(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("")
	b.shows("td", "north")
	backs := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		backs[eval[string](b, "getComputedStyle(document.body).backgroundColor")] = true
		for _, pair := range []string{"--text --back", "--text --card", "--soft --back", "--soft --card", "--bad --bad-back", "--accent --card", "--accent-text --accent", "--text --lit"} {
			ratio := eval[float64](b, `(() => {
				const style = getComputedStyle(document.documentElement);
				const light = (name) => {
					const parts = style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/g).map((x) => parseInt(x, 16) / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
					return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
				};
				const [a, b] = `+js(pair)+`.split(' ').map(light);
				return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			})()`)
			if ratio < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f", scheme, pair, ratio)
			}
		}
	}
	if len(backs) != 2 {
		t.Errorf("the colours do not change: %v", backs)
	}
}

// Refused messages and dead letters appear, with their reasons.
func testRefusals(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("#/refusals")
	b.shows("#live", "live")
	_, _ = n.Delegate(patience.Context(t), "Nobody", performatives.TaskRequest{TaskType: "dig"})
	b.shows(".row", "Nobody")
	b.shows(".row", string(performatives.CodeUnknownAgent))
	b.click(".row", "Nobody")
	b.shows(".message.refused", "TASK_REQUEST")
}

// wrong is an agent whose work fails, with a text that has a secret and markup, or panics.
type wrong struct{ worker }

func (wrong) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	if t.TaskType == "panic" {
		panic("no map")
	}
	return performatives.InformResult{}, errors.New("password=canary <img src=x>\x1b[31m")
}

// The pages of a conversation and of an agent say why it has failed. A repeated message is no
// trouble.
func testFailures(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Wrong", wrong{n.worker})
	b := open(t, browser, n.url)
	for of, want := range map[string]string{"error": "password=*** <img src=x>", "panic": "no map"} {
		d, err := delegation.Start(patience.Context(t), n, "Wrong", performatives.TaskRequest{TaskType: of})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = d.Wait()
		b.goTo(conversationOf(d.Conversation()))
		b.shows(".failures", want)
	}
	n.Events().Publish(events.DeadLetter{At: events.At{Time: time.Now()}, To: "Wrong", Code: machine.DropDuplicate})
	b.goTo("#/agents")
	b.click(".row a.bad", "2")
	b.until(`location.hash === '#/agents/Wrong'`)
	b.shows(".count", "2 errors")
	b.until(`document.querySelectorAll('.failures details').length === 1`)
	b.click(".failures summary", "Stack")
	b.shows(".failures details[open] pre", "console_test.go")
	if text := eval[string](b, `document.body.textContent`); strings.Contains(text, "canary") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
	b.goTo("#/refusals")
	b.shows(".row", "had its effect")
	b.until(`!document.querySelector('.row .bad')`)
}

// The filters are those of the address, and are entered into it.
func testFilters(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	d := n.delegate(performatives.TaskRequest{TaskType: "dig", Description: "a needle"})
	if _, err := delegation.Start(patience.Context(t), n, "Silent", performatives.TaskRequest{TaskType: "dig"}, ungraceful); err != nil {
		t.Fatal(err)
	}
	b := open(t, browser, n.url)
	b.goTo("#/conversations?agent=Worker")
	b.shows(".count", "1 conversation")
	b.goTo("#/conversations")
	b.shows(".count", "2 conversations")
	b.typeIn("input[name=text]", "needle")
	b.shows(".count", "1 conversation")
	b.shows(".row", string(d.Conversation()))
	b.until(`location.hash === '#/conversations?text=needle'`)
	// Messages that belong to no codon have no sides: the list has who sent the first one to whom.
	m, err := performatives.New(performatives.Envelope{ID: "alone", Performative: performatives.ActInform, Sender: "Boss", Receiver: "Silent", Timestamp: time.Now(), Payload: performatives.Raw(`{}`)})
	if err == nil {
		err = n.Send(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.goTo("#/conversations?text=alone")
	b.until(`document.querySelectorAll('.space .row').length === 1`)
	b.until(`[...document.querySelectorAll('.space .row .cell')].slice(2, 4).map((e) => e.textContent).join(' ') === 'Boss Silent'`)
	b.click(".space .row", "Silent")
	b.shows(".facts", "whether it has ended is not known")
	b.goTo("#/agents")
	b.shows(".row", "Silent")
	b.typeIn("input[name=agent]", "work")
	b.shows(".count", "1 of 4 agents")
}

// The address of a view is enough for it: after a reload, and by the way back, the same is shown
// with the same filters.
func testAddresses(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	if _, err := delegation.Start(patience.Context(t), n, "Silent", performatives.TaskRequest{TaskType: "dig"}, ungraceful); err != nil {
		t.Fatal(err)
	}
	b := open(t, browser, n.url)
	b.goTo("#/agents?agent=work")
	views := []struct{ address, selector, text string }{
		{"#/agents?agent=work", ".count", "1 of 4 agents"},
		{"#/conversations?live=true&agent=Worker", ".count", "1 conversation"},
		{conversationOf(d.Conversation()), ".message", "TASK_ACCEPT"},
		{"#/refusals?kind=dead_letter", "h1", "Refusals and dead letters"},
	}
	for _, v := range views {
		eval[chromedp.Void](b, "location.hash = "+js(v.address))
		b.shows(v.selector, v.text)
		b.must(chromedp.Run(b.ctx, chromedp.Reload()))
		b.shows(v.selector, v.text)
	}
	b.until(`document.querySelector('select[name=kind]').value === 'dead_letter'`)
	for i := len(views) - 2; i >= 0; i-- {
		eval[chromedp.Void](b, "history.back()")
		b.until("location.hash === " + js(views[i].address))
		b.shows(views[i].selector, views[i].text)
	}
}

// The way back leads to the same place of a long list.
func testReturn(t *testing.T, browser context.Context) {
	const count = 1200 // more than a page
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	n.beginSilent(0, count)
	n.open(count)
	b := open(t, browser, n.url)
	b.goTo("#/conversations?live=true")
	b.shows(".count", "1,200 conversations")
	b.until(`!document.querySelector('.count').textContent.includes('loading')`)
	b.typeIn(".viewport", kb.End)
	for range 2 {
		b.press(kb.PageUp)
	}
	const where = `[document.querySelector('.row.active')?.querySelector('a').textContent, document.querySelector('.viewport').scrollTop].join()`
	want := eval[string](b, where)
	for _, leave := range []string{"", `document.querySelector('.row.active .cell').click()`, `document.querySelector('.row.active a').click()`} {
		if leave == "" {
			b.press(kb.Enter)
		} else {
			eval[chromedp.Void](b, leave)
		}
		b.shows("h1", "Conversation c-")
		eval[chromedp.Void](b, "history.back()")
		b.until(`document.querySelector('.viewport') && ` + where + " === " + js(want))
		eval[chromedp.Void](b, `document.querySelector('.viewport').focus()`)
	}
}

// A step is decided by the keyboard alone.
func testApprovalsByKeyboard(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("#/approvals")
	for _, test := range []struct {
		button string
		want   bool
	}{{"primary", true}, {"danger", false}} {
		verdict := n.propose("deploy", nil)
		b.shows(".step pre", "deploy")
		eval[chromedp.Void](b, "document.activeElement.blur()")
		for _, to := range []struct{ selector, keys string }{{".step input", "by keys"}, {".step button." + test.button, kb.Enter}} {
			for steps := 0; !eval[bool](b, "document.activeElement.matches("+js(to.selector)+")"); steps++ {
				if steps == 40 {
					t.Fatalf("the Tab key never comes to %s", to.selector)
				}
				b.press(kb.Tab)
			}
			for _, key := range to.keys {
				b.press(string(key))
			}
		}
		select {
		case v := <-verdict:
			if v.Approved != test.want || v.Reason != "by keys" {
				t.Errorf("%s: %+v", test.button, v)
			}
		case <-patience.Context(t).Done():
			t.Fatal("no verdict")
		}
		b.until(`document.querySelectorAll('.step').length === 0`)
	}
}
