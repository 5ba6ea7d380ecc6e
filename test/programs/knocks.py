"""
What root of a sandbox tries at the doors of the host and of a neighbour: every address the box has, every name it may go by, every kind of
socket. Prints the attempts, and those that were answered; what arrives without an answer is seen by who listens outside.
Arguments: the token that is sent, JSON of {ports, addresses, names, neighbour, doors}, `doors` the ports of a neighbour's daemon.
"""
import ctypes, errno, glob, json, os, socket, struct, sys, threading

token, asked = sys.argv[1].encode(), json.loads(sys.argv[2])
attempts = {}
gateway = os.popen("ip route | awk '/^default/ {print $3}'").read().strip()
libc = ctypes.CDLL(None, use_errno=True)


def tcp(host, port, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0, before=lambda s: None):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(2)
        before(s)
        s.connect((host, port))
        # Whoever takes the connection is reached, whatever he says.
        return True


def udp(host, port, before=lambda s: None):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        before(s)
        s.sendto(token, (host, port))
        return len(s.recv(64)) > 0


def raw(protocol, host, payload, source='0.0.0.0'):
    head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 7, 0, 64, protocol, 0, socket.inet_aton(source), socket.inet_aton(host))
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
        s.sendto(head + payload, (host, 0))


def datagram(port):
    return struct.pack('!HHHH', 9, port, 8 + len(token), 0) + token


def option(level, name, value):
    return lambda s: s.setsockopt(level, name, value)


def from_address(address, port=0):
    def bind(s):
        s.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
        s.bind((address, port))
    return bind


def unix(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(1)
        s.connect(path)
        return True


ports = asked['ports']
for host in dict.fromkeys([gateway, *asked['addresses'], '0.0.0.0', '169.254.169.254', '224.0.0.1', '255.255.255.255']):
    for port in ports:
        # Its own loopback and all of its own addresses are behind 0.0.0.0: nobody of the box listens there.
        attempts[f'tcp-{host}-{port}'] = lambda host=host, port=port: tcp(host, port)
        attempts[f'udp-{host}-{port}'] = lambda host=host, port=port: udp(host, port, option(socket.SOL_SOCKET, socket.SO_BROADCAST, 1))
for port in [*asked['doors'], 22]:
    attempts[f'neighbour-{port}'] = lambda port=port: tcp(asked['neighbour'], port)
    attempts[f'neighbour-from-the-gateway-{port}'] = lambda port=port: tcp(asked['neighbour'], port, before=from_address(gateway))
for name in asked['names']:
    attempts[f'name-{name}'] = lambda name=name: tcp(socket.gethostbyname(name), ports[0])
door = (gateway, ports[0])
attempts |= {
    'v6-of-the-gateway': lambda: tcp(f'::ffff:{door[0]}', door[1], socket.AF_INET6),
    'v6-loopback': lambda: tcp('::1', ports[0], socket.AF_INET6),
    'v6-all-nodes': lambda: tcp('ff02::1', ports[0], socket.AF_INET6),
    'sctp': lambda: tcp(*door, protocol=132),
    'mptcp': lambda: tcp(*door, protocol=262),
    'dccp': lambda: tcp(*door, kind=6, protocol=33),
    'udp-lite': lambda: raw(136, gateway, datagram(ports[0])),
    'vsock-of-the-box': lambda: tcp(2, ports[0], socket.AF_VSOCK),
    'vsock-of-the-hypervisor': lambda: tcp(0, ports[0], socket.AF_VSOCK),
    'bound-to-the-link': lambda: tcp(*door, before=option(socket.SOL_SOCKET, 25, b'eth0\0')),
    'bound-to-loopback': lambda: tcp(*door, before=option(socket.SOL_SOCKET, 25, b'lo\0')),
    'marked': lambda: tcp(*door, before=option(socket.SOL_SOCKET, 36, 1)),
    'without-routes': lambda: tcp(*door, before=option(socket.SOL_SOCKET, 5, 1)),
    'from-loopback': lambda: tcp(*door, before=from_address('127.0.0.1')),
    'from-the-gateway': lambda: tcp(*door, before=from_address(gateway)),
    'from-the-neighbour': lambda: tcp(*door, before=from_address(asked['neighbour'])),
    'from-a-low-port': lambda: tcp(*door, before=from_address('0.0.0.0', 53)),
    'fast-open': lambda: tcp(*door, before=option(socket.IPPROTO_TCP, 30, 1)),
    'source-route': lambda: tcp(*door, before=option(socket.IPPROTO_IP, 4, b'\x83\x07\x04' + socket.inet_aton(door[0]) + b'\0')),
    'raw-from-loopback': lambda: raw(17, gateway, datagram(ports[0]), '127.0.0.1'),
    'raw-from-the-box': lambda: raw(17, gateway, datagram(ports[0]), asked['addresses'][-1]),
    'raw-to-loopback': lambda: raw(17, '127.0.0.1', datagram(ports[0]), gateway),
    'raw-in-a-packet': lambda: raw(4, gateway, struct.pack('!BBHHHBBH4s4s', 0x45, 0, 28 + len(token), 9, 0, 64, 17, 0, socket.inet_aton('127.0.0.1'), socket.inet_aton('127.0.0.1')) + datagram(ports[0])),
    'abstract-sockets': lambda: any(answered(lambda name=name: unix(name)) for name in abstract()),
    'sockets-of-files': lambda: any(answered(lambda path=path: unix(path)) for path in glob.glob('/run/**/*.sock*', recursive=True) + ['/var/run/docker.sock', '/run/containerd/containerd.sock']),
    'redirect-of-its-own': lambda: replaced_rules(),
}


def replaced_rules():
    """Whether IPT_SO_SET_REPLACE of a socket of its own gets as far as netfilter, which needs CAP_NET_ADMIN."""
    with socket.socket() as own:
        if libc.setsockopt(own.fileno(), 0, 64, ctypes.create_string_buffer(96), 96) != 0:
            return ctypes.get_errno() not in (errno.EPERM, errno.ENOPROTOOPT)
        # gVisor answers 0 for options that it does not know: then no table is there to be read.
        table = ctypes.create_string_buffer(b'nat', 84)
        return libc.getsockopt(own.fileno(), 0, 64, table, ctypes.byref(ctypes.c_uint(84))) == 0


def abstract():
    return ['\0' + line.split()[-1][1:] for line in open('/proc/net/unix') if '@' in line] + ['\0/tmp/.X11-unix/X0', '\0/tmp/dbus-1', '\0hutch']


def answered(act):
    try:
        return bool(act())
    except (OSError, ValueError, AttributeError, IndexError):
        # Refused, silent, or not there.
        return False


reached = []
threads = [threading.Thread(target=lambda name=name, act=act: answered(act) and reached.append(name), daemon=True) for name, act in attempts.items()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(8)
print(json.dumps({'tried': len(attempts), 'reached': sorted(reached)}))
