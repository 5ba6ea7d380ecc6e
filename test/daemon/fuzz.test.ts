/**
 * Random input from a fixed seed: bytes, mutated requests, headers, and for every field of every declared route values of any
 * type. Nothing is a failure of the daemon's own, nothing hangs, and an error names the field. What is asked for here
 * changes nothing when it is understood after all, so that no mutation can harm the machine.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Route } from '../../shared/route.ts'
import { toJsonSchema, type Shape } from '../../shared/schema.ts'
import { daemon, daemonServer } from '../support/daemon.ts'
import { broke } from '../support/garbage.ts'
import { random, type Random } from '../support/random.ts'

const nobody = '1073741824'
const limitMs = 60_000

/** Sends all, ends its side, and answers what came until the other side has ended; throws when it does not. */
const exchange = async (port: number, bytes: Uint8Array): Promise<string> => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  socket.on('data', piece => (text += piece.toString('latin1')))
  socket.on('error', () => {
    // A reset is one of the answers.
  })
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(limitMs) })
  socket.once('end', () => socket.end())
  socket.end(bytes)
  await closed
  return text
}

/** One to three changes anywhere: a byte, a few bytes more, a piece less or twice. */
const mutated = (source: Buffer, chance: Random): Buffer => {
  let bytes = source
  for (let changes = 1 + chance.below(3); changes > 0; changes--) {
    const at = chance.below(bytes.length)
    const to = at + chance.below(Math.min(20, bytes.length - at))
    const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)]
    const other = [
      () => Buffer.concat([before, chance.bytes(1), bytes.subarray(at + 1)]),
      () => Buffer.concat([before, chance.bytes(1 + chance.below(8)), bytes.subarray(at)]),
      () => Buffer.concat([before, after]),
      () => Buffer.concat([before, piece, piece, after]),
    ]
    bytes = chance.pick(other)()
    if (bytes.length === 0) return source
  }
  return bytes
}

const requestOf = (line: string, headers: readonly string[] = [], body = ''): Buffer =>
  Buffer.from([`${line} HTTP/1.1`, 'Host: x', ...headers, '', body].join('\r\n'), 'latin1')

