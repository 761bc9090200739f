// Package proxy is the way out of a sandbox that has no network: it connects to the hosts that a list names, and to
// nothing else. It never looks into what is encrypted.
package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Hosts are those that may be reached.
type Hosts struct {
	names     []entry
	addresses []entry
}

// entry is a name or a range of addresses. Without a port it means the two of the web.
type entry struct {
	name   string // ".example.com" stands for all below it
	prefix netip.Prefix
	port   string
}

// Parse reads a list: "example.com", "*.example.com" for all below it, an address, or a range of addresses, each with or without ":PORT".
func Parse(list []string) (Hosts, error) {
	var h Hosts
	for _, text := range list {
		if err := h.add(text); err != nil {
			return Hosts{}, fmt.Errorf(`%q %w; write a host like "api.example.com", "*.example.com" or "example.com:8080"`, text, err)
		}
	}
	return h, nil
}

func (h *Hosts) add(text string) error {
	name, port := text, ""
	if host, p, err := net.SplitHostPort(text); err == nil {
		number, err := strconv.ParseUint(p, 10, 16)
		if err != nil || number == 0 {
			return errors.New("has a port that is none")
		}
		name, port = host, strconv.FormatUint(number, 10)
	}
	if prefix, err := netip.ParsePrefix(name); err == nil {
		h.addresses = append(h.addresses, entry{prefix: prefix.Masked(), port: port})
		return nil
	}
	if addr, ok := literal(name); ok {
		e := entry{name: addr.String(), prefix: netip.PrefixFrom(addr, addr.BitLen()), port: port}
		h.names, h.addresses = append(h.names, e), append(h.addresses, e)
		return nil
	}
	name = normal(name)
	bare := strings.TrimPrefix(name, "*")
	switch {
	case strings.Trim(bare, ".") == "":
		return errors.New("would be everything or nothing")
	case name != bare && bare[0] != '.', strings.ContainsAny(bare, "*/:@[]?# \t\n\x00"):
		return errors.New("is not a host")
	}
	h.names = append(h.names, entry{name: bare, port: port})
	if bare == "localhost" { // who names it means these
		for _, loopback := range []string{"127.0.0.1", "::1"} {
			addr := netip.MustParseAddr(loopback)
			h.addresses = append(h.addresses, entry{prefix: netip.PrefixFrom(addr, addr.BitLen()), port: port})
		}
	}
	return nil
}

func (e entry) takes(port string) bool {
	return e.port == port || e.port == "" && (port == "443" || port == "80")
}

// named reports whether a host that a client asked for is in the list.
func (h Hosts) named(host, port string) bool {
	host = normal(host)
	addr, isAddress := literal(host)
	if isAddress {
		return h.includes(addr, port)
	}
	return slices.ContainsFunc(h.names, func(e entry) bool {
		if below := e.name[0] == '.'; below {
			return e.takes(port) && strings.HasSuffix(host, e.name) && len(host) > len(e.name)
		}
		return e.takes(port) && host == e.name
	})
}

// includes reports whether an address is in the list.
func (h Hosts) includes(addr netip.Addr, port string) bool {
	return slices.ContainsFunc(h.addresses, func(e entry) bool { return e.takes(port) && e.prefix.Contains(addr) })
}

// literal is the address that a host is written as.
func literal(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}

func normal(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// isInner says that an address belongs to this machine or its surroundings, which a name that anybody can register must not lead to.
func isInner(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return true
	}
	// Of providers and for tests, and those that stand for others.
	for _, prefix := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"} {
		if netip.MustParsePrefix(prefix).Contains(addr) {
			return true
		}
	}
	return false
}
