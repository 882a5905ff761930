package ws

func crowd() bool { return false }
