"""A daemon that is the tenant's: PID 1 of a sandbox, with all that the real one may do, and with every command it is sent run so."""
import http.server, json, os, signal, subprocess, sys, threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

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


os.environ.setdefault('PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
server = http.server.ThreadingHTTPServer(('0.0.0.0', 8080), Handler)
server.daemon_threads = True
print(json.dumps({'event': 'daemon.listening'}), flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    signal.pause()
