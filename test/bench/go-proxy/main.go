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
		// Not Rewrite, which Debian 12's Go does not have. X-Forwarded-For is added after it.
		Director: func(request *http.Request) {
			request.Header.Set("X-Forwarded-Host", request.Host)
			if request.TLS == nil {
				request.Header.Set("X-Forwarded-Proto", "http")
			} else {
				request.Header.Set("X-Forwarded-Proto", "https")
			}
			request.URL.Scheme = upstream.Scheme
			request.URL.Host = upstream.Host
			request.Host = ""
			request.Header.Del("Authorization")
		},
	}
	address := "127.0.0.1:" + os.Args[1]
	if len(os.Args) > 3 {
		log.Fatal(http.ListenAndServeTLS(address, os.Args[3], os.Args[4], proxy))
	}
	log.Fatal(http.ListenAndServe(address, proxy))
}
