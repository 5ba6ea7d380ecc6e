import t from 'tap'
import { targetOf } from '../../../../shared/http/client/target.ts'
import { matcher, type Decoding } from '../../../../shared/http/match.ts'
import { decodePath } from '../../../../shared/http/request.ts'
import { handle, route } from '../../../../shared/route.ts'
import { s } from '../../../../shared/schema.ts'
import * as filesystem from '../../../../shared/wire/filesystem.ts'
import { textOf } from '../../../../shared/utf8.ts'

const item = route('GET /boxes/:box/items/:item', {
  id: 'item',
  summary: '',
  params: s.object({ box: s.string(), item: s.string() }),
})
const file = route('GET /files/*path', { id: 'file', summary: '', params: s.object({ path: s.string() }) })

/** What a server that decodes so makes of the address. */
const understood = (decoding: Decoding, target: string) => {
  const path = target.split('?')[0] as string
  const bounds = [handle(item, () => undefined), handle(file, () => undefined)]
  return matcher(bounds, decoding).match('GET', path, decodePath(path))?.params
}

const names = [
  'a',
  'a b',
  '100%',
  '%2F',
  '%41',
  'ä€😀',
  'a?b#c',
  'a+b',
  '..',
  '"',
  '\\',
  textOf(Buffer.from([0xff, 0x61])),
]

t.test('every parameter arrives as it was given, however the API decodes', async t => {
  for (const decoding of ['segments', 'whole'] as const)
    for (const name of names) {
      const target = targetOf(item, { params: { box: name, item: 'x' } }, decoding)
      // Bytes that are no UTF-8 are something only the per-sandbox API has names for.
      if (decoding === 'segments' && !name.isWellFormed()) continue
      t.same(understood(decoding, target), { box: name, item: 'x' }, target)
    }
  const slash = targetOf(item, { params: { box: 'a/b', item: 'x' } }, 'segments')
  t.same(understood('segments', slash), { box: 'a/b', item: 'x' }, slash)
})

t.test('the rest of a path arrives, absolute ones with an upper-case %2F, relative ones without', async t => {
  for (const name of names) {
    const relative = targetOf(file, { params: { path: `src/${name}` } }, 'whole')
    t.notMatch(relative.replaceAll('%252F', ''), '%2F', relative)
    t.same(understood('whole', relative), { path: `src/${name}` })
    const absolute = targetOf(file, { params: { path: `/src/${name}` } }, 'whole')
    t.match(absolute, /^\/files\/%2Fsrc%2F/)
    t.same(understood('whole', absolute), { path: `/src/${name}` })
    if (name.isWellFormed())
      t.same(understood('segments', targetOf(file, { params: { path: `a/${name}` } }, 'segments')), {
        path: `a/${name}`,
      })
  }
  t.equal(targetOf(file, { params: { path: '' } }, 'whole'), '/files/')
})

t.test('a relative path is never taken for another route', async t => {
  const routes = Object.values(filesystem).filter(value => 'method' in value && 'path' in value)
  const { match } = matcher(
    routes.map(declared => handle(declared as typeof file, () => undefined)),
    'whole',
  )
  for (const declared of routes.filter(({ path }) => path.includes('*')))
    for (const first of ['tree', 'find', 'a', '.', '..', '~', 'filesystem']) {
      const target = targetOf(declared, { params: { path: `${first}/b` } }, 'whole')
      t.equal(match(declared.method, target, decodePath(target))?.bound.route.id, declared.id, target)
    }
})

t.test('a query is text; what is undefined or null is left out', async t => {
  const target = targetOf(
    file,
    { params: { path: 'a' }, query: { q: 'a&b=c', n: 5, yes: true, no: undefined, nil: null } },
    'whole',
  )
  t.equal(target, '/files/a?q=a%26b%3Dc&n=5&yes=true')
})

t.test('what no address can carry is refused by its name', async t => {
  const refused = (field: string, make: () => string) =>
    t.throws(make, { code: 'invalid_argument', details: { field } })
  refused('box', () => targetOf(item, { params: { item: 'x' } }, 'segments'))
  refused('item', () => targetOf(item, { params: { box: 'x', item: '' } }, 'segments'))
  refused('item', () => targetOf(item, { params: { box: 'x', item: 'a/b' } }, 'whole'))
  refused('item', () => targetOf(item, { params: { box: 'x', item: {} } }, 'whole'))
  refused('path', () => targetOf(file, {}, 'whole'))
  refused('path', () => targetOf(file, { params: { path: 'a\0' } }, 'whole'))
  refused('q', () => targetOf(file, { params: { path: 'a' }, query: { q: ['a'] } }, 'whole'))
})
