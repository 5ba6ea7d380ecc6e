import t from 'tap'
import { decodePath } from '../../../shared/http/request.ts'
import { matcher, type Decoding } from '../../../shared/http/match.ts'
import { handle, route, type Method } from '../../../shared/route.ts'

const bound = (target: `${Method} /${string}`) => handle(route(target, { id: target, summary: '' }), () => ({}))
const routes = matcher.bind(undefined, [
  bound('GET /a'),
  bound('PUT /a'),
  bound('GET /a/:name'),
  bound('DELETE /a/:name'),
  bound('GET /a/special'),
  bound('GET /a/:name/b'),
  bound('GET /files/*path'),
  bound('GET /files/tree/*path'),
])
const found = (decoding: Decoding, target: string, method = 'GET') => {
  const match = routes(decoding).match(method, target, decodePath(target))
  return match && [match.bound.route.path, ...Object.values(match.params)]
}

t.test('literal before parameter before rest, in both decodings', async t => {
  for (const decoding of ['segments', 'whole'] as const) {
    t.same(found(decoding, '/a'), ['/a'])
    t.same(found(decoding, '/a/special'), ['/a/special'])
    t.same(found(decoding, '/a/special', 'DELETE'), ['/a/:name', 'special'], 'another method finds the parameter')
    t.same(found(decoding, '/a/x/b'), ['/a/:name/b', 'x'])
    t.same(found(decoding, '/files/tree/x'), ['/files/tree/*path', 'x'])
    t.same(found(decoding, '/files/tree'), ['/files/*path', 'tree'])
    for (const none of ['/', '', '/a/', '/A', '/a/x/c', '//a', '/b']) t.same(found(decoding, none), undefined, none)
    t.same(found(decoding, '/a', 'POST'), undefined)
  }
})

t.test('an encoded slash stays in its segment, or separates like any other', async t => {
  t.same(found('segments', '/a/x%2Fb'), ['/a/:name', 'x/b'])
  t.same(found('whole', '/a/x%2Fb'), ['/a/:name/b', 'x'])
  t.same(found('segments', '/files/x%2F..%2Fy'), ['/files/*path', 'x/../y'])
  t.same(found('whole', '/files%2Ftmp%2Fa'), ['/files/*path', 'tmp/a'])
  t.same(found('segments', '/files%2Ftmp'), undefined)
  t.same(found('whole', '/files//tmp//a'), ['/files/*path', '/tmp//a'], 'slashes that repeat are kept')
  t.same(found('whole', '/files/'), ['/files/*path', ''])
})

t.test('what cannot be decoded is itself or nothing, and decoding happens once', async t => {
  t.same(found('segments', '/a/%zz'), undefined)
  t.same(found('whole', '/a/%zz'), ['/a/:name', '%zz'])
  t.same(found('segments', '/a/%252F'), ['/a/:name', '%2F'])
  t.same(found('whole', '/a/%252F'), ['/a/:name', '%2F'])
  t.same(found('segments', '/a/%00'), ['/a/:name', '\0'], 'a handler sees it and refuses')
})

t.test('the methods of a path, and routes that contradict each other', async t => {
  t.same(routes('segments').methods('/a', '/a'), ['GET', 'PUT'])
  t.same(routes('segments').methods('/a/x', '/a/x').toSorted(), ['DELETE', 'GET'])
  t.same(routes('segments').methods('/none', '/none'), [])
  t.throws(() => matcher([bound('GET /a'), bound('GET /a')], 'whole'), /declared twice/)
  t.throws(() => matcher([bound('GET /a/*x'), bound('GET /a/*y')], 'whole'), /declared twice/)
  t.throws(() => matcher([bound('GET /a/:x'), bound('PUT /a/:y')], 'whole'), /names :y what others call :x/)
  t.throws(() => matcher([bound('GET /a/*x/b')], 'whole'), /must come last/)
})
