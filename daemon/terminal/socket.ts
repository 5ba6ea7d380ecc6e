/** One WebSocket that shows a session. */
import type { WebSocket } from 'ws'
import { messageOf } from '../../shared/errors.ts'
import type { SessionRequest } from './session.ts'
import type { Attachment, Sessions } from './sessions.ts'
import { createCommandReader } from './typed-commands.ts'

/** A client with more unread bytes gets nothing until it has read them: 64 chunks of 4 KiB. */
const maxBufferedBytes = 64 * 4096
const caughtUp = maxBufferedBytes / 4

type Message = { type: 'input'; data: string } | { type: 'resize'; cols: number; rows: number }

const size = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65_535

/** A message of any other type is ignored. */
const parseMessage = (text: string): Message | undefined => {
  let message: { type?: unknown; data?: unknown; cols?: unknown; rows?: unknown } | null
  try {
    message = JSON.parse(text)
  } catch {
    // Frames that are not JSON are ignored, as the API says.
    return undefined
  }
  if (message?.type === 'input' && typeof message.data === 'string') return { type: 'input', data: message.data }
  if (message?.type === 'resize' && size(message.cols) && size(message.rows))
    return { type: 'resize', cols: message.cols, rows: message.rows }
  return undefined
}

interface Watcher {
  connected(): void
  command(text: string): void
  disconnected(): void
}

type Send = (type: 'output' | 'error', data: string, sent?: () => void) => void

/**
 * Sends output to a client, no faster than it reads. Output that it missed comes from the replay; where the replay no
 * longer has it, a line says how much is missing. `finish` sends the rest at once; call nothing after it.
 */
const createOutput = (socket: WebSocket, send: Send, shown: () => Attachment['shown']) => {
  let missedFrom: number | undefined
  const finish = () => {
    if (missedFrom === undefined) return
    const { lost, text } = shown().since(missedFrom)
    missedFrom = undefined
    if (lost > 0) send('output', `\x1b[0m\r\n[... ${lost} characters not shown: this client reads too slowly]\r\n`)
    send('output', text, sent)
  }
  const sent = () => {
    if (socket.bufferedAmount <= caughtUp) finish()
  }
  const output = (text: string) => {
    if (missedFrom !== undefined) return
    if (socket.bufferedAmount <= maxBufferedBytes) send('output', text, sent)
    else missedFrom = shown().end - text.length
  }
  return { output, finish }
}

export const serveSocket = (socket: WebSocket, wanted: SessionRequest, sessions: Sessions, watcher: Watcher): void => {
  const send: Send = (type, data, sent) => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ type, data }), sent)
  }
  let attachment: Attachment
  try {
    const { output, finish } = createOutput(socket, send, () => attachment.shown)
    const ended = () => {
      finish()
      socket.close(1000, 'the shell ended')
    }
    attachment = sessions.attach(wanted, { output, ended })
  } catch (error) {
    send('error', `cannot start the terminal: ${messageOf(error)}`)
    socket.close(1011, 'no terminal')
    return
  }
  watcher.connected()
  const commands = createCommandReader()
  socket.on('message', (data, isBinary) => {
    const message = isBinary ? undefined : parseMessage(String(data))
    if (message?.type === 'resize') attachment.resize(message.cols, message.rows)
    if (message?.type !== 'input') return
    if (!attachment.input(message.data)) return socket.close(1013, 'the program does not read its input')
    for (const command of commands.feed(message.data)) watcher.command(command)
  })
  socket.once('close', () => {
    attachment.detach()
    watcher.disconnected()
  })
  // The event 'close' follows an error and is handled.
  socket.on('error', () => {})
}
