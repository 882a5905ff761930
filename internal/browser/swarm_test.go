package browser

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// screenshots is the folder of the pictures of docs/console.md: go test -run TestConsole/swarm
// -screenshots ../../docs/images
var screenshots = flag.String("screenshots", "", "write pictures of the console to this folder")

// slow is a debugger that reports one step, and goes on when the test says so.
type slow struct {
	swarm.Offline
	steps chan struct{}
}

func (s slow) Debug(ctx context.Context, p swarm.Problem, report func(string)) (performatives.InformResult, error) {
	return s.Offline.Debug(ctx, p, func(step string) {
		report(step)
		select {
		case <-s.steps:
		case <-ctx.Done():
		}
	})
}

// The Eddy-and-Jules swarm as the README has it: the user's conversation, below it Eddy's with
// Jules, which grows step by step.
func testSwarm(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	brain := slow{steps: make(chan struct{})}
	if err := (runtime.Swarms{swarm.New(swarm.Options{Brain: brain})}).Host(patience.Context(t), n.Node, swarm.Name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../cmd/ribosome/testdata/task.json")
	if err != nil {
		t.Fatal(err)
	}
	task := performatives.TaskRequest{TaskType: swarm.TaskDebugCode, Parameters: performatives.ContentOf(json.RawMessage(text))}
	d, err := delegation.Start(patience.Context(t), n, swarm.EddyID, task)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, browser, n.url)
	above := conversationOf(d.Conversation())
	b.goTo(above)
	follow := func(row string) { // a click may meet a row that is drawn again, since the tree grows
		b.until(`[...document.querySelectorAll('.tree li li')].some((e) => e.textContent.includes(` + js(row) + `))`)
		b.until(`(() => {
			const main = document.getElementById('main');
			window.left ??= main.dataset.at;
			if (main.dataset.at !== window.left) { delete window.left; return true; }
			[...document.querySelectorAll('.tree li li')].find((e) => e.textContent.includes(` + js(row) + `))?.querySelector('a').click();
			return false;
		})()`)
	}
	follow("Boss") // any child, and from there to another one
	follow("task-delegation Eddy → Jules")
	b.shows(".agent", "Jules")
	b.shows(".tree a", string(d.Conversation()))
	b.until(`document.querySelectorAll('.message').length === 3`)
	brain.steps <- struct{}{}
	b.until(`document.querySelectorAll('.message').length === 4`)
	b.click(".message", "TASK_REQUEST")
	b.shows(".payload pre", "code_to_debug")
	b.shoot("conversation", "light")
	b.shoot("conversation-dark", "dark")
	b.until(`document.querySelectorAll('.states').length === 2`)
	b.shoot("states", "light", "document.getElementById('states').scrollIntoView()")
	close(brain.steps)
	if _, err := d.Wait(); err != nil {
		t.Fatal(err)
	}
	b.shows(".message", "INFORM_RESULT")
	b.shows(".machine h3 .state", "completed")
	if *screenshots == "" {
		return
	}
	for range 3 {
		n.delegate(performatives.TaskRequest{TaskType: "dig"})
		if _, err := n.Delegate(patience.Context(t), swarm.EddyID, task); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = n.Delegate(patience.Context(t), "Nobody", performatives.TaskRequest{TaskType: "dig"})
	_ = n.propose("delete the logs of May", map[string]any{"folder": "/var/log/may", "files": 211, "password": "hunter2"})
	for view, ready := range map[string]string{"overview": "td", "agents": ".space .row", "conversations": ".space .row", "approvals": ".step pre", "refusals": "h1"} {
		path := "#/" + view
		if view == "overview" {
			path = ""
		}
		b.goTo(path)
		b.until("document.querySelector(" + js(ready) + ")")
		b.shoot(view, "light")
	}
}

// shoot writes a picture of the page, if there is a folder for it.
func (b *tab) shoot(name, scheme string, first ...string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	b.scheme(scheme)
	for _, do := range append([]string{"scrollTo(0, 0)"}, first...) {
		eval[chromedp.Void](b, do)
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), smaller(b.t, png), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.scheme("light")
}
