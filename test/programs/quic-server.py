"""HTTP/3 over QUIC by aioquic: answers every request with "over <version>". quic-server.py ADDRESS CERTIFICATE KEY; prints "ready"."""
import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated


class Server(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for one in self.http.handle_event(event):
            if isinstance(one, HeadersReceived):
                path = dict(one.headers)[b":path"].decode()
                print("asked", path, flush=True)
                self.http.send_headers(one.stream_id, [(b":status", b"200"), (b"content-type", b"text/plain")])
                self.http.send_data(one.stream_id, b"over QUIC", True)
        self.transmit()


async def main(address, certificate, key):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(certificate, key)
    await serve(address, 443, configuration=configuration, create_protocol=Server)
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
