"""
Programs that speak HTTP/3 over QUIC and go on with TCP by themselves: quic-client.py WHICH URL ADDRESS.
Prints JSON: {"version": of HTTP, "ms": it took, "error"}. An address of "" is looked up.
"""
import json
import sys
import time


def curl(url, address, version):
    import curl_cffi
    from urllib.parse import urlsplit

    options = {curl_cffi.CurlOpt.RESOLVE: [f"{urlsplit(url).hostname}:443:{address}".encode()]} if address else {}
    with curl_cffi.Session(trust_env=False, verify=False, curl_options=options) as session:
        begun = time.monotonic()
        answer = session.get(url, http_version=version, timeout=20)
        return {1: "1.0", 2: "1.1", 3: "2"}.get(answer.http_version, "3"), begun


def niquests(url, _address):
    import niquests
    from urllib.parse import urlsplit

    with niquests.Session() as session:
        session.trust_env = False
        session.quic_cache_layer.add_domain(urlsplit(url).hostname)
        begun = time.monotonic()
        answer = session.get(url, verify=False, timeout=20)
        return str(answer.raw.version / 10), begun


which, url, address = sys.argv[1:]
begun = time.monotonic()
try:
    version, begun = niquests(url, address) if which == "niquests" else curl(url, address, {"curl": "v3", "curl-alone": "v3only"}[which])
    print(json.dumps({"version": version, "ms": round((time.monotonic() - begun) * 1000)}))
except Exception as error:
    print(json.dumps({"error": repr(error), "ms": round((time.monotonic() - begun) * 1000)}))
