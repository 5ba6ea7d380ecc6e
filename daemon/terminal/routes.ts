import type { IncomingMessage } from 'node:http'
import { WebSocketServer } from 'ws'
import { fail } from '../../shared/errors.ts'
import { handle, reply, Takeover, type Bound } from '../../shared/route.ts'
import { terminalPage, terminalSocket } from '../../shared/wire/terminal.ts'
import { audit } from '../audit.ts'
import type { Closing } from '../../shared/closing.ts'
import { terminalHtml } from './page.ts'
import { sessions, type SessionsDeps } from './sessions.ts'
import { serveSocket } from './socket.ts'

/** Frames above this are refused (1009): a paste is far smaller. */
const largestFrame = 4 * 1024 * 1024

export interface TerminalDeps extends SessionsDeps {
  /** Off: both routes answer 404. */
  readonly enabled: boolean
  readonly closing: Closing
}

export const terminalRoutes = (deps: TerminalDeps): Bound[] => {
  const { enabled, closing } = deps
  const all = sessions(deps)
  const sockets = new WebSocketServer({ noServer: true, maxPayload: largestFrame })
  closing.add('terminals', () => {
    for (const socket of sockets.clients) socket.close(1001, 'the daemon stops')
    all.close()
  })
  const mustBeOn = () => {
    if (!enabled) throw fail('not_found', { kind: 'terminal', name: 'disabled' })
  }
  return [
    handle(terminalPage, () => {
      mustBeOn()
      return reply(200, { 'content-type': 'text/html; charset=utf-8' }, terminalHtml())
    }),
    handle(terminalSocket, ({ query }, context) => {
      mustBeOn()
      const { cols, rows, shell, workingDir, sessionId = 'default' } = query
      const wanted = { sessionId, shell: shell || undefined, workingDir: workingDir || undefined, cols, rows }
      return new Takeover((socket, head, request) =>
        sockets.handleUpgrade(request as IncomingMessage, socket, head, client =>
          serveSocket(client, wanted, all, {
            connected: () => audit(context, 'terminal_connect', { sessionId }),
            command: command => audit(context, 'terminal_command', { sessionId, command }),
            disconnected: () => audit(context, 'terminal_disconnect', { sessionId }),
          }),
        ),
      )
    }),
  ]
}
