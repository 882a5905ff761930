// Package auction is the English and the Dutch auction: an auctioneer sells one lot to one
// of many bidders (addenda §6; FIPA XC00031F and XC00032F). In an English auction the
// price rises until one bidder is left. In a Dutch auction it falls until a bidder takes
// it.
//
// # Roles
//
// The auctioneer runs [English] or [Dutch], or [StartEnglish] or [StartDutch] for an
// [Auction] that it does not wait for. An agent is a bidder when it implements [Bidder];
// [EnglishService] and [DutchService] take part for it. With each bidder the auctioneer has one
// conversation, which follows [EnglishTable] or [DutchTable]:
//
//	auctioneer                              bidder
//	INFORM ([Lot])                      →
//	CFP ([Offer]), once for each price  →
//	                                    ←   PROPOSE ([PriceBid]), or REFUSE
//	ACCEPT_PROPOSAL, if the bid leads   →
//	INFORM ([End])                      →
//	REQUEST ([Purchase]), to the winner →
//	                                    ←   INFORM_RESULT, or FAILURE
//
// [EnglishCoordination] and [DutchCoordination] have the rules that join the
// conversations: when a price is called, and which bid leads.
//
// # Ordering
//
// A round ends when each called bidder has answered, or after [Lot].RoundTime. Silence is no bid:
// the bidder hears the next price, and the end. An English auction ends with a round that brings no
// bid. A bid that arrives after its round is answered by REJECT_PROPOSAL with the code
// deadline_expired. Of several bids at one price of an English auction, that of the bidder named
// first leads. The first bid that arrives in a Dutch auction takes the lot at once. An earlier
// price that a later one overtook is dropped.
//
// # Backpressure
//
// A bidder that limits its tasks ([codons.TaskLimiter]) refuses to take part with the code
// busy when it has no free slot. An auction holds one slot of a bidder from the first
// price to the end. An auctioneer begins one conversation for each bidder and queues
// none.
//
// # Shutdown
//
// The end of ctx and [Auction.Cancel] send CANCEL to each bidder that has not ended, at
// any stage. Wait returns after the receipts, or after the grace of [codons.WithGrace].
// An auction ends at the latest at [Lot].EndsBy.
//
// # Concurrency
//
// The methods of an [Auction] may be called from any goroutine. The methods of a [Bidder]
// run on goroutines of their conversations, several at a time.
//
// ExampleEnglish is a complete program.
package auction
