/** Whatever is sent to whichever route, the caller hears what was wrong with it and never that the daemon broke. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Answer } from '../../shared/http/call.ts'
import type { Route } from '../../shared/route.ts'
import { toJsonSchema } from '../../shared/schema.ts'
import { daemon } from '../support/daemon.ts'

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

const bodies = [
  '',
  ' ',
  '{',
  'null',
  '[]',
  '7',
  '"text"',
  'true',
  '{}',
  '{"__proto__":{"a":1},"constructor":7}',
  '\0',
  Buffer.from([0xff, 0xfe, 0xfd]),
  deep(50_000),
]
const values: unknown[] = [
  null,
  7,
  -1,
  1e308,
  true,
  [],
  {},
  '',
  '\0',
  '../..',
  'x'.repeat(100_000),
  ['\0'],
  { '\0': '\0' },
]
const queries = [
  '',
  '\0',
  '-1',
  '1e400',
  '99999999999999999999',
  '../..',
  '(',
  '[',
  '%',
  'x'.repeat(70_000),
  '🙂',
  'NaN',
]

/** Nobody foresaw it: the contract's own 500s have a text of their own. */
const broke = ({ status, text }: Answer): boolean => status >= 500 && (text === '' || text.includes('internal error'))

const quiet = (route: Route): boolean => route.method !== 'HEAD' && !route.upgrade

/** The address of a route: a rest means a place below `dir`, so that nothing else can be touched. */
const addressOf = (route: Route, dir: string, segment: string): string =>
  route.path.replace(/\*\w+/, encodeURIComponent(join(dir, 'below'))).replace(/:\w+/g, segment)

t.test('bodies', async t => {
  const { call, dir, daemon: made } = await daemon(t)
  mkdirSync(join(dir, 'below'))
  let asked = 0
  for (const { route } of made.bounds) {
    if (!quiet(route) || route.accepts !== 'json') continue
    const fields = Object.keys((toJsonSchema(route.body)['properties'] ?? {}) as object)
    const all = [...bodies, ...fields.flatMap(field => values.map(value => JSON.stringify({ [field]: value })))]
    for (const body of all) {
      const answer = await call(route.method, addressOf(route, dir, '1073741824'), { body })
      asked++
      if (broke(answer))
        t.fail(`${route.method} ${route.path} ${String(body).slice(0, 60)}: ${answer.text.slice(0, 100)}`)
    }
  }
  t.ok(asked > 20, `${asked} asked`)
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('queries', async t => {
  const { call, dir, daemon: made } = await daemon(t)
  mkdirSync(join(dir, 'below'))
  let asked = 0
  for (const { route } of made.bounds) {
    // Those that answer something else than JSON may answer for ever.
    if (!quiet(route) || route.method !== 'GET' || route.produces.length > 0) continue
    for (const key of Object.keys((toJsonSchema(route.query)['properties'] ?? {}) as object))
      for (const value of queries) {
        const target = `${addressOf(route, dir, '1073741824')}?${key}=${encodeURIComponent(value)}`
        const answer = await call('GET', target)
        asked++
        if (broke(answer)) t.fail(`${target.slice(0, 120)}: ${answer.text.slice(0, 100)}`)
      }
  }
  t.ok(asked > 20, `${asked} asked`)
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('addresses', async t => {
  const { call, daemon: made } = await daemon(t)
  const segments = [
    '%00',
    '%ff',
    '..',
    '%2e%2e',
    '99999999999999999999',
    '-1',
    'a%2Fb',
    'x'.repeat(5_000),
    '%F0%9F%99%82',
  ]
  let asked = 0
  for (const { route } of made.bounds) {
    if (!quiet(route) || !route.path.includes(':')) continue
    for (const segment of segments) {
      const target = route.path.replace(/:\w+/g, segment)
      const answer = await call(route.method, target, { body: '{}' })
      asked++
      if (broke(answer)) t.fail(`${route.method} ${target.slice(0, 80)}: ${answer.text.slice(0, 100)}`)
    }
  }
  t.ok(asked > 20, `${asked} asked`)
  t.equal((await call('GET', '/health')).status, 200)
})
