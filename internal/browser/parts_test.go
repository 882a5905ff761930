package browser

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// After the node was out of reach, the page says so, connects again, and shows what has happened
// meanwhile.
func testAgain(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	b := open(t, browser, n.url, "Failed to load resource: net::")
	b.goTo(conversationOf(d.Conversation()))
	b.until(`document.querySelectorAll('.message').length === 2`)
	b.shows("#live", "live")
	n.gate.set(false)
	b.shows("#live", "reconnecting")
	b.shows("#alert", "cannot be reached")
	n.worker.report <- "meanwhile"
	n.gate.set(true)
	b.shows(".message", "STATUS_UPDATE")
	b.until(`document.querySelector('#live').textContent === 'live'`)
	b.until(`document.querySelector('#alert').hidden`)
	n.worker.finish <- struct{}{}
	b.shows(".message", "INFORM_RESULT")
}

// Whatever a text has in it: it becomes one text node, without a character that cannot be seen or
// that moves others.
func testTexts(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("")
	got := eval[[]string](b, `import(new URL('dom.js', document.baseURI)).then(({ shown, h, json }) => {
		const parts = ['<b>', '</', '&lt;', '"', "'", '\u0060', '$\{', '\\', 'a', '\n', '\t', '\r', '│ ', '\u{1f600}', '\ud800', '\udc00'];
		const wrong = [];
		for (let i = 0; i < 3000; i++) {
			let text = '';
			for (let n = Math.random() * 12; n > 0; n--) {
				const any = [Math.random() * 0x20, 0x7f + Math.random() * 0x21, 0x2000 + Math.random() * 0x70, Math.random() * 0x10ffff][Math.floor(Math.random() * 4)];
				text += Math.random() < 0.5 ? parts[Math.floor(Math.random() * parts.length)] : String.fromCodePoint(Math.floor(any));
			}
			for (const lines of [false, true]) {
				const element = h('p', { title: text });
				element.textContent = shown(text, lines);
				const rest = lines ? element.textContent.replace(/[\n\t]/g, '') : element.textContent;
				if (element.children.length || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(rest)) wrong.push(escape(text));
			}
			if (h('p', {}, text).childNodes.length > 1 || h('p', {}, text).textContent !== shown(text)) wrong.push(escape(text));
			// A text of several lines cannot look like a further member: each of its lines begins with a bar.
			if (json({ a: text }).split('\n').slice(1, -1).some((line) => !/^ {2}"a": |^ {4}│ /.test(line))) wrong.push('json ' + escape(text));
		}
		return wrong.slice(0, 5);
	})`)
	if len(got) != 0 {
		t.Errorf("texts: %s", strings.Join(got, "\n"))
	}
	// The digits of a number stay.
	if got := eval[string](b, `import(new URL('dom.js', document.baseURI)).then(({ json }) => json({ n: JSON.rawJSON('12345678901234567890'), l: [], t: 'x' }))`); got != "{\n  \"n\": 12345678901234567890,\n  \"l\": [],\n  \"t\": \"x\"\n}" {
		t.Error(got)
	}
}

// The diagram has the messages in the order of the node, whatever came first, and the last thousand
// of them at most.
func testDiagram(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("")
	b.until("window.main = document.querySelector('h1')")
	const use = `import(new URL('sequence.js', document.baseURI)).then(({ Sequence }) => {
		const m = (i, more) => ({ id: 'm' + i, time: new Date(1e12 + i).toISOString(), performative: 'INFORM', sender: i % 2 ? 'a' : 'b', receiver: i % 2 ? 'b' : 'a', sent: 1, ...more });
		const s = new Sequence(() => {});
		document.getElementById('main').replaceChildren(s.element);
		const ids = () => [...s.element.querySelectorAll('.message')].map((e) => e.dataset.id).join(' ');
		`
	for _, test := range []struct{ do, want string }{
		{`s.set([m(1), m(2)]); s.add([m(3)]); return ids()`, "m1 m2 m3"},
		{`s.add([m(3)]); s.set([m(1), m(2)]); return ids()`, "m1 m2 m3"},       // an event overtook the answer
		{`s.set([m(1), m(2)]); s.set([m(2), m(3)]); return ids()`, "m1 m2 m3"}, // the node has forgotten the first
		{`s.set([m(1)]); s.add([m(1)]); s.set([m(1, { sent: 2 })]); return ids() + s.element.querySelector('.label').textContent`, "m1INFORM ×2"},
		{`s.set([m(1, { receiver: undefined, refused: 'busy' })]); return s.element.querySelectorAll('.agent').length + s.element.querySelector('.label').textContent`, "2INFORM – refused: busy"},
		{`s.set([m(1, { receiver: 'a' })]); return ids()`, "m1"}, // to itself
		{`for (let i = 0; i < 1500; i++) s.add([m(i)]); return s.element.querySelectorAll('.message').length + ids().slice(0, 4)`, "1000m500"},
		{`s.set([m(1), m(2)]); s.choose('m2'); s.add([m(3)]); return s.element.querySelector('.current').dataset.id + s.element.querySelector('[aria-selected=true]').dataset.id`, "m2m2"},
	} {
		if got := eval[string](b, use+test.do+"})"); got != test.want {
			t.Errorf("%s: %q, want %q", test.do, got, test.want)
		}
	}
}

