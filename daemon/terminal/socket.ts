/** One WebSocket looking at a session. */
import type { WebSocket } from 'ws'
import { messageOf } from '../../shared/errors.ts'
import type { Attach, Attachment, Sessions } from './sessions.ts'
import { typed } from './typed.ts'

/** A client this far behind loses output instead of holding it in memory: 64 chunks of 4 KiB. */
const mostBehind = 64 * 4096

type Message = { type: 'input'; data: string } | { type: 'resize'; cols: number; rows: number }

const size = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65_535

/** Anything that is not one of the two messages is ignored. */
const parseMessage = (text: string): Message | undefined => {
  let message: { type?: unknown; data?: unknown; cols?: unknown; rows?: unknown } | null
  try {
    message = JSON.parse(text)
  } catch {
    // The contract: frames that are not JSON are ignored.
    return undefined
  }
  if (message?.type === 'input' && typeof message.data === 'string') return { type: 'input', data: message.data }
  if (message?.type === 'resize' && size(message.cols) && size(message.rows))
    return { type: 'resize', cols: message.cols, rows: message.rows }
  return undefined
}

export interface Watcher {
  connected(): void
  command(text: string): void
  disconnected(): void
}

export const serveSocket = (socket: WebSocket, wanted: Attach, sessions: Sessions, watcher: Watcher): void => {
  const send = (type: 'output' | 'error', data: string) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount <= mostBehind)
      socket.send(JSON.stringify({ type, data }))
  }
  let attachment: Attachment
  try {
    attachment = sessions.attach(wanted, {
      output: text => send('output', text),
      ended: () => socket.close(1000, 'the shell ended'),
    })
  } catch (error) {
    send('error', `cannot start the terminal: ${messageOf(error)}`)
    socket.close(1011, 'no terminal')
    return
  }
  watcher.connected()
  const commands = typed()
  socket.on('message', (data, isBinary) => {
    const message = isBinary ? undefined : parseMessage(String(data))
    if (message?.type === 'resize') attachment.resize(message.cols, message.rows)
    if (message?.type !== 'input') return
    attachment.input(message.data)
    for (const command of commands.feed(message.data)) watcher.command(command)
  })
  socket.once('close', () => {
    attachment.detach()
    watcher.disconnected()
  })
  // A broken frame closes the socket; its 'close' does the rest.
  socket.on('error', () => {})
}
