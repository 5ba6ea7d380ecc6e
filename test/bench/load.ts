/**
 * A client that asks one question over and over on kept connections, with as little work of its own as Node allows:
 * the same for all that are compared, and nothing to install.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Load {
  /** Asks for `ms`, each connection one question at a time. */
  run(ms: number): Promise<{ perSecond: number; samples: number[] }>
  close(): void
}

interface Line {
  ask(): Promise<void>
  socket: Socket
}

const headEnd = Buffer.from('\r\n\r\n')

/** Bytes of the whole answer that begins at the start of `seen`, or undefined while its head is not there. */
const lengthOf = (seen: Buffer): number | undefined => {
  const end = seen.indexOf(headEnd)
  if (end < 0) return undefined
  const head = seen.toString('latin1', 0, end)
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(`an answer that is none: ${seen.toString('latin1', 0, 300)}`)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  return end + headEnd.length + Number(length)
}

const dialLoopback = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

const open = async (dial: () => Promise<Socket>, question: string): Promise<Line> => {
  const socket = await dial()
  let answered = () => {}
  let failed = (_error: Error) => {}
  let seen = Buffer.alloc(0)
  socket.on('data', piece => {
    seen = seen.length === 0 ? piece : Buffer.concat([seen, piece])
    try {
      const length = lengthOf(seen)
      if (length === undefined || seen.length < length) return
      seen = Buffer.alloc(0)
      answered()
    } catch (error) {
      failed(error as Error)
    }
  })
  socket.on('error', error => failed(error))
  socket.on('close', () => failed(new Error('the connection was closed')))
  return {
    socket,
    ask: () =>
      new Promise((resolve, reject) => {
        answered = resolve
        failed = reject
        socket.write(question)
      }),
  }
}

/** Opens `connections` to a port of loopback, or as `dial` makes them. */
export const openLoad = async (options: {
  port: number
  path: string
  host?: string
  dial?: () => Promise<Socket>
  headers?: Readonly<Record<string, string>>
  connections: number
}): Promise<Load> => {
  const { port, path, headers = {}, connections, host = `127.0.0.1:${port}`, dial = () => dialLoopback(port) } = options
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`)
  const question = `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
  const all = await Promise.all(Array.from({ length: connections }, () => open(dial, question)))
  return {
    async run(ms) {
      const samples: number[] = []
      const from = performance.now()
      await Promise.all(
        all.map(async line => {
          for (let now = performance.now(); now - from < ms; ) {
            await line.ask()
            const then = performance.now()
            samples.push(then - now)
            now = then
          }
        }),
      )
      return { perSecond: (samples.length * 1000) / (performance.now() - from), samples }
    },
    close: () => {
      for (const { socket } of all) socket.destroy()
    },
  }
}
