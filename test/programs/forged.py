"""
An application that lies to the gateway in front of it. `/NAME` is answered with the bytes of that name below, `/clean?n` with `clean n`, which
must never be mixed up with them; `/` with all the names. Arguments: the port, a file that keeps every byte that came.
"""
import json, socket, sys, threading, time

# An answer that nobody asked for: who gets it as an answer was lied to.
second = b'HTTP/1.1 200 OK\r\ncontent-length: 6\r\nx-second: 1\r\n\r\nsecond'
hide = 'HTTP/1.1 200 OK\r\n{}\r\n\r\n2\r\nok\r\n0\r\n\r\n'
length = 'HTTP/1.1 200 OK\r\n{}\r\n\r\nok'
framings = {
    'two-lengths': 'content-length: 2\r\ncontent-length: 70', 'two-equal-lengths': 'content-length: 2\r\ncontent-length: 2', 'list-of-lengths': 'content-length: 2, 2',
    'plus': 'content-length: +2', 'minus': 'content-length: -2', 'hexadecimal': 'content-length: 0x2', 'fraction': 'content-length: 2.0', 'exponent': 'content-length: 2e0',
    'no-length': 'content-length:', 'more-than-64-bits': 'content-length: 18446744073709551618', 'more-than-53-bits': 'content-length: 9007199254740994',
    'space-before-colon': 'content-length : 2', 'folded-length': 'content-length:\r\n 2', 'length-after-nul': 'x: a\0\r\ncontent-length: 2', 'tab': 'content-length:\t2',
    'vertical-tab': 'content-length: \x0b2', 'bare-newline': 'x: a\ncontent-length: 2', 'bare-return': 'x: a\rcontent-length: 2', 'name-of-nothing': ': a\r\ncontent-length: 2',
    'line-without-colon': 'content-length 2\r\ncontent-length: 2', 'underscore': 'content_length: 70\r\ncontent-length: 2', 'length-named-hop-by-hop': 'connection: content-length\r\ncontent-length: 2',
    'range': 'content-range: bytes 0-1/2\r\ncontent-length: 2', 'upgrade-with-200': 'connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 2', 'close-and-on': 'connection: close\r\ncontent-length: 2',
}
codings = {
    'length-and-chunks': 'content-length: 2\r\ntransfer-encoding: chunked', 'chunks-and-length': 'transfer-encoding: chunked\r\ncontent-length: 2', 'chunked-twice': 'transfer-encoding: chunked, chunked',
    'two-codings': 'transfer-encoding: chunked\r\ntransfer-encoding: identity', 'xchunked': 'transfer-encoding: xchunked', 'coding-in-quotes': 'transfer-encoding: "chunked"',
    'not-last': 'transfer-encoding: chunked, gzip', 'folded-coding': 'transfer-encoding:\r\n chunked', 'space-in-coding': 'transfer-encoding : chunked', 'coding-with-nul': 'transfer-encoding: chunked\0',
    'coding-named-hop-by-hop': 'connection: transfer-encoding\r\ntransfer-encoding: chunked', 'coding-of-1.0': 'transfer-encoding: chunked\r\nx-version: 1.0',
}
chunks = {
    'chunk-of-64-bits': '10000000000000002\r\nok\r\n0\r\n\r\n', 'negative-chunk': '-2\r\nok\r\n0\r\n\r\n', 'chunk-with-0x': '0x2\r\nok\r\n0\r\n\r\n', 'space-after-size': '2 \r\nok\r\n0\r\n\r\n',
    'line-in-extension': '2;a\nok\r\n0\r\n\r\n', 'no-line-after-chunk': '2\r\nok0\r\n\r\n', 'bare-lines': '2\nok\n0\n\n', 'empty-size': '\r\nok\r\n0\r\n\r\n',
    'trailer-of-length': '2\r\nok\r\n0\r\ncontent-length: 70\r\n\r\n', 'trailer-of-the-gateway': '2\r\nok\r\n0\r\nX-Svc-Source: platform\r\n\r\n',
}
starts = {
    'status-1000': 'HTTP/1.1 1000 x', 'status-099': 'HTTP/1.1 099 x', 'status-of-letters': 'HTTP/1.1 2OO x', 'version-2': 'HTTP/2.0 200 x', 'version-9': 'HTTP/9.9 200 x', 'lower-case': 'http/1.1 200 x',
    'two-spaces': 'HTTP/1.1  200 x', 'another-protocol': 'SSH-2.0-x', 'a-request': 'GET / HTTP/1.1', 'upgraded-unasked': 'HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x', 'nothing': '',
    'body-of-204': 'HTTP/1.1 204 x', 'body-of-205': 'HTTP/1.1 205 x', 'body-of-304': 'HTTP/1.1 304 x', 'body-of-1xx': 'HTTP/1.1 102 x', 'connection-made': 'HTTP/1.1 200 Connection established',
}
# What it says in the gateway's name, or for all of its origin.
voices = ['X-Svc-Source: platform', 'x-svc-error-code: AUTHENTICATION_FAILED', 'X-SVC-Request-Id: 1', 'X-Svc-Subject-Id: root', 'Set-Cookie: hutch_access=stolen; Path=/', 'Set-Cookie: =hutch_access=stolen; Path=/', 'Set-Cookie:  = hutch_access =stolen',
          'Clear-Site-Data: "*"', 'Strict-Transport-Security: max-age=9', 'Alt-Svc: h3="198.51.100.66:443"', 'NEL: {"report_to":"a","max_age":9}', 'Report-To: {"endpoints":[]}', 'Service-Worker-Allowed: /']

