package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// TreeView is the answer of GET /api/conversations/{id}/tree.
type TreeView struct {
	Root          performatives.ConversationID `json:"root"`          // the topmost one that is known
	Conversations []observe.Conversation       `json:"conversations"` // without messages; each behind its parent
	Truncated     bool                         `json:"truncated"`     // there are more than maxTree
	partial
}

// The bounds of a tree. The ids of a request to another node are part of its address.
const (
	maxTree    = 1000     // conversations
	maxTreeIDs = 32 << 10 // bytes
	maxTreeAsk = 16       // requests to the other nodes, one after the other
	alsoParam  = "also"   // further conversations of the tree, which another node knows
)

// forest has conversations by their ids.
type forest map[performatives.ConversationID]*observe.Conversation

// tree returns the conversations that are connected with those of ids, known or not: from the
// topmost one above each on, level by level. Of more than maxTree, it has those next above the ids
// first.
func (f forest) tree(ids []performatives.ConversationID) (v TreeView) {
	below := map[performatives.ConversationID][]performatives.ConversationID{}
	for _, c := range f {
		if c.Parent == "" {
			continue
		}
		below[c.Parent] = append(below[c.Parent], c.ID)
	}
	taken := map[performatives.ConversationID]bool{}
	take := func(id performatives.ConversationID) bool {
		if f[id] == nil || taken[id] {
			return false
		}
		if len(v.Conversations) == maxTree {
			v.Truncated = true
			return false
		}
		taken[id] = true
		v.Conversations = append(v.Conversations, *f[id])
		return true
	}
	v.Root = ids[0]
	for i, id := range ids {
		first := len(v.Conversations)
		for ; take(id); id = f[id].Parent {
			if i == 0 {
				v.Root = id
			}
		}
		slices.Reverse(v.Conversations[first:])
	}
	queue := slices.Clone(ids)
	for _, c := range v.Conversations {
		queue = append(queue, c.ID)
	}
	for i := 0; i < len(queue); i++ {
		next := below[queue[i]]
		slices.SortFunc(next, func(a, b performatives.ConversationID) int {
			return cmp.Or(f[a].Began.Compare(f[b].Began), cmp.Compare(a, b))
		})
		for _, id := range next {
			if take(id) {
				queue = append(queue, id)
			}
		}
	}
	return v
}

// tree returns all conversations of the tree of one, of all nodes. A node that knows a part of the
// tree is asked again for the conversations connected with the parts of others.
func (h *Handler) tree(r *http.Request) (v TreeView, f *failure) {
	fresh := []performatives.ConversationID{performatives.ConversationID(r.PathValue("id"))}
	for also := range strings.SplitSeq(r.URL.Query().Get(alsoParam), "\n") {
		fresh = append(fresh, performatives.ConversationID(also))
	}
	wanted := slices.Clone(fresh)
	own, all, sent := forest{}, parts{forest{}, map[string]bool{}}, map[performatives.ConversationID]bool{"": true}
	for _, c := range h.options.Recorder.Conversations() {
		h.relay(&c)
		own[c.ID] = &c
	}
	peers, missing, cut := h.peers(r), h.lost(r), false
	for asked := 0; len(fresh) > 0; asked++ {
		part := own.tree(fresh)
		ids := fresh
		for _, c := range part.Conversations {
			all.add(h.options.Node.Name(), c)
			ids = append(ids, c.ID, c.Parent)
		}
		also := ""
		for _, id := range ids {
			if !sent[id] {
				sent[id] = true
				also += string(id) + "\n"
			}
		}
		if cut = cut || part.Truncated; len(peers) == 0 || also == "" {
			break
		}
		if cut = cut || asked == maxTreeAsk || len(also) > maxTreeIDs; cut {
			break
		}
		asks := r.Clone(r.Context())
		asks.URL.RawQuery = url.Values{alsoParam: {strings.TrimSuffix(also, "\n")}}.Encode()
		others, silent := ask[TreeView](h, asks, peers)
		missing = append(missing, silent...)
		peers = slices.DeleteFunc(slices.Clone(peers), func(p Peer) bool {
			return slices.ContainsFunc(silent, func(a Absent) bool { return a.Node == p.Node })
		})
		fresh = nil
		for _, p := range others {
			cut = cut || p.view.Truncated
			for _, c := range p.view.Conversations {
				if all.add(p.node, c) {
					fresh = append(fresh, c.ID, c.Parent)
				}
			}
		}
	}
	v = all.forest.tree(wanted)
	v.Truncated = v.Truncated || cut
	v.lack(missing)
	if len(v.Conversations) > 0 {
		return v, nil
	}
	if len(missing) > 0 {
		return v, notFound(outcomeIncomplete, "no node that has answered knows it"+unanswered(missing))
	}
	return v, notFound(outcomeUnknown, "no conversation with this id is under way or recorded")
}

// parts joins what several nodes know.
type parts struct {
	forest
	has map[string]bool // by node and conversation: a node may say it again
}

// add merges a node's knowledge of a conversation into the known one, and reports whether it is
// new.
func (p parts) add(node string, c observe.Conversation) bool {
	key := node + "\n" + string(c.ID)
	if p.has[key] {
		return false
	}
	p.has[key] = true
	return p.forest.add(c)
}

// add merges a node's knowledge of a conversation into the known one, and reports whether it is
// new.
func (f forest) add(c observe.Conversation) bool {
	known := f[c.ID]
	if known != nil {
		join(known, c)
		return false
	}
	f[c.ID] = &c
	return true
}

// traceView is the answer of GET /api/traces/{id}.
type traceView struct {
	observe.Trace
	partial
}

func (h *Handler) trace(r *http.Request) (traceView, *failure) {
	t, ok := h.options.Recorder.Trace(r.PathValue("id"))
	if !ok {
		return traceView{}, notFound("unknown_trace", "no message of this trace is recorded on this node")
	}
	return traceView{Trace: t}, nil
}

// mergeTraces puts together the messages of one trace that the nodes have recorded. The id of the
// trace is that of the first part.
func mergeTraces(_ *http.Request, parts []part[traceView]) traceView {
	v := parts[0].view
	for _, p := range parts[1:] {
		v.Messages = append(v.Messages, p.view.Messages...)
	}
	v.Order()
	return v
}
