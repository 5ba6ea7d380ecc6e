/**
 * Every operation of the management API, called over a real socket in one walk: what it answers, and how it refuses. The list of operations is
 * that of `contract-operations.ts`; one that the walk leaves out fails the test.
 */
import t from 'tap'
import { listen } from '../../shared/http/listen.ts'
import { serve } from '../../shared/http/server.ts'
import { silentLog } from '../../shared/log.ts'
import { operations } from '../control/server/api/contract-operations.ts'
import { control, type ControlOptions } from '../support/control.ts'
import { held } from '../support/held.ts'
import { end, network, shipped } from './management/network.ts'
import { people } from './management/people.ts'
import { sandboxes, storage } from './management/sandboxes.ts'
import { places, type Step } from './management/step.ts'
import { workloads } from './management/workloads.ts'

const steps: readonly Step[] = [...people, ...workloads, ...sandboxes, ...storage, ...network, ...shipped, ...end]

const memberOf = (body: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], body)

/** The API behind a socket of loopback, and how to ask it; every answer is held to its document. */
const served = async (t: Parameters<typeof control>[0], options: ControlOptions) => {
  const made = await control(t, options)
  await made.addWorkspace('theirs', 'rival')
  const { port, close } = await listen(serve(made.api, { log: silentLog }), { port: 0, host: '127.0.0.1' })
  t.teardown(() => close(100))
  const url = `http://127.0.0.1:${port}`
  const problemOf = await held(url)
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/v0${path}`, {
      method,
      headers: {
        authorization: `Bearer ${made.key}`,
        'svc-version': '2026-04-28',
        'x-svc-workspace': 'default',
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined || method === 'GET' ? {} : { body: JSON.stringify(body) }),
    })
    const got = { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
    t.equal(problemOf(method, `/v0${path}`, got), undefined, `${method} ${path} is as documented`)
    return got
  }
  const keyOf = (role: 'admin' | 'member') => made.addKey({ account: 'rival', workspace: 'theirs', role })
  return { ...made, ask, keys: { rival: await keyOf('admin'), rivalMember: await keyOf('member') } }
}

/** Fills the names of a path. */
const filled = (path: string, ...from: readonly Readonly<Record<string, string>>[]): string => {
  const valueOf = (name: string): string => from.find(one => name in one)?.[name] ?? name
  const kept = from.at(-2) ?? {}
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(valueOf(name).replace(/^\{(\w+)\}$/, (_, other: string) => kept[other] ?? other)),
  )
}

t.test('the walk', async t => {
  const txtRecords = new Map<string, string[]>()
  const { ask, keys } = await served(t, {
    txtRecords,
    egressAddresses: ['203.0.113.1'],
    providers: ['http://127.0.0.1:1'],
  })
  const kept: Record<string, string> = {}
  for (const {
    operation,
    query = '',
    body,
    version,
    as,
    at = {},
    status = 200,
    like,
    headers,
    without,
    keep,
  } of steps) {
    const [method = '', template = ''] = operation.split(' ')
    const path = filled(template, at, kept, places)
    const answer = await ask(method, `${path}${query}`, body, {
      ...(version ? { 'svc-version': version } : {}),
      ...(as ? { authorization: `Bearer ${keys[as]}`, 'x-svc-workspace': 'theirs' } : {}),
    })
    const said = `${method} ${path}${query} → ${status}`
    const parsed: unknown = answer.text === '' ? '' : JSON.parse(answer.text)
    t.equal(answer.status, status, `${said}: ${answer.text.slice(0, 300)}`)
    if (answer.text) t.match(answer.headers['content-type'], /^application\/json/, said)
    if (headers) t.match(answer.headers, headers, said)
    if (typeof like === 'string') t.equal(answer.text, like, said)
    else if (like) t.match(parsed, like, `${said}: ${answer.text.slice(0, 500)}`)
    for (const member of without ?? []) t.equal(memberOf(parsed, member), undefined, `${said} without ${member}`)
    if (keep) kept[keep[1]] = String(memberOf(parsed, keep[0]))
    const records = (parsed as { spec?: { txtRecords?: Record<string, string> } }).spec?.txtRecords ?? {}
    for (const [name, value] of Object.entries(records)) txtRecords.set(name, [value])
  }
})

t.test('every operation is in the walk, and nothing else', async t => {
  const walked = new Set(steps.map(({ operation }) => operation))
  const wanted = operations.map(({ method, path }) => `${method} ${path}`)
  t.same(
    wanted.filter(one => !walked.has(one)),
    [],
    'left out',
  )
  t.same(
    [...walked].filter(one => !wanted.includes(one)),
    [],
    'not of the contract',
  )
})

/** What every body needs, so that only the missing name is wrong. */
const whole = { metadata: { name: 'nobody' }, spec: {}, role: 'member', targetWorkspace: 'nobody', name: 'nobody' }

/** Makes it when it is not there. */
const noMissing = new Set(['PUT /volume_templates/{volumeTemplateName}'])

t.test('every operation refuses who may not, a version that is none, and what is not there', async t => {
  const { ask, addKey } = await served(t, {})
  const nobody = { authorization: `Bearer ${await addKey({ scopes: [] })}` }
  for (const { method, path, scopes } of operations) {
    const name = `${method} ${path}`
    const at = filled(path, places)
    const parse = ({ text }: { text: string }) => JSON.parse(text) as object
    if (!scopes.includes('public')) {
      const anonymous = await ask(method, at, {}, { authorization: '' })
      t.match(anonymous, { status: 401, headers: { 'www-authenticate': /^Bearer/ } }, `${name} without a credential`)
      t.match(parse(anonymous), { error: /^unauthenticated$/i, code: 401, message: String }, name)
      const denied = await ask(method, at, {}, nobody)
      t.match(
        [denied.status, parse(denied)],
        [403, { error: String, code: 403, message: String }],
        `${name} without scopes`,
      )
    }
    const odd = await ask(method, at, {}, { 'svc-version': '2026-04-20' })
    t.match(
      [odd.status, parse(odd)],
      [400, { error: 'invalid_api_version', message: /2026-04-20.*2026-04-16, 2026-04-28/ }],
      name,
    )
    if (!path.includes('{') || noMissing.has(name)) continue
    const missing = await ask(
      method,
      filled(path).replaceAll(/\{?\w*\}?(Name|Id|OrEmail|Key|Type|Workspace)\b/g, 'nobody'),
      whole,
    )
    t.match(
      [missing.status, parse(missing)],
      [404, { error: String, code: 404, message: String }],
      `${name} of nobody: ${missing.text.slice(0, 200)}`,
    )
  }
})
