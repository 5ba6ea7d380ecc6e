"""
A daemon that lies on the channel: it greets its host as a daemon does, and answers each request in one of the ways below.

    liar.py        listens for each way on a port of its own; prints the ports as JSON, and then a line for each connection

In a sandbox `hostile-daemon.py` is one of these when the sandbox's environment says so (`in_sandbox`).
"""
import gzip, http.server, itertools, json, os, socket, struct, sys, threading, time

good = {'applied': 1, 'removed': 0, 'unapplied': [], 'keepAlive': 0, 'left': 0, 'drives': {'uidMap': '', 'gidMap': ''}}


def answer(body=None, head='content-type: application/json', status='200 OK', length=None):
    data = json.dumps(good).encode() if body is None else body
    return f'HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {len(data) if length is None else length}\r\n\r\n'.encode() + data


def says(data):
    return lambda s: s.sendall(data)


def endless(start, piece):
    """Until nobody takes it any more."""
    def go(s):
        s.sendall(start)
        while True:
            s.sendall(piece)
    return go


def slowly(data, pause=0.1):
    def go(s):
        for byte in data:
            s.sendall(bytes([byte]))
            time.sleep(pause)
    return go


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.close()


def typed(**fields):
    return says(answer(json.dumps({**good, **fields}).encode()))


