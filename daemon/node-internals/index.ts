/** What the daemon uses of Node and node-pty without a public interface, with a switch for each (README.md). */
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import { serve, type ApiServer } from '../../shared/http/server.ts'
import { serveByLane, type LaneServing } from '../../shared/lane/serve.ts'
import { nativePtyOpener, type PtyOpener } from '../native/pty/pty.ts'
import { acceptOn, type Accept } from '../../shared/http/listen.ts'
import { acceptAlone } from './accept.ts'
import { createCollector, type Collector } from './collector.ts'
import { createBodyDetacher, type BodyDetacher } from './detach-body.ts'
import { limitHeap } from './heap-limit.ts'
import { limitParserPool } from './parser-pool.ts'
import { createFileSender, type FileSender } from './send-file.ts'

export const internalNames = [
  'lane',
  'accept',
  'detach-body',
  'send-file',
  'parser-pool',
  'heap-limit',
  'collector',
  'node-pty',
] as const
type InternalName = (typeof internalNames)[number]

export interface NodeInternals {
  /** The server of a dispatcher: reads ordinary requests itself, or when that is switched off leaves all to node. */
  serve(dispatcher: Dispatcher, serving: LaneServing): ApiServer
  /** Has a server accept on a socket that listens already. */
  readonly accept: Accept
  readonly detacher: BodyDetacher
  readonly sendFile: FileSender
  /** Must run before the first connection ends. */
  limitParserPool(): void
  /** False when it is switched off, or this V8 has no such functions. */
  limitHeap(bytes: number): boolean
  /** Undefined when it is switched off: then V8 alone decides when to collect. */
  readonly createCollector: (() => Collector) | undefined
  /** From node-pty; from our own addon when node-pty is switched off or has another native part. */
  loadPtyOpener(): Promise<PtyOpener>
}

const isName = (name: string): name is InternalName => (internalNames as readonly string[]).includes(name)

/** Reads `HUTCH_NODE_INTERNALS_OFF`: names separated by commas, or `all`. */
export const readSwitches = (value: string | undefined): { off: ReadonlySet<InternalName>; unknown: string[] } => {
  if (value === 'all') return { off: new Set(internalNames), unknown: [] }
  const names = (value ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  return { off: new Set(names.filter(isName)), unknown: names.filter(name => !isName(name)) }
}

export const createNodeInternals = (off: ReadonlySet<InternalName> = new Set()): NodeInternals => ({
  serve: off.has('lane') ? serve : serveByLane,
  accept: off.has('accept') ? acceptOn : acceptAlone,
  detacher: createBodyDetacher(!off.has('detach-body')),
  sendFile: createFileSender(!off.has('send-file')),
  limitParserPool: off.has('parser-pool') ? () => {} : limitParserPool,
  limitHeap: off.has('heap-limit') ? () => false : limitHeap,
  createCollector: off.has('collector') ? undefined : createCollector,
  async loadPtyOpener() {
    const opener = off.has('node-pty') ? undefined : (await import('./node-pty.ts')).nodePtyOpener()
    return opener ?? nativePtyOpener
  },
})
