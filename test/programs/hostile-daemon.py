"""
A daemon that is the tenant's: PID 1 of a sandbox, with all that the real one may do, and with every command it is sent run so. Where the
environment that the host tells it has HONEST, the real one takes its place; where it has LIE, it lies that way (liar.py).
"""
import http.server, json, os, signal, subprocess, sys, threading
import liar


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def setup(self):
        if self.server.server_port == 49151:
            self.request.sendall(os.urandom(32))
            # The host's proof, 48 bytes; gVisor knows no MSG_WAITALL.
            left = 48
            while left > 0 and (piece := self.request.recv(left)):
                left -= len(piece)
        super().setup()

    def log_message(self, *_):
        pass

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer({'status': 'ok'})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get('content-length', 0))) or b'{}')
        done = subprocess.run(['sh', '-c', asked.get('command', 'true')], capture_output=True, timeout=150, check=False)
        self.answer({'logs': (done.stdout + done.stderr).decode(errors='replace')})

    # Whatever the host tells it, it has heard and does not obey.
    do_PUT = do_GET
    do_DELETE = do_GET



def become_honest(document):
    command = json.load(open('/.hutch/honest.json'))
    file = os.memfd_create('boot', 0)
    os.write(file, document)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, 0)
    os.execv(command[0], command)


document = sys.stdin.buffer.read() if os.environ.get('HUTCH_BOOT') == 'stdin' else b'{}'
told = json.loads(document).get('configuration', {}).get('environment', {})
if 'HONEST' in told:
    become_honest(document)
if 'LIE' in told:
    liar.in_sandbox(told['LIE'])

os.environ.setdefault('PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
for port in (8080, 49151):
    server = http.server.ThreadingHTTPServer(('0.0.0.0', port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({'event': 'daemon.listening'}), flush=True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    signal.pause()
