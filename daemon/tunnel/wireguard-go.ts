/**
 * A tunnel that uses wireguard-go, for kernels without the module.
 *
 * Everyone who can connect to its control socket can read the private key, and tenants are root in the same mount
 * namespace. So the process gets the key only when nobody else can connect:
 *  1. the socket's file is removed before the process starts, and the connection that waits in the socket is ours;
 *  2. the UDP sockets are opened, then the process loses the right to open or accept anything (RLIMIT_NOFILE, which
 *     only CAP_SYS_RESOURCE raises again);
 *  3. we check the kernel's socket table for other connections; then we send the key and close our connection.
 * A tenant that kept a descriptor of the socket can use it to end the process, which closes the sandbox, but not to
 * read from it. Memory and /proc files of the process are protected because it has capabilities that tenants lack.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import { errno } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { controlSocket, forbidMoreFiles } from '../native/uapi/uapi.ts'
import { readSockets } from '../network/sockets.ts'
import { upLines, type Device } from './device.ts'
import type { TunnelSettings } from './document.ts'
import type { Tools } from './tools.ts'
import { ask, peerRequest } from './uapi.ts'

/** wireguard-go ends when the file in this directory with its interface's name is removed. */
const directory = '/var/run/wireguard'
const startMs = 20_000
const endMs = 5_000
const pollMs = 10
const lastWordsMs = 200

interface Deps {
  readonly tools: Tools
  readonly clock: Clock
  readonly ids: Ids
}

const removeWatched = (name: string): void => {
  rmSync(join(directory, `${name}.sock`), { force: true })
  try {
    rmdirSync(directory)
  } catch (error) {
    // It also belongs to somebody else, or was never made.
    if (!['ENOTEMPTY', 'ENOENT', 'EBUSY', 'ENOTDIR'].includes(errno(error) ?? '')) throw error
  }
}

/** The process's local UDP ports. */
const udpPorts = async (pid: number): Promise<number[]> => {
  const fds = await readdir(`/proc/${pid}/fd`)
  const links = await Promise.all(fds.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  const own = new Set(links)
  const udp = ((await readSockets()) ?? []).filter(({ protocol }) => protocol === 'udp')
  return udp.filter(({ inode }) => own.has(`socket:[${inode}]`)).map(({ localPort }) => localPort)
}

/** How many sockets have the name of a Unix socket: the listening one and those of its connections. */
const ends = async (path: string): Promise<number> =>
  (await readFile('/proc/net/unix', 'latin1')).split('\n').filter(line => line.endsWith(` ${path}`)).length

interface Started {
  readonly child: ChildProcess
  readonly pid: number
  readonly control: Socket
  readonly path: string
  readonly ended: Promise<string>
}

const start = (file: string, name: string, ids: Ids): Started => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  rmSync(join(directory, `${name}.sock`), { force: true })
  writeFileSync(join(directory, `${name}.sock`), '', { flag: 'wx', mode: 0o600 })
  const path = join(directory, `.${ids.secret(16)}`)
  const { listening, connected } = controlSocket(path)
  const control = new Socket({ fd: connected, readable: true, writable: true })
  const child = spawn(file, ['--foreground', name], {
    cwd: '/',
    // A session of its own: a Ctrl-C at the daemon's terminal must not end it before the sandbox is closed.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', listening],
    env: { WG_UAPI_FD: '3', LOG_LEVEL: 'error' },
  })
  closeSync(listening)
  let said = ''
  child.stderr?.on('data', piece => (said = `${said}${piece}`.slice(-2_000)))
  const ended = new Promise<string>(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', (code, signal) => {
      const why = said.split('\n').findLast(line => line.includes('ERROR')) ?? ''
      resolve(`wireguard-go ended (${signal ?? `exit code ${code}`})${why && `: ${why.replace(/^.*?ERROR:\s*/, '')}`}`)
    })
  })
  // A request over an ended connection reports the error.
  control.on('error', () => {})
  return { child, pid: child.pid ?? -1, control, path, ended }
}

/** Sets the new process up, until it has opened all its ports and nobody but us can talk to it. */
const prepare = async (started: Started, settings: TunnelSettings, { tools, clock }: Deps): Promise<void> => {
  const { pid, control, path } = started
  const { listenPort } = settings
  await ask(control, 'when it started', 'get=1\n\n')
  await tools.run('ip', ['-batch', '-'], upLines(settings))
  // It learns from the kernel that its interface is up, and then opens its ports.
  const limit = clock.elapsed() + startMs
  while ((await udpPorts(pid)).length === 0) {
    if (clock.elapsed() > limit) throw new Error('wireguard-go opened no UDP port')
    await clock.sleep(pollMs)
  }
  const busy = `UDP port ${listenPort} may be in use; choose another listen_port`
  await ask(control, busy, `set=1\nlisten_port=${listenPort}\n\n`)
  if (!(await udpPorts(pid)).includes(listenPort)) throw new Error(`wireguard-go does not listen: ${busy}`)
  forbidMoreFiles(pid)
  if ((await ends(path)) !== 2) throw new Error('somebody else has a connection to wireguard-go; its key stays here')
}

/**
 * Starts wireguard-go and brings its interface up. On failure it throws with the process's last output and leaves
 * nothing behind.
 */
export const createWireguardGoDevice = async (settings: TunnelSettings, deps: Deps): Promise<Device> => {
  const { tools, clock, ids } = deps
  const file = tools.find('wireguard-go')
  if (!file) throw new Error('wireguard-go is missing')
  const started = start(file, settings.interface, ids)
  const { child, control, ended } = started
  const remove = async () => {
    control.destroy()
    child.kill('SIGTERM')
    const cancel = clock.after(endMs, () => void child.kill('SIGKILL'))
    await ended
    cancel()
    removeWatched(settings.interface)
  }
  try {
    await prepare(started, settings, deps)
  } catch (error) {
    // Its output says more than the broken connection; both arrive at about the same time.
    const ownWords = await Promise.race([ended, clock.sleep(lastWordsMs).then(() => undefined)])
    await remove()
    throw ownWords === undefined ? error : new Error(ownWords, { cause: error })
  }
  return {
    kind: 'process',
    ended,
    remove,
    async configurePeer(peer) {
      await ask(control, 'given its keys and peer', peerRequest(settings, peer))
      control.destroy()
    },
  }
}
