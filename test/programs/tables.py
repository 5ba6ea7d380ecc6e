"""
Takes what the kernel has for all, and says as JSON how much of each kind that was:

    tables.py count NAME=CAP ...             one kind after the other; gives all of it back
    tables.py take root|ids NAME=CAP ...     all at once, each by a process of its own, as root or as 1,000 users in turn;
                                             holds it until it is killed

CAP is the most that is tried.
"""
import ctypes, errno, fcntl, json, os, resource, signal, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
nothing = ctypes.c_void_p()


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def open_files(at_least):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, at_least)), hard))


def epoll(held):
    """Watches: each of 256 event files in ever more epoll files."""
    files = [os.eventfd(0) for _ in range(256)]
    held.extend(files)
    while True:
        poll = checked(libc.epoll_create1(0))
        held.append(poll)
        event = ctypes.create_string_buffer(struct.pack('<IQ', 1, 0))
        for file in files:
            checked(libc.epoll_ctl(poll, 1, file, event))
            yield


def ptys(held):
    while True:
        held.append(checked(libc.open(b'/dev/ptmx', os.O_RDWR | os.O_NOCTTY)))
        yield


def aio(held):
    """Events of io_setup, 512 at a time."""
    while True:
        context = ctypes.c_ulong(0)
        checked(libc.syscall(206, 512, ctypes.byref(context)))
        for _ in range(512):
            yield


def signals(held):
    """Queued to ourselves, who have them blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
    while True:
        checked(libc.sigqueue(os.getpid(), signal.SIGRTMIN, nothing))
        yield


def timers(held):
    while True:
        timer = ctypes.c_void_p()
        checked(libc.timer_create(1, None, ctypes.byref(timer)))
        yield


def message_queues(held):
    """Bytes of POSIX message queues, 8 KiB and one message at a time."""
    class Attributes(ctypes.Structure):
        _fields_ = [(name, ctypes.c_long) for name in ('flags', 'maxmsg', 'msgsize', 'curmsgs')] + [('pad', ctypes.c_long * 4)]
    number = 0
    while True:
        number += 1
        name = b'/tables-%d-%d' % (os.getpid(), number)
        queue = checked(libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, ctypes.byref(Attributes(0, 1, 8192))))
        libc.mq_unlink(name)
        held.append(queue)
        yield


def pipes(held):
    """Pipes of the full size; a user who has too many pages gets small ones."""
    while True:
        ends = os.pipe()
        held.extend(ends)
        if fcntl.fcntl(ends[0], 1032) < 65536:
            raise OSError(errno.EPERM, 'a small one')
        yield


def pipe_pages(held):
    """Of pipes as large as may be had."""
    while True:
        ends = os.pipe()
        held.extend(ends)
        size = fcntl.fcntl(ends[0], 1031, 1 << 20)
        for _ in range(size // 4096):
            yield


def inotify(held):
    while True:
        held.append(checked(libc.inotify_init1(0)))
        yield


def files_in_flight(held):
    """Descriptors that are sent and not received."""
    message = bytes(1)
    while True:
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        held.extend([one, other])
        try:
            for _ in range(8):
                one.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('200i', *[one.fileno()] * 200))], socket.MSG_DONTWAIT)
                for _ in range(200):
                    yield
        except BlockingIOError:
            pass


def datagrams(held):
    """Megabytes that wait to be read, at sockets of our own."""
    piece, waiting = bytes(32768), 0
    while True:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        one.bind(('127.0.0.1', 0))
        held.append(one)
        address, before = one.getsockname(), waiting
        for _ in range(8):
            one.sendto(piece, address)
        for _ in range(8):
            # What the kernel has no room for is dropped without a word.
            if not received(one):
                raise OSError(errno.ENOBUFS, 'dropped')
        for _ in range(4):
            one.sendto(piece, address)
        waiting += 4 * len(piece)
        for _ in range((waiting >> 20) - (before >> 20)):
            yield


def received(one):
    try:
        one.recv(1, socket.MSG_DONTWAIT)
        return True
    except BlockingIOError:
        return False


def streams(held):
    """Megabytes that wait in connections of our own."""
    server = socket.create_server(('127.0.0.1', 0), backlog=1024)
    held.append(server)
    sent = 0
    while True:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        held.extend([one, other])
        one.setblocking(False)
        before = sent
        try:
            for _ in range(64):
                sent += one.send(bytes(65536))
        except BlockingIOError:
            pass
        if sent - before < 65536:
            raise OSError(errno.ENOBUFS, 'no room for a connection')
        for _ in range((sent >> 20) - (before >> 20)):
            yield


def files(held):
    while True:
        held.append(os.open('/proc/self/status', os.O_RDONLY))
        yield


def locks(held):
    """Of single bytes, every other one, so that the kernel cannot join them."""
    file = os.open('/tmp/locks-%d' % os.getpid(), os.O_RDWR | os.O_CREAT, 0o666)
    held.append(file)
    at = 0
    while True:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at * 2)
        at += 1
        yield


def listening():
    """Hears what we send, and is never read."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(('0.0.0.0', 0))
    return one


