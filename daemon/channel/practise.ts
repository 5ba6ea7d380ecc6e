/**
 * What a daemon that waits to be somebody's does while nobody waits for it: it is asked, by a channel of its own, all that
 * it will be asked when it is claimed. What the first of each request loads and compiles is there then.
 */
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { nonceBytes, provenBytes, writePreface, type Role } from '../../shared/channel.ts'
import type { Accept } from '../../shared/http/listen.ts'
import type { BootDocument, Claiming } from '../../shared/wire/host.ts'
import type { Config } from '../config/config.ts'
import { listenTcp } from '../native/descriptors/descriptors.ts'
import { hmacSha256 } from '../native/hmac/hmac.ts'
import type { Connections } from './connections.ts'
import { createChannelListener } from './listener.ts'

/** Everything that a daemon that practises writes is below this directory. */
const practiceDir = ({ stateDir }: Pick<Config, 'stateDir'>): string => join(stateDir, 'practice')

/** What a daemon that practises works by: it leaves nothing where the one after it looks. */
export const practiceConfig = (config: Config): Config => {
  const dir = practiceDir(config)
  return {
    ...config,
    logs: { ...config.logs, dir: join(dir, 'logs') },
    stateDir: join(dir, 'state'),
    stateFile: join(dir, 'state.json'),
    proxyStateFile: join(dir, 'proxy.json'),
    scaleFile: join(dir, 'scale'),
  }
}

/**
 * Runs no program of the image, which nobody may have looked at: the daemon's own says its version, as its loader does where
 * that runs it.
 */
export const practiceEnvironment = { SHELL: process.execPath, SHELL_ARGS: ' ' }
const command = JSON.stringify({ command: '--version', waitForCompletion: true, workingDir: '/' })

/** What is done for the fourth time takes half of the first; more rounds gain little, and hold up the pool. */
const rounds = 3

const request = (line: string, body = ''): string =>
  `${line} HTTP/1.1\r\nhost: daemon\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`

const claiming: Claiming = { environment: { ...practiceEnvironment, NEW: 'new' }, memoryBytes: 2 ** 30 }

const requests: readonly (readonly [Role, string])[] = [
  ['host', request('PUT /host/claim', JSON.stringify(claiming))],
  ['client', request('POST /process', command)],
  ['client', request('GET /health')],
]

interface Place {
  readonly key: Buffer
  readonly machine: string
  readonly port: number
}

/** Speaks as the host does. Throws when it is not answered well. */
const ask = async ({ key, machine, port }: Place, [role, text]: readonly [Role, string]): Promise<void> => {
  const socket = connect(port, '127.0.0.1')
  const ended = once(socket, 'close')
  let answer = ''
  socket.once('data', (nonce: Buffer) => {
    const proof = hmacSha256(key, provenBytes(nonce.subarray(0, nonceBytes), role, machine))
    socket.write(Buffer.concat([writePreface(role, proof), Buffer.from(text)]))
    socket.on('data', (piece: Buffer) => (answer += piece.toString('latin1')))
  })
  await ended
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`${text.split('\r\n')[0]}: ${answer.slice(0, 200)}`)
}

/** Asks all of it of `server`, which does not listen. Throws when something is not answered well. */
export const practiseAnswering = async (
  server: Server,
  { channel, machine }: BootDocument,
  { connections, accept }: { connections: Connections; accept: Accept },
): Promise<void> => {
  const place = { key: Buffer.from(channel.key, 'base64url'), machine: machine.id }
  const listener = createChannelListener({ ...place, accept }, (connection, role) => {
    connections.prove(connection, role)
    server.emit('connection', connection)
  })
  const { fd, port } = listenTcp(0, '127.0.0.1')
  try {
    await listener.resume(fd)
    for (let round = 0; round < rounds; round++) for (const one of requests) await ask({ ...place, port }, one)
  } finally {
    listener.close()
    server.close()
  }
}

/** Removes what a daemon that practised has written. */
export const removePractice = (config: Pick<Config, 'stateDir'>): Promise<void> =>
  rm(practiceDir(config), { recursive: true, force: true })
