"""
What root of a sandbox does to end, starve or steer its daemon, PID 1. Prints a JSON object: the attempts that worked.
Each attempt returns whether it did. Arguments: the daemon's port, and beginnings of the names of attempts to leave out.
"""
import ctypes, errno, json, os, resource, signal, socket, sys

libc = ctypes.CDLL(None, use_errno=True)
attempts = {}


def attempt(function):
    attempts[function.__name__.replace('_', '-')] = function
    return function


def each(name, of, check):
    """The same attempt for each of several things."""
    for label, value in of.items():
        attempts[f'{name}-{label}'] = lambda value=value: check(value)


def threads():
    return sorted(int(name) for name in os.listdir('/proc/1/task'))


def limited(kind):
    """Takes a resource away from the daemon, asked for by any of its threads."""
    for target in threads():
        try:
            resource.prlimit(target, kind, (64, 64))
            return True
        except OSError:
            pass
    return False


def writable(name, content):
    for path in [f'/proc/1/{name}', *(f'/proc/1/task/{thread}/{name}' for thread in threads()), *(f'/proc/{thread}/{name}' for thread in threads())]:
        try:
            with open(path, 'w') as file:
                file.write(content)
            return True
        except OSError:
            pass
    return False


def readable(name):
    try:
        with open(f'/proc/1/{name}', 'rb') as file:
            return len(file.read(64)) > 0
    except OSError:
        return False


def listed(name):
    try:
        return any(os.readlink(f'/proc/1/{name}/{entry}') for entry in os.listdir(f'/proc/1/{name}'))
    except OSError:
        return False


def called(number, *arguments):
    ctypes.set_errno(0)
    return libc.syscall(number, *arguments) >= 0


def memory_of(number):
    """Of nobody's address: who may look is told that nothing is there."""
    here = ctypes.create_string_buffer(8)
    piece = lambda address: (ctypes.c_size_t * 2)(address, 8)
    moved = called(number, 1, ctypes.byref(piece(ctypes.addressof(here))), ctypes.c_ulong(1), ctypes.byref(piece(8)), ctypes.c_ulong(1), ctypes.c_ulong(0))
    return moved or ctypes.get_errno() == errno.EFAULT


limits = {name[7:].lower(): getattr(resource, name) for name in dir(resource) if name.startswith('RLIMIT_')}
each('prlimit', limits, limited)
each('write', {'oom_score_adj': ('oom_score_adj', '1000'), 'oom_adj': ('oom_adj', '15'), 'mem': ('mem', 'x'), 'clear_refs': ('clear_refs', '5'), 'coredump_filter': ('coredump_filter', '0x7f'),
               'comm': ('comm', 'mine'), 'timerslack_ns': ('timerslack_ns', '1'), 'autogroup': ('autogroup', '19'), 'sched': ('sched', '0'), 'make-it-fail': ('make-it-fail', '1'),
               'uid_map': ('uid_map', '0 0 1'), 'gid_map': ('gid_map', '0 0 1'), 'setgroups': ('setgroups', 'allow'), 'loginuid': ('loginuid', '0'),
               'attr': ('attr/current', 'x'), 'projid_map': ('projid_map', '0 0 1')}, lambda pair: writable(*pair))
each('read', {name: name for name in ('mem', 'environ', 'auxv', 'stack', 'syscall', 'io', 'pagemap', 'personality')}, readable)
each('list', {name: name for name in ('fd', 'map_files', 'ns')}, listed)
# The numbers of x86-64; elsewhere they mean other calls, which are refused or harmless for arguments like these.
each('ptrace', {'attach': 16, 'seize': 0x4206}, lambda request: called(101, request, 1, 0, 0))
each('memory-of', {'readv': 310, 'writev': 311}, memory_of)
attempts['pidfd-getfd'] = lambda: called(438, libc.syscall(434, 1, 0), 0, 0)
attempts['process-madvise'] = lambda: called(440, libc.syscall(434, 1, 0), 0, 0, 20, 0)
attempts['migrate-pages'] = lambda: called(256, 1, 0, 0, 0)
attempts['kcmp'] = lambda: called(312, 1, os.getpid(), 0, 0, 0)
each('enter', {name: name for name in ('mnt', 'net', 'pid', 'user', 'uts', 'ipc')}, lambda name: libc.setns(os.open(f'/proc/1/ns/{name}', os.O_RDONLY), 0) == 0)


def root_of_the_daemon():
    """Its root directory is the tenant's own, and leads nowhere else."""
    before = os.stat('/').st_ino
    os.chroot('/proc/1/root')
    return os.stat('/').st_ino != before


@attempt
def bundle_replaced():
    for path in ('/.hutch/daemon/main.js', '/.hutch/own/libc.so.6', '/.hutch/bin/node'):
        for act in (lambda: open(path, 'a').close(), lambda: os.remove(path), lambda: os.rename('/etc/hosts', path), lambda: os.chmod(path, 0o777)):
            try:
                act()
                return True
            except OSError:
                pass
    return False


@attempt
def bundle_covered():
    return libc.mount(b'/tmp', b'/.hutch', None, 4096, None) == 0 or libc.umount2(b'/.hutch', 2) == 0


@attempt
def descriptors_filled():
    """Connections that stay: as many as are tried, or as the daemon lets in."""
    held, answered = [], 0
    for _ in range(1500):
        try:
            connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)
            connection.sendall(b'GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
            answered += connection.recv(4) == b'HTTP'
            held.append(connection)
        except OSError:
            pass
    return answered > 1200


signals = [number for number in range(1, 65) if number not in (32, 33)]
each('signal', {str(number): number for number in signals}, lambda number: os.kill(1, number) and False)
each('signal-of-thread', {str(number): number for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV)},
     lambda number: called(234, 1, threads()[-1], number) and False)

# Last: it may change what paths mean.
attempts['root-of-the-daemon'] = root_of_the_daemon
worked = []
for name, run in list(attempts.items()):
    try:
        if not any(name.startswith(left) for left in sys.argv[2:]) and run():
            worked.append(name)
    except (OSError, ValueError, AttributeError):
        # Refused, or not there: all the same.
        pass
print(json.dumps({'tried': len(attempts), 'worked': worked}))