/** Nothing of these runs a command or deletes a file, whatever single bytes become. */
const harmless = [
  requestOf('GET /health', ['X-Request-Id: a', 'Connection: close']),
  requestOf('OPTIONS /filesystem/a', ['Origin: http://x', 'Access-Control-Request-Method: PUT']),
  requestOf('HEAD /process/1', ['Accept: */*']),
  requestOf(`GET /network/process/${nobody}/ports`, ['Content-Length: 2'], '{}'),
  requestOf(`POST /network/process/${nobody}/monitor`, ['Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\nX: y\r\n\r\n'),
  requestOf('GET /filesystem-find/none?maxResults=3&patterns=*.txt', ['Range: bytes=0-1']),
  requestOf('GET /filesystem/a%2Fb?download=true', ['If-None-Match: "x"', 'Range: bytes=1-2,4-']),
  requestOf('GET /terminal/wz', ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']),
  requestOf('POST /filesystem-multipart/none/complete', ['Content-Length: 12'], '{"parts":[]}'),
  requestOf('POST /mcp', ['Content-Type: application/json', 'Accept: application/json', 'Content-Length: 2'], '[]'),
]

const wrongWith = (answer: string): string | undefined => {
  for (const [, status = ''] of answer.matchAll(/^HTTP\/1\.1 (\d+)/gm))
    if (Number(status) >= 500 && !/"error":"(?!internal error)/.test(answer)) return `answered ${status}`
  return answer === '' || answer.startsWith('HTTP/1.1 ') ? undefined : 'no HTTP'
}

t.test('bytes, mutated requests and odd headers', async t => {
  const { port, call } = await daemonServer(t)
  const chance = random(1)
  const inputs: Buffer[] = []
  for (let i = 0; i < 150; i++) inputs.push(chance.bytes(1 + chance.below(400)))
  for (let i = 0; i < 700; i++) inputs.push(mutated(chance.pick(harmless), chance))
  for (let i = 0; i < 150; i++) {
    const name = chance.pick([
      'Content-Length',
      'Transfer-Encoding',
      'Expect',
      'Range',
      'Accept',
      'Host',
      'Connection',
      'Upgrade',
    ])
    inputs.push(requestOf('GET /health', [`${name}: ${Buffer.from(chance.text()).toString('latin1')}`]))
  }
  const wrong: string[] = []
  for (let i = 0; i < inputs.length; i += 20)
    await Promise.all(
      inputs.slice(i, i + 20).map(async input => {
        const found = wrongWith(await exchange(port, input).catch(error => String(error)))
        if (found) wrong.push(`${found}: ${JSON.stringify(input.toString('latin1'))}`)
      }),
    )
  t.same(wrong, [])
  t.equal((await call('GET', '/health')).status, 200)
})

const addressOf = ({ path }: Route): string => path.replace(/[:*]\w+/g, nobody)

/** The fields of a shape, those within objects too, each with its way. */
const fieldsOf = (schema: Record<string, unknown>): string[][] => {
  const options = [schema, ...((schema['anyOf'] ?? []) as Record<string, unknown>[])]
  return options.flatMap(option =>
    Object.entries((option['properties'] ?? {}) as Record<string, Record<string, unknown>>).flatMap(([name, inner]) => [
      [name],
      ...fieldsOf(inner).map(way => [name, ...way]),
    ]),
  )
}

const nested = ([name = '', ...rest]: readonly string[], value: unknown): unknown => ({
  [name]: rest.length === 0 ? value : nested(rest, value),
})

/** The field that is named first, or undefined when the shape takes the value: then it is not sent. */
const firstWrong = (shape: Shape, value: unknown): string | undefined => {
  const result = shape.safeParse(value)
  return result.success ? undefined : (result.error.issues[0]?.path.map(String).join('.') ?? '')
}

t.test('a value of any type for every field of every body: 400 that names it', async t => {
  const { call, daemon: made } = await daemon(t)
  const chance = random(2)
  let asked = 0
  for (const { route } of made.bounds) {
    if (route.accepts !== 'json') continue
    for (const way of fieldsOf(toJsonSchema(route.body)))
      for (let i = 0; i < 25; i++) {
        const body = nested(way, chance.json())
        const field = firstWrong(route.body, JSON.parse(JSON.stringify(body)))
        if (field === undefined) continue
        const answer = await call(route.method, addressOf(route), { body })
        asked++
        const named = answer.status === 400 && String(answer.body?.error).includes(field)
        if (!named) t.fail(`${route.id} ${JSON.stringify(body)}: ${answer.status} ${answer.text}, not ${field}`)
      }
  }
  t.ok(asked > 300, `${asked} asked`)
})

t.test('any text for every field of every query: refused with its name, or taken', async t => {
  const { call, daemon: made } = await daemon(t)
  const chance = random(3)
  let asked = 0
  for (const { route } of made.bounds) {
    // Others answer with a stream, or do something when they understand.
    if (route.method !== 'GET' || route.produces.length > 0 || route.upgrade) continue
    for (const [name = ''] of fieldsOf(toJsonSchema(route.query)))
      for (let i = 0; i < 25; i++) {
        const text = Buffer.from(chance.text()).toString()
        const query = `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
        const answer = await call(route.method, `${addressOf(route)}?${query}`)
        asked++
        if (broke(answer)) t.fail(`${route.id}?${query}: ${answer.status} ${answer.text}`)
        const field = firstWrong(route.query, { [name]: text })
        if (field && (answer.status !== 400 || !answer.body.error.includes(field)))
          t.fail(`${route.id}?${query}: ${answer.status} ${answer.text}, not ${field}`)
      }
  }
  t.ok(asked > 200, `${asked} asked`)
})
