/** A client of the terminal's socket. */
import { once } from 'node:events'
import type { Test } from 'tap'
import WebSocket from 'ws'

export interface Terminal {
  readonly socket: WebSocket
  readonly sent: { type: string; data: string }[]
  /** All output so far. */
  output(): string
  until(pattern: RegExp): Promise<string>
  send(message: object | string): void
}

/** Attaches; `query` begins with `?`. */
export const open = async (t: Test, url: string, query = ''): Promise<Terminal> => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/terminal/ws${query}`)
  t.teardown(() => socket.terminate())
  const sent: { type: string; data: string }[] = []
  const waiting = new Set<() => void>()
  socket.on('message', data => {
    sent.push(JSON.parse(String(data)))
    for (const look of waiting) look()
  })
  await once(socket, 'open')
  const output = () =>
    sent
      .filter(({ type }) => type === 'output')
      .map(({ data }) => data)
      .join('')
  return {
    socket,
    sent,
    output,
    until: pattern =>
      new Promise((resolve, reject) => {
        const late = setTimeout(
          () => reject(new Error(`${pattern} did not come; there was ${JSON.stringify(output())}`)),
          60_000,
        )
        const look = () => {
          if (!pattern.test(output())) return
          clearTimeout(late)
          waiting.delete(look)
          resolve(output())
        }
        waiting.add(look)
        look()
      }),
    send: message => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}

/** Types into it; Enter is `\r`. */
export const type = (terminal: Terminal, data: string) => terminal.send({ type: 'input', data })
