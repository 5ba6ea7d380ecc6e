// The rival that most gateways in Go are: httputil.ReverseProxy as it comes, with kept connections to one upstream.
// Arguments: port to listen on, port of the upstream, both on loopback; then
// files with a certificate and its key, where TLS is spoken.
package main

import (
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	upstream, err := url.Parse("http://127.0.0.1:" + os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(upstream)
			request.SetXForwarded()
			request.Out.Header.Del("Authorization")
		},
	}
	address := "127.0.0.1:" + os.Args[1]
	if len(os.Args) > 3 {
		log.Fatal(http.ListenAndServeTLS(address, os.Args[3], os.Args[4], proxy))
	}
	log.Fatal(http.ListenAndServe(address, proxy))
}
