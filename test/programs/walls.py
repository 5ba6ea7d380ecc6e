"""
What root of a sandbox does to become more than it is, to see the box, and to take more of what the kernel has for all. Prints a
JSON object: of each family how many were tried, and which worked. Arguments: the family's name and beginnings of names to leave out
as FAMILY:NAME, and texts that only the box knows as TEXT=, in hexadecimal so that the command line is none.
"""
import ctypes, glob, json, os, resource, socket, stat, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
families = {'privileges': {}, 'host view': {}, 'shared tables': {}}
left = [text for text in sys.argv[1:] if not text.startswith('TEXT=')]
secrets = [bytes.fromhex(text[5:]) for text in sys.argv[1:] if text.startswith('TEXT=')]


def each(family, name, of, check):
    for value in of:
        label = '-'.join(str(part) for part in value) if isinstance(value, tuple) else str(value)
        families[family][f'{name}-{label}'] = lambda value=value: check(*value) if isinstance(value, tuple) else check(value)


def called(number, *arguments):
    return libc.syscall(number, *arguments) >= 0


def in_child(act):
    """Whether it is true in a process of its own, which it may spoil."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if act() else 1)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def holds(status, number):
    return int(status.split('CapEff:')[1].split()[0], 16) >> number & 1


def capability(number):
    """Holds one that it had not, by capset or the ambient set. Refused, it changes nothing: it needs no process of its own, which is slow on gVisor."""
    masks = [0, 0]
    masks[number // 32] = 1 << number % 32
    libc.capset(ctypes.byref((ctypes.c_uint32 * 2)(0x20080522, 0)), ctypes.byref((ctypes.c_uint32 * 6)(masks[0], masks[0], masks[0], masks[1], masks[1], masks[1])))
    libc.prctl(47, 2, number, 0, 0)
    return holds(open('/proc/self/status').read(), number)


def by_file(number):
    """Holds one that it had not, in a program that has it as a file."""
    path = f'/root/cap-{number}'
    masks = [0, 0]
    masks[number // 32] = 1 << number % 32
    with open('/bin/cat', 'rb') as source, open(path, 'wb') as target:
        target.write(source.read())
    os.chmod(path, 0o755)
    try:
        os.setxattr(path, 'security.capability', struct.pack('<IIIII', 0x02000001, masks[0], masks[0], masks[1], masks[1]))
        return holds(os.popen(f'{path} /proc/self/status').read(), number)
    finally:
        os.remove(path)


def node(kind, major, minor):
    path = f'/root/node-{kind}-{major}-{minor}'
    os.mknod(path, 0o600 | (stat.S_IFBLK if kind == 'b' else stat.S_IFCHR), os.makedev(major, minor))
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return True
    finally:
        os.remove(path)


def mounted(kind):
    os.makedirs('/root/mounted', exist_ok=True)
    return libc.mount(b'none', b'/root/mounted', kind.encode(), 0, None) == 0 and libc.umount2(b'/root/mounted', 2) == 0


# Of the box, or of a network that is the daemon's: none is in the set that a tenant may hold.
far = {'dac_read_search': 2, 'linux_immutable': 9, 'net_admin': 12, 'ipc_lock': 14, 'ipc_owner': 15, 'sys_module': 16, 'sys_rawio': 17, 'sys_ptrace': 19,
       'sys_pacct': 20, 'sys_admin': 21, 'sys_boot': 22, 'sys_nice': 23, 'sys_resource': 24, 'sys_time': 25, 'sys_tty_config': 26, 'lease': 28,
       'audit_control': 30, 'mac_override': 32, 'mac_admin': 33, 'syslog': 34, 'wake_alarm': 35, 'block_suspend': 36, 'audit_read': 37,
       'perfmon': 38, 'bpf': 39, 'checkpoint_restore': 40}
each('privileges', 'capability', far.values(), capability)
each('privileges', 'capability-of-a-file', far.values(), by_file)
each('privileges', 'device', [('c', 1, 1), ('c', 1, 2), ('c', 1, 4), ('c', 1, 11), ('c', 10, 229), ('c', 10, 232), ('c', 10, 237), ('c', 4, 0), ('c', 5, 1), ('c', 108, 0),
                              ('b', 7, 0), ('b', 8, 0), ('b', 252, 0), ('b', 253, 0), ('b', 254, 0), ('b', 259, 0), ('b', 1, 0), ('b', 43, 0)], node)
each('privileges', 'mount', ['proc', 'sysfs', 'tmpfs', 'ramfs', 'devtmpfs', 'devpts', 'cgroup', 'cgroup2', 'debugfs', 'tracefs', 'securityfs', 'bpf', 'fusectl', 'mqueue',
                             'binfmt_misc', 'configfs', 'efivarfs', 'hugetlbfs', 'overlay', 'nfs'], mounted)
each('privileges', 'unshare', [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80], lambda flag: in_child(lambda: libc.unshare(flag) == 0))

# By number on x86-64, which these calls have on no other architecture: elsewhere they are other calls, refused or harmless for such arguments.
refused = {'bpf': 321, 'perf_event_open': 298, 'userfaultfd': 323, 'io_uring_setup': 425, 'fanotify_init': 300, 'setns': 308, 'open_tree': 428, 'fsopen': 430, 'mount_setattr': 442,
           'move_mount': 429, 'pivot_root': 155, 'init_module': 175, 'finit_module': 313, 'kexec_load': 246, 'open_by_handle_at': 304, 'quotactl': 179, 'acct': 163, 'swapon': 167,
           'syslog': 103, 'iopl': 172, 'ioperm': 173, 'kcmp': 312, 'lookup_dcookie': 212, 'process_madvise': 440, 'move_pages': 279, 'mbind': 237}
each('privileges', 'system-call', [*refused], lambda name: not is_refused(refused[name]))
each('privileges', 'socket', [(17, 3, 0), (16, 3, 9), (40, 1, 0), (38, 5, 0), (15, 3, 2), (31, 3, 1), (44, 3, 0), (16, 3, 6)], lambda *kind: socket.socket(*kind).fileno() >= 0)


def is_refused(number):
    """Before its arguments are looked at."""
    ctypes.set_errno(0)
    return libc.syscall(number, -1, 0, 0, 0, 0) < 0 and ctypes.get_errno() in (1, 38)


# What it is not told: nothing there names the box.
seen = ['mountinfo', 'mounts', 'mountstats', 'cgroup', 'maps', 'status', 'limits', 'environ', 'cmdline', 'net/unix', 'net/dev', 'net/tcp', 'net/tcp6', 'net/udp', 'net/raw', 'net/packet',
        'net/route', 'net/arp', 'net/netlink', 'net/fib_trie', 'net/sockstat', 'net/protocols', 'net/ptype', 'net/igmp', 'net/if_inet6', 'net/nf_conntrack']
each('host view', 'self', seen, lambda name: told(f'/proc/self/{name}'))
each('host view', 'first', seen[:9], lambda name: told(f'/proc/1/{name}'))
each('host view', 'box', ['cmdline', 'devices', 'diskstats', 'filesystems', 'interrupts', 'ioports', 'loadavg', 'locks', 'meminfo', 'misc', 'partitions', 'swaps', 'version', 'vmstat', 'zoneinfo',
                          'sysvipc/shm', 'sysvipc/msg', 'sysvipc/sem', 'sys/kernel/hostname', 'sys/kernel/domainname', 'sys/kernel/core_pattern', 'sys/kernel/modprobe', 'consoles', 'cgroups', 'crypto'],
     lambda name: told(f'/proc/{name}'))


def told(path):
    with open(path, 'rb') as file:
        content = file.read(1 << 20)
    return any(secret in content for secret in secrets)


def filled(path):
    with open(path, 'rb', buffering=0) as file:
        os.set_blocking(file.fileno(), False)
        return len(file.read(16) or b'') > 0


each('host view', 'closed', sorted(glob.glob('/sys/block/loop*/loop/backing_file')) + ['/proc/diskstats', '/proc/fs/ext4', '/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/sched_debug', '/proc/latency_stats', '/proc/locks', '/proc/timer_stats', '/proc/kmsg', '/proc/kpagecount', '/proc/kpageflags',
                             '/proc/kpagecgroup', '/proc/vmallocinfo', '/proc/slabinfo', '/proc/partitions', '/proc/softirqs', '/dev/mem', '/dev/kmsg', '/dev/port', '/sys/kernel/debug/sched/debug', '/sys/kernel/tracing/trace',
                             '/sys/kernel/security/lsm', '/sys/firmware/dmi/tables/DMI', '/sys/firmware/acpi/tables/DSDT', '/sys/class/dmi/id/product_uuid', '/proc/acpi/wakeup', '/proc/scsi/scsi',
                             '/sys/fs/cgroup/cgroup.procs', '/sys/kernel/notes', '/proc/sys/fs/binfmt_misc/status'], filled)


def written(path):
    """The same again: what may be written at all may be changed."""
    with open(path) as file:
        before = file.read()
    with open(path, 'w') as file:
        file.write(before)
    return True


tables = ['fs/file-max', 'fs/nr_open', 'fs/aio-max-nr', 'fs/pipe-max-size', 'fs/pipe-user-pages-soft', 'fs/pipe-user-pages-hard', 'fs/inotify/max_user_instances', 'fs/inotify/max_user_watches',
          'fs/inotify/max_queued_events', 'fs/epoll/max_user_watches', 'fs/lease-break-time', 'fs/leases-enable', 'fs/mount-max', 'kernel/pid_max', 'kernel/threads-max', 'kernel/pty/max', 'kernel/keys/maxkeys',
          'kernel/keys/maxbytes', 'kernel/core_pattern', 'kernel/sysrq', 'kernel/panic', 'kernel/randomize_va_space', 'kernel/sched_rt_runtime_us', 'kernel/perf_event_paranoid', 'kernel/ns_last_pid',
          'user/max_user_namespaces', 'user/max_pid_namespaces', 'user/max_net_namespaces', 'vm/overcommit_memory', 'vm/max_map_count', 'vm/drop_caches', 'vm/swappiness', 'vm/min_free_kbytes',
          'vm/mmap_min_addr', 'net/core/somaxconn', 'net/core/rmem_max', 'net/core/wmem_max', 'net/ipv4/ip_forward', 'net/ipv4/tcp_mem', 'net/ipv4/tcp_max_orphans']
each('shared tables', 'setting', tables, lambda name: written(f'/proc/sys/{name}'))
each('shared tables', 'group', ['memory/memory.limit_in_bytes', 'memory/memory.kmem.tcp.limit_in_bytes', 'memory/cgroup.procs', 'pids/pids.max', 'pids/cgroup.procs', 'cpu/cpu.shares', 'cpu/cpu.cfs_quota_us',
                                'devices/devices.allow', 'cpuset/cpuset.cpus', 'release_agent', 'memory.max', 'pids.max', 'cgroup.procs', 'cgroup.subtree_control'],
     lambda name: os.write(os.open(f'/sys/fs/cgroup/{name}', os.O_WRONLY), b'1') > 0)


def raised(kind):
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY:
        return False
    return resource.setrlimit(kind, (hard + 1, hard + 1)) is None


each('shared tables', 'limit', sorted(getattr(resource, name) for name in dir(resource) if name.startswith('RLIMIT_')), raised)


def forced(option, number):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.SOL_SOCKET, number, 1 << 26)
        return one.getsockopt(socket.SOL_SOCKET, option) > 1 << 26


each('shared tables', 'buffers', [(socket.SO_RCVBUF, 33), (socket.SO_SNDBUF, 32)], forced)
each('shared tables', 'key', [0, 1, 5, 11, 20, 22], lambda operation: called(250, operation, -3, 0, 0, 0))
each('shared tables', 'real-time', [1, 2, 6], lambda policy: in_child(lambda: called(144, 0, policy, ctypes.byref(ctypes.c_int(1)))))

answer = {}
for family, attempts in families.items():
    worked = []
    tried = {name: run for name, run in attempts.items() if not any(f'{family}:{name}'.startswith(some) for some in left)}
    for name, run in tried.items():
        try:
            if run():
                worked.append(name)
        except (OSError, ValueError, IndexError):
            # Refused, or not there: all the same.
            pass
    answer[family] = {'tried': len(tried), 'worked': worked}
print(json.dumps(answer))
