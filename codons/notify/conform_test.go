package notify_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/notify"
)

// TestConform sends notices to several agents over a bad network.
func TestConform(t *testing.T) {
	codontest.Explore(t, notify.Codon)
	codontest.Conform(t, notify.Codon, kit.Seeds(),
		codontest.Agents(2, func(*codontest.Script) actors.Agent { return &reader{} }, notify.Service),
		codontest.Calling(func(_ context.Context, s *codontest.Script) error {
			_, err := notify.All(s.Self(), s.Peers(), news{Text: "rain"})
			return err
		}))
}