def flows(held):
    """Ports of our own address, and connections that a firewall follows; more than a process may have open."""
    there = listening()
    address = ('127.0.0.1', there.getsockname()[1])
    held.append(there)
    while True:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        held.append(one)
        one.bind(('127.0.0.1', 0))
        one.sendto(b'', address)
        yield
        if len(held) > 10000:
            parent = os.getpid()
            if os.fork() == 0:
                # PR_SET_PDEATHSIG: it ends with who has begun it.
                checked(libc.prctl(1, signal.SIGKILL))
                while os.getppid() == parent:
                    signal.pause()
                os._exit(0)
            while held:
                held.pop().close()


def neighbours(held):
    """
    Addresses of multicast: each is an entry of its own, where loopback has one for all of its addresses. With IP_RECVERR (11)
    it is said when the kernel has no room for one more.
    """
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.IPPROTO_IP, 11, 1)
    one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
    held.append(one)
    for number in range(1, 1 << 24):
        one.sendto(b'', ('233.%d.%d.%d' % (number >> 16, number >> 8 & 255, number & 255), 9))
        yield


def routes(held):
    """Added to the network's own table, by RTM_NEWROUTE for 192.0.2.n."""
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    held.append(one)
    number = 0
    while True:
        number += 1
        route = struct.pack('BBBBBBBBI', socket.AF_INET, 32, 0, 0, 254, 4, 253, 1, 0)
        to, by = struct.pack('HH4s', 8, 1, socket.inet_aton('192.0.2.%d' % number)), struct.pack('HHI', 8, 4, 1)
        body = route + to + by
        one.send(struct.pack('IHHII', 16 + len(body), 24, 0x605, number, 0) + body)
        code = -struct.unpack_from('i', one.recv(4096), 16)[0]
        if code:
            raise OSError(code, os.strerror(code))
        yield


def processes(held):
    while True:
        child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        held.append(child)
        yield


def semaphores(held):
    while True:
        held.append(checked(libc.semget(0, 250, 0o600 | 0o1000)))
        for _ in range(250):
            yield


def shared_memory(held):
    while True:
        held.append(checked(libc.shmget(0, 4096, 0o600 | 0o1000)))
        yield


def keys(held):
    while True:
        checked(libc.syscall(248, b'user', b'tables', b'x', 1, -3))
        yield


kinds = {name: kind for name, kind in globals().items() if getattr(kind, '__code__', None) and kind.__code__.co_flags & 0x20}


def take(name, cap, users=None):
    held, count, reason = [], 0, None
    open_files(1 << 20)
    try:
        steps = kinds[name](held)
        while count < cap:
            if users:
                checked(libc.syscall(117, users[count % len(users)], 0, 0))
            next(steps)
            count += 1
    except OSError as error:
        reason = errno.errorcode.get(error.errno, str(error.errno))
    except MemoryError:
        reason = 'ENOMEM'
    if users:
        libc.syscall(117, 0, 0, 0)
    return held, count, reason


def in_child(name, cap, users, hold):
    """A pipe from which one answer can be read. Without `hold` all of it is given back by then."""
    read, write = os.pipe()
    if os.fork() == 0:
        held, count, reason = take(name, cap, users)
        if hold:
            os.write(write, json.dumps({'count': count, 'reason': reason}).encode())
            while True:
                signal.pause()
        for item in held:
            if name == 'processes':
                os.kill(item, signal.SIGKILL)
            if name == 'semaphores':
                libc.semctl(item, 0, 0)
            if name == 'shared_memory':
                libc.shmctl(item, 0, 0)
        os.write(write, json.dumps({'count': count, 'reason': reason}).encode())
        os._exit(0)
    os.close(write)
    return read


def answer(read):
    return json.loads(os.read(read, 1000) or b'null')


if __name__ == '__main__':
    if sys.argv[1] == 'take':
        users = list(range(1, 1001)) if sys.argv[2] == 'ids' else None
        waiting = {name: in_child(name, int(cap), users, True) for name, cap in (part.split('=') for part in sys.argv[3:])}
        print(json.dumps({name: answer(read) for name, read in waiting.items()}), flush=True)
        signal.pause()
    answers = {}
    for name, cap in (part.split('=') for part in sys.argv[2:]):
        answers[name] = answer(in_child(name, int(cap), None, False))
        os.wait()
    print(json.dumps(answers))
