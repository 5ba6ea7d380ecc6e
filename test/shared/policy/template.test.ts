/** What stands for a placeholder: each function, where it stays text, and secrets that are never looked at again. */
import t from 'tap'
import { fillSent, fillTemplate, newCalls, parseTemplate } from '../../../shared/policy/template.ts'

const deps = { now: () => Date.UTC(2026, 10, 25, 19, 30, 5, 7) }
const secrets = new Map([
  ['key', 'hush'],
  ['braces', '{{SECRET:key}} {{FUNC:uuid()}}'],
])
const fill = (text: string, calls = newCalls()) => fillTemplate(parseTemplate(text), 'x-it', secrets, calls, deps)

t.test('each function makes what it says', t => {
  const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  const made: Record<string, RegExp> = {
    uuid: v4,
    'UUIDv4()': v4,
    'uuidv7()': /^01a2142f-c64f-7[0-9a-f]{3}-[89ab]/,
    timestamp: /^1795635005$/,
    'timestamp_ms()': /^1795635005007$/,
    timestamp_ns: /^1795635005007\d{6}$/,
    'datetime()': /^2026-11-25T19:30:05\.007Z$/,
    iso8601: /^2026-11-25T19:30:05\.007Z$/,
    date: /^2026-11-25$/,
    time: /^19:30:05$/,
    'randint(1)': /^0$/,
    randint: /^\d{1,10}$/,
    randhex: /^[0-9a-f]{32}$/,
    'randhex(5)': /^[0-9a-f]{5}$/,
    'randhex(1024)': /^[0-9a-f]{1024}$/,
    randstr: /^[A-Za-z0-9]{16}$/,
    'RandStr(3)': /^[A-Za-z0-9]{3}$/,
    nonce: /^[0-9a-f]{32}$/,
  }
  for (const [call, wanted] of Object.entries(made)) t.match(fill(`{{FUNC:${call}}}`), wanted, call)
  t.not(fill('{{FUNC:nonce}}'), fill('{{FUNC:nonce}}'))
  const [one, other] = (fill('{{FUNC:uuid}} {{FUNC:uuid}}') as string).split(' ')
  t.not(one, other, 'each by itself')
  t.end()
})

t.test('what is none stays as it was written', t => {
  for (const call of [
    'none()',
    'randhex(0)',
    'randhex(1025)',
    'randstr(2000)',
    'randint(0)',
    'uuid(1)',
    'date(3)',
    'uuid(x)',
    '',
  ])
    t.equal(fill(`a {{FUNC:${call}}} b`), `a {{FUNC:${call}}} b`, call)
  const calls = newCalls()
  const many = fill('{{FUNC:date}} '.repeat(12), calls)
  t.equal(many, `${'2026-11-25 '.repeat(10)}${'{{FUNC:date}} '.repeat(2)}`)
  t.same(calls.made[0], { target: 'x-it', name: 'date', value: '2026-11-25' })
  t.end()
})

t.test('secrets are put in once, by their own names only', t => {
  t.equal(fill('Bearer {{SECRET:key}}/{{SECRET:key}}'), 'Bearer hush/hush')
  t.equal(fill('{{SECRET:braces}}'), '{{SECRET:key}} {{FUNC:uuid()}}', 'what is in one is no placeholder')
  t.equal(fill('{{FUNC:uuid}} {{SECRET:other}}'), undefined, 'nothing of it without a secret that it needs')
  const sent = '{{SECRET:key}} {{SECRET:other}} {{SECRET:braces}} {{FUNC:uuid()}}'
  t.equal(fillSent(sent, secrets, 'plain'), 'hush {{SECRET:other}} {{SECRET:key}} {{FUNC:uuid()}} {{FUNC:uuid()}}')
  const quoted = new Map([['key', 'a"b\\c&d']])
  t.equal(fillSent('{"x":"{{SECRET:key}}"}', quoted, 'json'), '{"x":"a\\"b\\\\c&d"}')
  t.equal(fillSent('x=%7B%7BSECRET%3Akey%7D%7D', quoted, 'form'), 'x=a%22b%5Cc%26d')
  t.end()
})
