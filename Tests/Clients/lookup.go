// Prints a row for each name as getaddrinfo.c does with -r: through the resolver that GODEBUG=netdns=go|cgo chooses.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	for _, name := range os.Args[1:] {
		start := time.Now()
		found, err := net.LookupHost(name)
		var failure *net.DNSError
		if errors.As(err, &failure) {
			found = []string{strings.ReplaceAll(failure.Err, " ", "-")}
		}
		fmt.Println(name, strings.Join(found, " "), time.Since(start).Milliseconds())
	}
}