// The console of one node shows what another one has, decides there, and says when the other one is
// missing.
func testNodes(t *testing.T, browser context.Context) {
	south := serveAs(t, "south", nil)
	north := serve(t, func(o *api.Options) {
		o.Peers = func() []api.Peer { return []api.Peer{{Node: "south", URL: south.url}} }
	})
	here, there := north.propose("here", nil), south.propose("there", nil)
	overview := open(t, browser, north.url)
	overview.goTo("")
	card := func(title string) string {
		return `[...document.querySelectorAll('.card')].find((e) => e.textContent.endsWith(` + js(title) + `))?.querySelector('.value').textContent`
	}
	overview.until(card("Conversations under way") + ` === '4'`) // two sides on each node
	overview.until(card("Agents") + ` === '6'`)
	d := south.delegate(performatives.TaskRequest{TaskType: "dig"})
	b := open(t, browser, north.url)
	b.goTo("#/approvals")
	b.until(`document.querySelectorAll('.step').length === 2`) // both have the number 1
	b.until(`document.querySelector('.step .note').textContent.includes('on north')`)
	step := `[...document.querySelectorAll('.step')].find((e) => e.textContent.includes('there'))`
	eval[bool](b, step+`.querySelector('button.danger').click() || true`)
	select {
	case v := <-there:
		if v.Approved || len(here) > 0 {
			t.Errorf("%+v", v)
		}
	case <-patience.Context(t).Done():
		t.Fatal("no verdict")
	}
	b.until(`document.querySelectorAll('.step').length === 1`)
	b.goTo(conversationOf(d.Conversation()))
	b.until(`document.querySelectorAll('.message').length === 2`)
	south.worker.report <- "from the south"
	b.shows(".message", "STATUS_UPDATE")
	b.click("#cancel", "Cancel it")
	b.click("#confirm", "Cancel it")
	b.shows("#outcome", "Cancelled")
	lost := south.delegate(performatives.TaskRequest{TaskType: "dig"})
	one := open(t, browser, north.url, "404 (Not Found)")
	one.goTo(conversationOf(lost.Conversation()))
	one.until(`document.querySelectorAll('td time[class]').length === 2`) // the deadlines of both sides
	one.until(`!document.querySelector('#cancel').disabled && document.querySelector('#cancel-why').textContent === ''`)
	b.goTo("#/conversations")
	b.shows(".row", string(d.Conversation()))
	b.shows(".row", string(lost.Conversation()))
	south.gate.set(false)
	b.shows(".missing", "Without the node south")
	overview.shows(".missing", "Without the node south")
	b.until(`[...document.querySelectorAll('.space .row')].some((e) => e.textContent.includes(` + js(string(lost.Conversation())) + `) && e.querySelector('.state.bad')?.textContent === 'working?')`)
	// A conversation of a node that is lost is not said to be under way, and cannot be cancelled.
	one.shows(".facts", "not known: no node that has answered knows it; no answer came from south")
	one.until(`document.querySelector('#cancel').disabled && document.querySelector('#cancel-why').textContent.includes('south')`)
	one.until(`document.querySelectorAll('td time[class]').length === 0`) // no deadline counts down
	one.shows("td", "working when last heard")
	one.until(`!document.querySelector('.state.under-way') && !document.querySelector('.moves')`)
	south.gate.set(true)
	b.until(`!document.querySelector('.missing')`)
	one.shows(".facts", "under way") // it has only been silent
	one.until(`!document.querySelector('#cancel').disabled`)
}

// The views show what newer nodes serve: rates, the list of refusals, and what agents run and lost.
// The answers are as docs/api.md has them.
func testServed(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	answers := map[string]string{
		"/api/rates": `{"interval_s":5,"samples":[
			{"time":"2026-11-24T10:00:00Z","messages":50,"refused":0,"dead_letters":0,"begun":5,"ended":5,"failed":0},
			{"time":"2026-11-24T10:00:05Z","messages":100,"refused":10,"dead_letters":0,"begun":5,"ended":5,"failed":0}]}`,
		"/api/refusals": `{"refusals":[
			{"time":"2026-11-24T10:00:05.5Z","code":"busy","text":"the mailbox is <full>","from":"Ann","to":"Bob","act":"REQUEST","message_id":"m1","conversation_id":"c1","kind":"refused"},
			{"time":"2026-11-24T10:00:04Z","code":"unknown_agent","text":"no agent","from":"Ann","to":"Eve","act":"INFORM","message_id":"m2","kind":"dead_letter"}]}`,
		"/api/agents": `{"agents":[{"agent":"Ann","node":"north","queued":{"urgent":3,"high":0,"normal":1200,"low":0},"oldest_wait_s":1.5,"conversations":7,"running":4,"errors":5,"restarts":6}]}`,
	}
	next := n.gate.next
	n.gate.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := answers[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text)) // the page has gone
			return
		}
		next.ServeHTTP(w, r)
	})
	b := open(t, browser, n.url, "404 (Not Found)") // of the conversation, which there is not
	b.goTo("")
	b.until(`[...document.querySelectorAll('.charts figcaption')].some((e) => e.textContent === '20.0 /sMessages')`)
	b.until(`document.querySelector('.charts svg[aria-label="Messages refused: 2.00 per second now, 2.00 at most"] polyline')?.getAttribute('points').split(' ').length === 2`)
	b.shows("main li", "the mailbox is <full>")
	b.goTo("#/refusals")
	b.shows(".count", "2 listed")
	b.shows(".row", "dead letter")
	b.click(".row", "busy")
	b.until(`location.hash === '#/conversations/c1'`)
	b.goTo("#/agents")
	b.until(`document.querySelector('.space .row')?.innerText.split('\n').join(' ') === 'Ann north 3 0 1,200 0 1.5 s – 4 5 6 7'`)
}
