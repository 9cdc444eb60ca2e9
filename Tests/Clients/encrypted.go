// Looks a name up by Go's own resolver over DNS over TLS or HTTPS, and prints the protocol and the addresses.
//
//	encrypted dot|doh ADDRESS SERVER-NAME AUTHORITY-FILE NAME
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
)

// What the resolver takes for a connection over TCP: each message written becomes a POST (RFC 8484 section 4.1).
type exchange struct {
	net.Conn
	client   *http.Client
	url      string
	protocol *string
	response bytes.Buffer
}

func (e *exchange) Write(frame []byte) (int, error) {
	reply, err := e.client.Post(e.url, "application/dns-message", bytes.NewReader(frame[2:]))
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	*e.protocol = reply.Proto
	if reply.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", reply.Status)
	}
	message, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err
	}
	binary.Write(&e.response, binary.BigEndian, uint16(len(message)))
	e.response.Write(message)
	return len(frame), nil
}

func (e *exchange) Read(buffer []byte) (int, error) { return e.response.Read(buffer) }

func (e *exchange) Close() error { return nil }

func main() {
	mode, address, name, file, question := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	authority, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	terms := &tls.Config{ServerName: name, RootCAs: x509.NewCertPool()}
	terms.RootCAs.AppendCertsFromPEM(authority)
	protocol := "none"
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		own := terms.Clone()
		own.NextProtos = []string{"dot"}
		connection, err := tls.Dial("tcp", address, own)
		if err != nil {
			return nil, err
		}
		protocol = connection.ConnectionState().NegotiatedProtocol
		return connection, nil
	}
	if mode == "doh" {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: terms, ForceAttemptHTTP2: true}}
		dial = func(_ context.Context, _, _ string) (net.Conn, error) {
			// The methods that are left out here, such as SetDeadline, are those of a connection that nothing uses.
			unused, _ := net.Pipe()
			return &exchange{Conn: unused, client: client, url: "https://" + address + "/dns-query", protocol: &protocol}, nil
		}
	}
	resolver := &net.Resolver{PreferGo: true, Dial: dial}
	found, err := resolver.LookupHost(context.Background(), question)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	sort.Strings(found)
	fmt.Println(protocol, strings.Join(found, " "))
}
