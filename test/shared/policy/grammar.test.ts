/** Edges of the grammar of domain lists: what is malformed lets nothing out, and what forbids misses nothing. */
import t from 'tap'
import { compilePolicy } from '../../../shared/policy/decide.ts'
import { pathReadings } from '../../../shared/policy/path.ts'
import { parseEgressPolicy } from '../../../shared/policy/policy.ts'

type Lists = { allowedDomains?: string[]; forbiddenDomains?: string[]; bypass?: string[] }

/** `GET a.example/x`: whether it passes. */
const passes = (lists: Lists, request: string): boolean => {
  const [, method = '', host = '', target = ''] = /^(\S+) ([^/]+)(\/.*)$/.exec(request) ?? []
  const policy = compilePolicy(parseEgressPolicy(lists), () => undefined)
  const paths = pathReadings(target)
  return paths !== undefined && policy.forRequest(host, { methods: [method], paths: [paths] }).allowed
}

const allowing = (pattern: string) => (request: string) => passes({ allowedDomains: [pattern] }, request)

/** A pattern, what it lets through, and what not. */
const table: readonly (readonly [pattern: string, through: string[], not: string[]])[] = [
  ['a.example', ['GET a.example/', 'DELETE a.example/x?y'], ['GET b.a.example/', 'GET aa.example/', 'GET example/']],
  ['*.a.example', ['GET b.a.example/', 'GET c.b.a.example/'], ['GET a.example/', 'GET ba.example/']],
  ['*', ['PUT anything.example/', 'GET 203.0.113.9/'], []],
  ['A.Example.', ['GET a.example/'], ['GET a.example.evil/']],
  ['GET:a.example', ['GET a.example/'], ['POST a.example/', 'HEAD a.example/']],
  ['get:Head:a.example', ['GET a.example/', 'HEAD a.example/'], ['POST a.example/']],
  ['!DELETE:PUT:a.example', ['GET a.example/'], ['DELETE a.example/', 'PUT a.example/', 'GET b.example/']],
  [
    'a.example/data/',
    ['GET a.example/data/', 'GET a.example/data/x'],
    ['GET a.example/data', 'GET a.example/database'],
  ],
  ['a.example/data', ['GET a.example/data', 'GET a.example/database'], ['GET a.example/dat']],
  ['a.example/v*/x', ['GET a.example/v1/x', 'GET a.example/v/2/x/y'], ['GET a.example/v1/y', 'GET a.example/x']],
  ['a.example/', ['GET a.example/', 'GET a.example/any'], ['GET b.example/']],
  [
    'a.example/data/',
    ['GET a.example/x/../data/y', 'GET a.example/%64ata/y'],
    ['GET a.example/data/../x', 'GET a.example/data/%2e%2e/x'],
  ],
  [
    'a.example/data/',
    ['GET a.example/data/?../x'],
    [
      'GET a.example/data%2f..%2fx',
      'GET a.example/data/..%2fx',
      'GET a.example/data/..;/x',
      'GET a.example/data/%252e%252e/x',
      'GET a.example/data\\..\\x',
      'GET a.example//data/../x',
    ],
  ],
  // Malformed ones are names of hosts that nobody has.
  ['!a.example', [], ['GET a.example/', 'GET b.example/']],
  ['*a.example', [], ['GET a.example/', 'GET ba.example/']],
  ['a.*.example', [], ['GET a.b.example/', 'GET a.example/']],
  ['*.*', [], ['GET a.example/']],
  ['https://a.example', [], ['GET a.example/']],
  ['GET a.example', [], ['GET a.example/']],
  ['G(T:a.example', [], ['GET a.example/']],
  ['*.203.0.113.9', [], ['GET 203.0.113.9/', 'GET 1.203.0.113.9/']],
  ['', [], ['GET a.example/']],
]

t.test('each pattern lets through what it says', async t => {
  for (const [pattern, through, not] of table) {
    const pass = allowing(pattern)
    for (const request of through) t.equal(pass(request), true, `"${pattern}" lets ${request} through`)
    for (const request of not) t.equal(pass(request), false, `"${pattern}" does not let ${request} through`)
  }
})

t.test('what is forbidden wins, in every reading', async t => {
  const lists = {
    allowedDomains: ['*.a.example', 'a.example'],
    forbiddenDomains: ['b.a.example', 'POST:a.example/admin'],
  }
  t.same(
    ['GET c.a.example/', 'GET b.a.example/', 'GET a.example/admin', 'POST a.example/x'].map(one => passes(lists, one)),
    [true, false, true, true],
  )
  for (const path of ['/admin', '/%61dmin', '/x/../admin', '//admin', '/%2561dmin', '/x/..;/admin'])
    t.equal(passes(lists, `POST a.example${path}`), false, path)
  t.equal(
    passes({ forbiddenDomains: ['a.example'], bypass: ['a.example'] }, 'GET a.example/'),
    false,
    'also over bypass',
  )
  t.equal(
    passes({ forbiddenDomains: ['a.example:443'] }, 'GET a.example/'),
    false,
    'also where it was written with a port',
  )
  t.equal(passes({ allowedDomains: ['b.example'], bypass: ['.a.example'] }, 'GET c.a.example/'), true)
  t.equal(
    passes({ allowedDomains: [], forbiddenDomains: ['b.example'] }, 'GET a.example/'),
    true,
    'an empty list allows',
  )
})
