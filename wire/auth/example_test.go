package auth_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// A token determines an identity. Printing it does not show its value.
func ExampleTokens() {
	list, err := auth.ParseTokens([]byte("crm Vq0m8cQy5m3kz7o2hZ4p1A billing scope:read\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	known, err := auth.Tokens(list)
	if err != nil {
		fmt.Println(err)
		return
	}
	who, err := known.Authenticate(context.Background(), wire.Credentials{Token: "Vq0m8cQy5m3kz7o2hZ4p1A"})
	fmt.Println(who.Name, who.Method, err)
	_, err = known.Authenticate(context.Background(), wire.Credentials{Token: "another"})
	fmt.Println(err)
	// Output:
	// crm token <nil>
	// auth: token: the token is not known
}
