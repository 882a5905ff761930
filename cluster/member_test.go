package cluster_test

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/cluster"
)

func TestCompareOrdersByNameThenEpoch(t *testing.T) {
	all := []cluster.Incarnation{{Name: "b", Epoch: 1}, {Name: "a", Epoch: 9}, {Name: "a", Epoch: 2}}
	slices.SortFunc(all, cluster.Incarnation.Compare)
	want := []cluster.Incarnation{{Name: "a", Epoch: 2}, {Name: "a", Epoch: 9}, {Name: "b", Epoch: 1}}
	if !slices.Equal(all, want) {
		t.Errorf("sorted to %v, want %v", all, want)
	}
}

func TestEqualSeesEachField(t *testing.T) {
	member := cluster.Member{
		Incarnation: cluster.Incarnation{Name: "a", Epoch: 1}, Gossip: "h:1", Links: "h:2", Labels: map[string]string{"zone": "eu"},
	}
	if !member.Equal(member) {
		t.Error("a member is not equal to itself")
	}
	for name, change := range map[string]func(*cluster.Member){
		"epoch":   func(m *cluster.Member) { m.Epoch++ },
		"gossip":  func(m *cluster.Member) { m.Gossip = "" },
		"links":   func(m *cluster.Member) { m.Links = "" },
		"labels":  func(m *cluster.Member) { m.Labels = nil },
		"leaving": func(m *cluster.Member) { m.Leaving = true },
	} {
		other := member
		if change(&other); member.Equal(other) {
			t.Errorf("a changed %s is not seen", name)
		}
	}
}
