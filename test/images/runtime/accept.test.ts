/** What the bundle takes without the schema library is what the library makes of it, for every route. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { loader } from '../../../images/runtime/boot/loader.ts'
import { compileDaemon } from '../../../images/runtime/compile.ts'
import { toJsonSchema, type Shape } from '../../../shared/schema.ts'
import type { Route } from '../../../shared/route.ts'
import { sandboxRoutes } from '../../../shared/wire/index.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const parts = ['params', 'query', 'body'] as const

/** Stands for the library: what needs it is told apart by that. */
const withoutLibrary = `(function(exports,require,module){module.exports=new Proxy({},{get:()=>()=>{throw new Error('library')}})})`

type Found = readonly [path: string, route: Route]

/** All routes below `tree`, which groups them. */
const routesIn = (tree: object, path = ''): Found[] =>
  Object.entries(tree).flatMap(([name, value]): Found[] => {
    const at = `${path}${name}`
    return 'returns' in (value as object) || 'id' in (value as object)
      ? [[at, value as Route]]
      : routesIn(value as object, `${at}.`)
  })

const compiled = async (dir: string): Promise<ReadonlyMap<string, Route>> => {
  const info = { version: '', gitCommit: '', buildTime: '' }
  const pieces = await compileDaemon(root, 'shared/wire/index.ts', info)
  for (const [name, code] of pieces) writeFileSync(join(dir, name), name === 'shapes.js' ? withoutLibrary : code)
  return new Map(routesIn((loader(dir).load('main.js') as { sandboxRoutes: object }).sandboxRoutes))
}

const own = JSON.parse('{"__proto__":"a","b":"c"}') as object
const pool: unknown[] = [
  null,
  true,
  'a',
  '',
  'true',
  '12',
  '-1',
  'a\0',
  '\ud800',
  '{"a":1}',
  'x'.repeat(5_000),
  0,
  -1,
  1,
  8080,
  70_000,
  1.5,
  2 ** 60,
  [],
  [1, 2],
  ['a', 'b'],
  [''],
  [null],
  [{}],
  {},
  { a: 'b' },
  { 'a=': 'b' },
  { a: 1 },
  { '': 'x' },
  own,
  new Date(0),
] // prettier-ignore

type Json = Record<string, unknown>

const sampleOf = (schema: Json): unknown => {
  const { type, enum: values, anyOf, properties = {}, required = [], items } = schema
  if (Array.isArray(values)) return values[0]
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0] as Json)
  const kind = Array.isArray(type) ? (type[0] as string) : type
  if (kind === 'string') return 'abc'
  if (kind === 'integer' || kind === 'number') return Math.max(1, Number(schema['minimum'] ?? 1))
  if (kind === 'boolean') return true
  if (kind === 'array') return items === undefined ? [] : [sampleOf(items as Json)]
  const members = (required as string[]).map(key => [key, sampleOf((properties as Record<string, Json>)[key] ?? {})])
  return kind === 'object' ? Object.fromEntries(members) : 'abc'
}

/** One that is right, and the same with each member as everything else. */
const valuesFor = (shape: Shape): unknown[] => {
  const schema = toJsonSchema(shape)
  const sample = sampleOf(schema)
  const keys = Object.keys((schema['properties'] as object | undefined) ?? {})
  const base = typeof sample === 'object' && sample !== null ? sample : {}
  const varied = [...keys, 'unknown', '__proto__'].flatMap(key => [
    ...pool.map(item => Object.fromEntries([...Object.entries(base), [key, item]])),
    Object.fromEntries(Object.entries(base).filter(([name]) => name !== key)),
  ])
  return [sample, undefined, ...pool, ...varied]
}

const taken = (shape: Shape, value: unknown): { data: unknown } | undefined => {
  try {
    return { data: shape.safeParse(value).data }
  } catch (error) {
    if (error instanceof Error && error.message === 'library') return undefined
    throw error
  }
}

t.test('what is taken is what the library takes, and as it makes it', async t => {
  const bundled = await compiled(t.testdir())
  const routes = routesIn(sandboxRoutes)
  t.ok(routes.length > 30, 'all routes of the daemon')
  const shapeOf = (name: string, part: (typeof parts)[number]) => (bundled.get(name) as Route)[part] as Shape
  const counts = { right: 0, taken: 0 }
  const wrong: unknown[] = []
  for (const [name, route] of routes)
    for (const part of parts) {
      const shape = shapeOf(name, part)
      for (const value of valuesFor(route[part] as Shape)) {
        const wanted = (route[part] as Shape).safeParse(value)
        const found = taken(shape, value)
        counts.right += wanted.success ? 1 : 0
        counts.taken += found ? 1 : 0
        if (found && !(wanted.success && isDeepStrictEqual(found.data, wanted.data)))
          wrong.push([`${name}.${part}`, value, found.data, wanted.data])
      }
    }
  t.same(wrong, [])
  t.ok(counts.taken > counts.right * 0.6, `${counts.taken} of ${counts.right} need no library`)
  const command = (body: object) => taken(shapeOf('processes.start', 'body'), body)
  t.ok(command({ command: 'true', name: 'a', waitForPorts: [80], waitForCompletion: true, timeout: 1 }))
  t.notOk(command({ command: '' }), 'what is wrong is the library’s to say')
})
