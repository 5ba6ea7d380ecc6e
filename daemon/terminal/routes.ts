/** The routes of terminals, and their clients. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocketServer } from 'ws'
import { fail } from '../../shared/errors.ts'
import { endRaw } from '../../shared/http/raw-answer.ts'
import { handle, reply, SocketUpgrade, type Bound } from '../../shared/route.ts'
import { terminalPage, terminalSocket } from '../../shared/wire/terminal.ts'
import { audit } from '../audit.ts'
import type { Closing } from '../../shared/closing.ts'
import type { InheritedTerminal } from '../upgrade/handover.ts'
import type { HandoverSource } from '../upgrade/successor.ts'
import { terminalHtml } from './page.ts'
import type { SessionsDeps } from './session.ts'
import { createSessions } from './sessions.ts'
import { serveSocket } from './socket.ts'

/** Longer frames are refused with 1009; what users paste is far shorter. */
const maxFrameBytes = 4 * 1024 * 1024

/** Milliseconds after which a closing socket is destroyed. */
const disconnectMs = 250
/** "Service Restart" in the registry of close codes (RFC 6455, section 11.7): clients may connect again. */
const restarting = [1012, 'the daemon is being replaced; connect again'] as const

interface TerminalDeps extends SessionsDeps {
  /** When terminals are switched off, both routes answer 404. */
  readonly enabled: boolean
  readonly closing: Closing
  /** Sessions of the daemon before this one. */
  readonly inherited: readonly InheritedTerminal[]
}

export interface Terminals extends HandoverSource<InheritedTerminal> {
  readonly bounds: readonly Bound[]
}

/** Closes all clients' sockets and waits for them a moment. */
const disconnectAll = async (sockets: WebSocketServer, clock: SessionsDeps['clock']): Promise<void> => {
  const gone = new AbortController()
  const all = [...sockets.clients]
  for (const socket of all) socket.close(...restarting)
  const closed = all.filter(({ readyState, CLOSED }) => readyState !== CLOSED).map(socket => once(socket, 'close'))
  await Promise.race([Promise.all(closed), clock.sleep(disconnectMs, gone.signal).catch(() => undefined)])
  gone.abort()
}

export const openTerminals = (deps: TerminalDeps): Terminals => {
  const { enabled, closing, clock, inherited } = deps
  const all = createSessions(deps)
  all.resume(inherited)
  let leaving = false
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxFrameBytes })
  closing.add('terminals', () => {
    for (const socket of sockets.clients) socket.close(1001, 'the daemon stops')
    all.close()
  })
  // A failed handshake gets our JSON error too; the library would answer with HTML.
  sockets.on('wsClientError', (error, raw) => {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'sec-websocket-version': '13' }
    raw.once('finish', () => raw.destroy())
    endRaw(raw, { status: 400, headers, body: JSON.stringify({ error: error.message }) })
  })
  const requireEnabled = () => {
    if (!enabled) throw fail('not_found', { kind: 'terminal', name: 'disabled' })
  }
  const page = handle(terminalPage, () => {
    requireEnabled()
    return reply(200, { 'content-type': 'text/html; charset=utf-8' }, terminalHtml())
  })
  const socket = handle(terminalSocket, ({ query }, context) => {
    requireEnabled()
    const { cols, rows, shell, workingDir, sessionId = 'default' } = query
    const wanted = { sessionId, shell: shell || undefined, workingDir: workingDir || undefined, cols, rows }
    const watcher = {
      connected: () => audit(context, 'terminal_connect', { sessionId }),
      command: (command: string) => audit(context, 'terminal_command', { sessionId, command }),
      disconnected: () => audit(context, 'terminal_disconnect', { sessionId }),
    }
    return new SocketUpgrade((raw, head, request) =>
      sockets.handleUpgrade(request as IncomingMessage, raw, head, client =>
        leaving ? client.close(...restarting) : serveSocket(client, wanted, all, watcher),
      ),
    )
  })
  return {
    bounds: [page, socket],
    async disconnect() {
      leaving = true
      await disconnectAll(sockets, clock)
      return all.handOver
    },
    acceptClients() {
      leaving = false
    },
  }
}