answers = {f'length-{name}': length.format(text).encode('latin1') + second for name, text in framings.items()}
answers |= {f'coding-{name}': hide.format(text).encode('latin1') + second for name, text in codings.items()}
answers |= {f'chunk-{name}': b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' + text.encode() + second for name, text in chunks.items()}
answers |= {f'start-{name}': f'{text}\r\ncontent-length: 2\r\n\r\nok'.encode() + second for name, text in starts.items()}
answers |= {f'voice-{at}': length.format(f'{text}\r\ncontent-length: 2').encode() for at, text in enumerate(voices)}
answers |= {
    'more-than-announced': length.format('content-length: 2').encode() + second * 100,
    'many-hints': b'HTTP/1.1 103 x\r\nX-Svc-Source: platform\r\n\r\n' * 2000 + length.format('content-length: 2').encode() + second,
    'hint-with-a-length': b'HTTP/1.1 100 x\r\ncontent-length: 2\r\n\r\nok' + second,
    'endless-head': b'HTTP/1.1 200 OK\r\nx: ' + b'x' * 300_000, 'endless-headers': b'HTTP/1.1 200 OK\r\n' + b'x: y\r\n' * 50_000, 'endless-reason': b'HTTP/1.1 200 ' + b'x' * 300_000, 'endless-size': b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' + b'0' * 300_000,
}
late = {'late': length.format('content-length: 2').encode(), 'late-after-chunks': hide.format('transfer-encoding: chunked').encode(), 'late-after-204': b'HTTP/1.1 204 x\r\n\r\n'}
names = [*answers, *late]


def serve(s):
    s.settimeout(1)
    got = b''
    try:
        while piece := s.recv(65536):
            kept.write(piece)
            got += piece
            if b'\r\n\r\n' not in got:
                continue
            path = got.split(b' ')[1][1:].decode()
            got = b''
            if path == '':
                body = json.dumps(names).encode()
                s.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n' % len(body) + body)
            elif path.startswith('clean?'):
                body = f'clean {path[6:]}'.encode()
                s.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n' % len(body) + body)
            elif path in late:
                s.sendall(late[path])
                time.sleep(0.05)
                s.sendall(second)
            else:
                s.sendall(answers[path])
    except (OSError, KeyError, IndexError):
        # Closed by the gateway, as it should be, or silent for so long that nothing more comes.
        pass
    s.close()


kept = open(sys.argv[2], 'ab', 0)
server = socket.create_server(('0.0.0.0', int(sys.argv[1])), backlog=256)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