chunked = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
trap = 0
ways = {
    'good': says(answer()),
    'gigabytes': endless(answer(length=1 << 32), b' ' * 65536),
    'gigabytes-of-failure': endless(answer(status='500 x', length=1 << 32), b' ' * 65536),
    'until-the-end': endless(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n', b' ' * 65536),
    'endless-chunks': endless(chunked, b'1000\r\n' + b' ' * 4096 + b'\r\n'),
    'endless-small-chunks': endless(chunked, b'1\r\n \r\n' * 10000),
    'endless-extension': endless(chunked + b'1;', b'x' * 65536),
    'endless-size': endless(chunked, b'0' * 65536),
    'endless-trailers': endless(chunked + b'0\r\n', b'x: y\r\n' * 10000),
    'endless-header': endless(b'HTTP/1.1 200 OK\r\nx: ', b'x' * 65536),
    'endless-headers': endless(b'HTTP/1.1 200 OK\r\n', b'x: y\r\n' * 10000),
    'endless-reason': endless(b'HTTP/1.1 200 ', b'x' * 65536),
    'endless-hints': endless(b'', b'HTTP/1.1 103 x\r\nlink: y\r\n\r\n' * 1000),
    'endless-continues': endless(b'', b'HTTP/1.1 100 x\r\n\r\n' * 1000),
    'endless-answers': endless(b'', answer() * 100),
    'slow-head': slowly(answer()),
    'slow-body': lambda s: (s.sendall(chunked), slowly(b'1\r\n \r\n' * 1000)(s)),
    'silent': lambda s: time.sleep(60),
    'head-only': says(answer(b'', length=10)),
    'closes': lambda s: s.close(),
    'resets': reset,
    'half-closes': lambda s: (s.shutdown(socket.SHUT_WR), time.sleep(60)),
    'wrong-types': typed(applied='1', removed=[], unapplied={}, keepAlive='0', left=None),
    'fractions': typed(applied=0.5, removed=1.5, keepAlive=0.5, left=0.5),
    'beyond-numbers': says(answer(json.dumps(good).replace('0', '1e999').encode())),
    'an-array': says(answer(b'[]')),
    'nothing': says(answer(b'null')),
    'deep': says(answer(b'[' * 30000 + b']' * 30000)),
    'prototype': says(answer(b'{"__proto__": {"applied": 1, "removed": 0, "unapplied": [], "keepAlive": 0, "left": 0}}')),
    'no-utf-8': says(answer(b'{"applied": "\xff\xfe"}')),
    'no-json': says(answer(b'{"applied": 1')),
    'a-page': says(answer(b'<html>', 'content-type: text/html')),
    'no-type': says(answer(None, 'x: y')),
    'packed': says(answer(gzip.compress(b' ' * (1 << 26)), 'content-type: application/json\r\ncontent-encoding: gzip')),
    'redirect': lambda s: s.sendall(answer(b'', f'location: http://127.0.0.1:{trap}/', '307 x')),
    'no-content': says(b'HTTP/1.1 204 x\r\n\r\n'),
    'refusal': says(answer(b'{"error": "no"}', 'content-type: application/json\r\nwww-authenticate: Basic', '401 x')),
    'status-999': says(answer(status='999 x')),
    'upgrade': says(b'HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n' + answer()),
    'two-answers': says(answer() + answer(json.dumps({**good, 'keepAlive': 666, 'left': 666}).encode())),
    'a-request': says(b'POST /v0/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'),
    'two-lengths': says(answer(head='content-type: application/json\r\ncontent-length: 1')),
    'length-and-chunks': says(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
}
nonce = b'n' * 32
greetings = {
    'no-nonce': lambda s: time.sleep(60),
    'short-nonce': lambda s: (s.sendall(nonce[:5]), time.sleep(60)),
    'closed-nonce': lambda s: (s.sendall(nonce[:5]), s.close()),
    'long-nonce': lambda s: (s.sendall(nonce + b'n'), time.sleep(60)),
    'slow-nonce': slowly(nonce, 0.5),
    'endless-nonce': endless(b'', b'n' * 65536),
    'answer-in-nonce': lambda s: (s.sendall(nonce + answer() * 3), time.sleep(60)),
}


def requests(s):
    """Heads of requests, with their bodies."""
    left = b''
    while True:
        while b'\r\n\r\n' not in left:
            piece = s.recv(65536)
            if not piece:
                return
            left += piece
        head, left = left.split(b'\r\n\r\n', 1)
        fields = [line.split(b':', 1) for line in head.lower().split(b'\r\n')[1:]]
        length = int(dict(fields).get(b'content-length', b'0'))
        while len(left) < length:
            left += s.recv(65536)
        yield head, left[:length]
        left = left[length:]


def proof(s):
    """The 48 bytes of it, or fewer at the end; gVisor knows no MSG_WAITALL."""
    said = b''
    while len(said) < 48 and (piece := s.recv(48 - len(said))):
        said += piece
    return said


def lie(s, greeting, way_of):
    """`way_of` says how, by who asks (b'\\1' a client, b'\\2' the host; of their proof nothing is believed) and the head of the request."""
    try:
        if greeting in greetings:
            return greetings[greeting](s)
        s.sendall(nonce)
        role = proof(s)[15:16]
        for head, _ in requests(s):
            ways[way_of(role, head)](s)
    except (OSError, ValueError):
        # The host has had enough of it.
        pass
    finally:
        s.close()


def listen(address, each):
    """Calls `each` with every connection, in a thread of its own; returns the port."""
    server = socket.create_server(address, backlog=1024)

    def accept():
        while True:
            threading.Thread(target=each, args=(server.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def say(way):
    def each(s):
        print(way, flush=True)
        lie(s, way, lambda *_: way)
    return each


def in_sandbox(first):
    """
    As its first process. What a client asks of `/lie/WAY` is answered that way; for what the host asks itself, and for the greeting, `/WAY`
    of port 7100 chooses, at first `first`.

    `exits` ends at once, `absent` never listens, `prints` prints for ever before it does.
    """
    if first == 'exits':
        sys.exit('it was never there')
    while first == 'absent':
        time.sleep(60)
    if first == 'prints':
        threading.Thread(target=lambda: [os.write(1, b'x' * 65535 + b'\n') for _ in itertools.count()], daemon=True).start()
    chosen = [first]

    def way_of(role, head):
        way = head.split()[1].removeprefix(b'/lie/').decode() if role == b'\1' else chosen[0]
        return way if way in ways else 'good'

    class Choice(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            chosen[0] = self.path[1:]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps([[*ways], [*greetings]]).encode())

    listen(('0.0.0.0', 49151), lambda s: lie(s, chosen[0], way_of))
    listen(('0.0.0.0', 8080), lambda s: lie(s, 'closed-nonce', way_of))
    threading.Thread(target=http.server.ThreadingHTTPServer(('0.0.0.0', 7100), Choice).serve_forever, daemon=True).start()
    print(json.dumps({'event': 'daemon.listening'}, separators=(',', ':')), flush=True)
    # It is asked to end, and does not.
    while True:
        time.sleep(60)


if __name__ == '__main__':
    ways['trap'] = ways['good']
    trap = listen(('127.0.0.1', 0), say('trap'))
    ports = {way: listen(('127.0.0.1', 0), say(way)) for way in [*ways, *greetings] if way != 'trap'}
    print(json.dumps({**ports, 'trap': trap}), flush=True)
    sys.stdin.read()
