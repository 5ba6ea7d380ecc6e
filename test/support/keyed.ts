/** A daemon that a host has given a key, as a process of its own, and the ways to speak to it. */
import './native.ts'
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { systemClock } from '../../shared/clock.ts'
import { createConnections, type Connections } from '../../control/core/channel/connections.ts'
import type { Address } from '../../control/core/store/store.ts'
import { createSeal } from '../../daemon/own-files/seal.ts'
import type { Role } from '../../shared/channel.ts'
import type { BootDocument } from '../../shared/wire/host.ts'

const main = fileURLToPath(new URL('../../daemon/main.ts', import.meta.url))

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

interface Answered {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface KeyedDaemon {
  readonly process: ChildProcess
  readonly key: Buffer
  readonly address: Required<Address>
  /** By which those who know the key speak to it. */
  readonly connections: Connections
  /** Asks it something in that role. */
  readonly ask: (role: Role, sending: { method: Method; path: string; body?: object }) => Promise<Answered>
  /** Where it works, with all its state. */
  readonly dir: string
  /** What it has printed so far. */
  readonly said: () => string
  /** The lines of its journal that it has not sealed. */
  readonly unsealed: () => string[]
}

/** A port that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export interface KeyedOptions {
  readonly environment?: Record<string, string>
  /** Of the process itself. */
  readonly env?: Record<string, string>
  readonly machine?: string
  readonly key?: Buffer
  /** Started for nobody. */
  readonly anonymous?: boolean
  /** The only address that the channel's connections may come from. */
  readonly from?: string
  /** Given instead of the boot document. */
  readonly input?: string
}

/** Starts it; resolves at once. */
export const startKeyed = async (t: Test, options: KeyedOptions = {}) => {
  const { environment = {}, machine = 'm-1', key = randomBytes(32), from } = options
  const [port, channelPort] = [await freePort(), await freePort()]
  const dir = mkdtempSync(join(tmpdir(), 'keyed-'))
  const seal = { key: randomBytes(32).toString('base64url'), legacy: false }
  const document: BootDocument = {
    channel: { key: key.toString('base64url'), port: channelPort, ...(from ? { from } : {}) },
    machine: { id: machine, ...(options.anonymous ? { anonymous: true } : {}), seal },
    configuration: {
      environment: { PATH: process.env['PATH'] ?? '', HOME: dir, WORKDIR: dir, TMPDIR: dir, ...environment },
    },
  }
  const own = {
    HUTCH_BOOT: 'stdin',
    HUTCH_STATE_DIR: join(dir, 'state'),
    HUTCH_UPGRADE_DIR: join(dir, 'upgrade'),
    SANDBOX_LOG_DIR: join(dir, 'logs'),
    SANDBOX_STATE_FILE: join(dir, 'processes.json'),
    SANDBOX_PROXY_STATE_FILE: join(dir, 'proxy.json'),
    SANDBOX_MERGED_CA_PATH: join(dir, 'ca.crt'),
    SVC_SCALE_FILE: join(dir, 'scale'),
  }
  const input = join(dir, '.boot')
  writeFileSync(input, options.input ?? JSON.stringify(document))
  const child = spawn(process.execPath, [main, '--port', String(port)], {
    cwd: dir,
    env: { ...own, ...options.env },
    stdio: [openSync(input, 'r'), 'ignore', 'pipe'],
  })
  rmSync(input)
  let said = ''
  child.stderr?.on('data', piece => {
    said += piece
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(dir, { recursive: true, force: true })
  })
  const address = { host: '127.0.0.1', port, channel: { port: channelPort, machine, generation: 'g' } }
  const { holds } = createSeal(seal, 'journal')
  const unsealed = () =>
    readFileSync(join(dir, 'state/processes/processes.jsonl'), 'utf8')
      .split('\n')
      .filter(line => line !== '' && !holds(line))
  return { process: child, key, address, dir, said: () => said, ended, unsealed }
}

/** Starts it and waits until it listens. */
export const keyedDaemon = async (t: Test, options: KeyedOptions = {}): Promise<KeyedDaemon> => {
  const started = await startKeyed(t, options)
  const early = started.ended.then(() => {
    throw new Error(`the daemon ended: ${started.said()}`)
  })
  early.catch(() => {})
  const connections = createConnections({ keyOf: () => started.key }, systemClock())
  t.teardown(connections.close)
  const listening = async () => {
    while (!started.said().includes('daemon.listening') && started.process.exitCode === null)
      await new Promise(resolve => setTimeout(resolve, 5))
  }
  await Promise.race([listening(), early])
  const ask: KeyedDaemon['ask'] = async (role, { method, path, body }) => {
    const { address } = started
    const transport = role === 'host' ? connections.questions({ address }, 64 * 1024) : connections.pool({ address })
    const answer = await transport.request({
      method,
      path,
      origin: `http://${address.host}:${address.port}`,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: new AbortController().signal,
    })
    return { status: answer.statusCode, body: JSON.parse(await text(answer.body)) }
  }
  return { ...started, connections, ask }
}
