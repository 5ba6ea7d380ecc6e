/**
 * Rounds of everything: a large upload and download, commands, a hundred readers of one log. What the daemon holds once it
 * has come to rest must not grow from round to round. `HUTCH_BENCH_ROUNDS` makes it longer.
 */
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { measuredDaemon, type MeasuredDaemon } from './daemon.ts'
import type { Bench } from './measure.ts'
import { row, type Row } from './report.ts'

const MiB = 1024 * 1024
const megabytes = 256
const commands = 200
const readers = 100
const defaultRounds = 3

interface Held {
  readonly memory: number
  readonly descriptors: number
}

const send = async (url: string, agent: Agent, method: string, body?: string | Readable): Promise<IncomingMessage> => {
  const headers = { 'content-type': body instanceof Readable ? 'application/octet-stream' : 'application/json' }
  const asked = request(url, { method, agent, headers })
  if (body instanceof Readable) body.pipe(asked)
  else asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`${method} ${url}: ${answer.statusCode} ${await buffer(answer)}`)
  return answer
}

/** Bytes of an answer, read and dropped. */
const drain = async (answer: IncomingMessage): Promise<number> => {
  let bytes = 0
  for await (const piece of answer) bytes += (piece as Buffer).length
  return bytes
}

const round = async (daemon: MeasuredDaemon, number: number): Promise<void> => {
  // Of its own, so that its connections end with the round.
  const agent = new Agent({ keepAlive: true })
  const ask = (method: string, path: string, body?: string | Readable) =>
    send(`${daemon.url}${path}`, agent, method, body)
  try {
    const block = Buffer.alloc(MiB, 'x')
    await drain(await ask('PUT', '/filesystem/large.bin', Readable.from(Array<Buffer>(megabytes).fill(block))))
    const read = await drain(await ask('GET', '/filesystem/large.bin?download=true'))
    if (read !== megabytes * MiB) throw new Error(`${read} bytes came back`)
    const run = JSON.stringify({ command: 'echo one; echo two >&2', waitForCompletion: true })
    for (let done = 0; done < commands; done += 10)
      await Promise.all(Array.from({ length: 10 }, async () => drain(await ask('POST', '/process', run))))
    const name = `ticks-${number}`
    await drain(await ask('POST', '/process', JSON.stringify({ command: 'seq 1000; sleep 1; seq 1000', name })))
    await Promise.all(
      Array.from({ length: readers }, async () => drain(await ask('GET', `/process/${name}/logs/stream`))),
    )
  } finally {
    agent.destroy()
  }
}

export const soakBench = async (bench: Bench): Promise<Row[]> => {
  const rounds = Math.max(2, Number(process.env['HUTCH_BENCH_ROUNDS'] ?? defaultRounds))
  const daemon = await measuredDaemon(bench)
  const held: Held[] = []
  for (let number = 1; number <= rounds; number++) {
    bench.say(`round ${number} of ${rounds}`)
    await round(daemon, number)
    held.push({ memory: (await daemon.memoryAtRest()) / MiB, descriptors: daemon.descriptors() })
  }
  const [first, last] = [held[0], held.at(-1)] as [Held, Held]
  return [
    row('soak.memory-after', last.memory, 'MB'),
    // The first round loads what is loaded late.
    row('soak.memory-growth', (last.memory - first.memory) / (rounds - 1), 'MB'),
    row('soak.descriptors-growth', last.descriptors - first.descriptors, 'files'),
  ]
}
