package browser

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// beginSilent begins delegations to an agent that never answers, with the ids c-00000 and so on.
func (o *observed) beginSilent(from, to int) (all []*delegation.Delegated) {
	o.t.Helper()
	for i := from; i < to; i++ {
		d, err := delegation.Start(o.t.Context(), o, "Silent", performatives.TaskRequest{TaskType: "dig"},
			codons.WithRetry(codons.NoRetry()), ungraceful, codons.WithConversation(performatives.ConversationID(fmt.Sprintf("c-%05d", i))))
		if err != nil {
			o.t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// openList opens the list of conversations with a query. It does not read all of them again from
// time to time, which would mend what it has missed.
func openList(t *testing.T, browser context.Context, n *observed, query string) *tab {
	t.Helper()
	b := open(t, browser, n.url)
	b.goTo("")
	eval[chromedp.Void](b, `window.setInterval = () => 0`)
	eval[chromedp.Void](b, `location.hash = '#/conversations`+query+`'`)
	return b
}

// Conversations that begin at once are all in the list, however few of them one answer has: when
// the list was empty, and when it was not.
func testBurst(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	b := openList(t, browser, n, "?live=true")
	b.shows(".empty", "No conversation matches.")
	n.beginSilent(0, 900)
	b.shows(".count", "900 conversations")
	all := n.beginSilent(900, 1800)
	b.shows(".count", "1,800 conversations")
	all[len(all)-1].Cancel()
	b.shows(".count", "1,799 conversations")
}

// What begins and ends while the pages of a long list are read is in the list as it has become.
func testPages(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	all := n.beginSilent(0, 1200)
	n.open(len(all))
	b := open(t, browser, n.url)
	b.goTo("")
	eval[chromedp.Void](b, `(() => {
		window.setInterval = () => 0;
		const fetched = window.fetch;
		const held = [];
		window.release = () => held.forEach((go) => go());
		window.fetch = async (url, options) => { // the pages of 1000 behind the first one are held up on their way back
			const answer = await fetched(url, options);
			if (/limit=1000&cursor=.+/.test(url)) {
				await new Promise((go) => { held.push(go); window.holding = true; });
			}
			return answer;
		};
	})()`)
	eval[chromedp.Void](b, `location.hash = '#/conversations?live=true'`)
	b.until("window.holding")
	b.shows(".count", "1,000 conversations, loading…")
	n.delegate(performatives.TaskRequest{TaskType: "dig"}, codons.WithConversation("the-latest"))
	b.shows(".row", "the-latest")
	all[0].Cancel() // of the page that is held up
	all[1100].Cancel()
	b.shows(".count", "1,000 conversations, loading…")
	if _, err := all[0].Wait(); err == nil {
		t.Error("it was not cancelled")
	}
	n.delegate(performatives.TaskRequest{TaskType: "dig"}, codons.WithConversation("after-it"))
	b.shows(".row", "after-it") // so that the page has learned of the end of the first, too
	eval[chromedp.Void](b, "window.release()")
	b.shows(".count", "1,200 conversations")
	b.until(`!document.querySelector('.count').textContent.includes('loading')`)
	b.shows(".row", "the-latest")
}

// What an answer has of a conversation as it was before is not drawn again: what the operator has
// selected in its row stays.
func testRows(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	n.beginSilent(0, 1)
	n.open(1)
	b := openList(t, browser, n, "")
	b.shows(".row", "c-00000")
	eval[chromedp.Void](b, `window.cell = document.querySelector('.row:not(.head) .cell')`)
	n.beginSilent(1, 2)
	b.shows(".count", "2 conversations")
	if !eval[bool](b, `window.cell.isConnected`) {
		t.Error("the row was drawn again")
	}
}

// A list that has as many conversations as there is room for forgets the oldest for those that
// begin.
func testRoom(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	b := open(t, browser, n.url)
	b.goTo("")
	eval[chromedp.Void](b, `(() => {
		window.setInterval = (run) => { window.again = run; };
		const fetched = window.fetch;
		window.begun = 60000; // one a second
		window.fetch = async (url, options) => {
			const { pathname, searchParams } = new URL(url);
			if (!pathname.endsWith('/api/conversations')) return fetched(url, options);
			const from = Number(searchParams.get('cursor') || window.begun);
			const limit = Number(searchParams.get('limit'));
			const conversations = Array.from({ length: limit }, (_, i) => ({ conversation_id: 'c-' + (from - i), began: new Date(1e12 + 1000 * (from - i)).toISOString(), message_count: 1 }));
			return new Response(JSON.stringify({ conversations, next: String(from - limit) }));
		};
	})()`)
	eval[chromedp.Void](b, `location.hash = '#/conversations'`)
	const full = "50,000 conversations (no more are loaded: filter)"
	b.shows(".count", full)
	b.shows(".row", "c-60000")
	eval[chromedp.Void](b, `window.begun += 500; window.again()`)
	b.shows(".row", "c-60500")
	b.shows(".count", full)
}

// Conversations that end are in the list of ended ones, and in that of their state, however long
// ago they began, and not any more in that of the state before.
func testEnds(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Silent", silent{})
	all := n.beginSilent(0, 500)
	n.open(len(all))
	ended, late, requested := openList(t, browser, n, "?live=false"), openList(t, browser, n, "?state=timed_out"), openList(t, browser, n, "?state=requested")
	requested.shows(".count", "500 conversations")
	end := func(some []*delegation.Delegated, others, now string) {
		for _, d := range some {
			d.Cancel()
		}
		ended.shows(".count", now)
		late.shows(".count", now)
		requested.shows(".count", others)
	}
	end(all[:100], "400 conversations", "100 conversations") // behind the first 200
	end(all[350:], "250 conversations", "250 conversations")
	end(all[100:349], "1 conversation", "499 conversations")
}

// A transition is one of the side with the same agent, role and peer: an agent that asks several
// others in one conversation has a side with each, and one that asks itself has two.
func testGroup(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	n.spawn("Mute", silent{})
	for _, id := range []performatives.AgentID{"Worker", "Mute"} {
		if _, err := delegation.Start(t.Context(), n, id, performatives.TaskRequest{TaskType: "dig"}, codons.WithRetry(codons.NoRetry()), ungraceful, codons.WithConversation("both")); err != nil {
			t.Fatal(err)
		}
	}
	n.open(3)
	b := open(t, browser, n.url)
	b.goTo("#/conversations")
	b.shows(".row", "both")
	got := eval[[]string](b, `(async () => {
		const { sideOf } = await import('./conversations.js');
		const all = await (await fetch('/api/conversations')).json();
		const c = all.conversations.find((c) => c.conversation_id === 'both');
		return [['north', 'Worker', 'initiator'], ['north', 'Mute', 'initiator'], ['Worker', 'north', 'responder'], ['Mute', 'north', 'responder']].map(([agent, peer, role]) => {
			const side = sideOf(c, { agent, peer, role });
			return side ? [side.agent, side.peer, side.role].join(' ') : 'none';
		});
	})()`)
	if want := []string{"north Worker initiator", "north Mute initiator", "Worker north responder", "none"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
