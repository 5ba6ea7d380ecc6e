import '../../support/native.ts'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'

const root = process.getuid?.() === 0
const program = join(import.meta.dirname, '../../programs/protected.ts')

/** A protected process; `command` may put it into a pid namespace of its own. */
const start = async (t: Test, command: readonly string[] = []) => {
  const [file = '', ...args] = [...command, process.execPath, program]
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => {
    child.stdin.end()
    child.kill('SIGKILL')
    return child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => (await lines.next()).value as string
  t.equal(await line(), 'ready')
  return { pid: child.pid as number, line, say: (text: string) => void child.stdin.write(`${text}\n`) }
}

t.test(
  'a protected process is not dumpable and has no way into its debugger',
  { skip: !root && 'needs root' },
  async t => {
    const { pid } = await start(t, ['/usr/bin/setpriv', '--reuid=4711', '--regid=4711', '--clear-groups'])
    t.equal(statSync(`/proc/${pid}/environ`).uid, 0, 'its files in /proc belong to root, not to its user')
    const ignored = BigInt(`0x${/SigIgn:\t(\w+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]}`)
    t.equal((ignored >> 9n) & 1n, 1n, 'SIGUSR1 is ignored')
  },
)

t.test('a signal from the same pid namespace is not heard, one’s own is', async t => {
  const { pid, line, say } = await start(t)
  process.kill(pid, 'SIGTERM')
  say('still here')
  t.equal(await line(), 'still here')
  say('self')
  t.equal(await line(), 'SIGTERM')
})

const python = '/usr/bin/python3'
const forgeries = {
  // siginfo_t: signal, errno, code SI_QUEUE, padding, pid 0, uid 0
  sigqueue: `import ctypes, struct, sys
info = ctypes.create_string_buffer(struct.pack('iiiiii', 15, 0, -1, 0, 0, 0), 128)
number = {'x86_64': 129, 'aarch64': 138}[__import__('platform').machine()]
sys.exit(ctypes.CDLL(None).syscall(number, int(sys.argv[1]), 15, info))`,
  F_SETSIG: `import fcntl, os, sys
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, int(sys.argv[1]))
fcntl.fcntl(r, 10, 15)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(w, b"x")`,
}

for (const [name, script] of Object.entries(forgeries))
  t.test(`a signal forged with ${name} is not heard`, { skip: !existsSync(python) && 'needs python3' }, async t => {
    const { pid, line, say } = await start(t)
    t.equal(spawnSync(python, ['-c', script, String(pid)], { stdio: 'inherit' }).status, 0)
    say('still here')
    t.equal(await line(), 'still here')
  })

t.test('a signal from outside of the pid namespace is heard', { skip: !root && 'needs root' }, async t => {
  const { pid, line } = await start(t, ['/usr/bin/unshare', '--pid', '--fork', '--kill-child', '--'])
  const inside = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
  process.kill(inside, 'SIGTERM')
  t.equal(await line(), 'SIGTERM')
})
