package modelagent

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// place is the server, without the rest of its address, which may be a secret.
func (w *wire) place() string {
	u, err := url.Parse(w.address)
	if err != nil {
		return "its address"
	}
	return u.Scheme + "://" + u.Host
}

// proxy is the host of the proxy on the way to the server, if there is one, and the variable that names it.
func (w *wire) proxy() (host, variable string) {
	to, err := url.Parse(w.address)
	if err != nil {
		return "", ""
	}
	proxy, err := w.via(&http.Request{URL: to})
	if err != nil || proxy == nil {
		return "", ""
	}
	usual := strings.ToUpper(to.Scheme) + "_PROXY"
	for _, variable = range []string{"RALPH_PROXY", usual, strings.ToLower(usual)} {
		if w.get(variable) != "" {
			break
		}
	}
	return proxy.Host, variable
}

// withScheme completes the address of a server on this machine as OLLAMA_HOST is. To another one a key would go in clear.
func withScheme(address string) string {
	u, err := url.Parse("//" + address)
	if err != nil || strings.Contains(address, "://") {
		return address
	}
	if u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
		return "http://" + address
	}
	return address
}
