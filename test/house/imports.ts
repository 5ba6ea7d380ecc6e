/** Who may import whom, and what may be reached for only in one place. */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { arrowsOf, readList, roomOf, type Line } from './arrows.ts'
import { againstTheGrain } from './exceptions.ts'
import { ambient, moduleHomes, packageHomes, notImported } from './homes.ts'
import { root, type Source } from './sources.ts'

const within = (file: string, homes: readonly string[]): boolean =>
  homes.some(home => file === home || file.startsWith(`${home}/`))

/** `zod/mini` is of `zod`, `@a/b/c` of `@a/b`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

const pairs = (lines: readonly Line[], tree: string): Set<string> => {
  const found = new Set<string>()
  for (const { place, may } of lines.filter(({ place }) => place.startsWith(`${tree}/`)))
    for (const [to, where] of may)
      if (where === 'above' && roomOf(to) !== roomOf(place)) found.add(`${roomOf(place)} -> ${roomOf(to)}`)
  return found
}

const listIsTrue = (t: Test, sources: readonly Source[]): void => {
  const arrows = arrowsOf(sources)
  const lines = readList()
  const order = lines.map(({ place }) => place)
  t.same(
    [...arrows.keys()].filter(place => !order.includes(place)),
    [],
    'every place has its line in imports.list',
  )
  t.same(
    order.filter((place, at) => !arrows.has(place) || order.indexOf(place) !== at),
    [],
    'every line has its place',
  )
  for (const { place, may } of lines) {
    const does = arrows.get(place) ?? new Map<string, string>()
    const reasons = [...does].filter(([to]) => !may.has(to)).map(([, reason]) => reason)
    t.same(reasons, [], `${place} imports what imports.list says, and nothing else`)
    t.same(
      [...may.keys()].filter(to => !does.has(to)),
      [],
      `what imports.list lets ${place} import is imported`,
    )
    const wrong = [...may].filter(([to, where]) => {
      const above = order.indexOf(to) > order.indexOf(place) && roomOf(to) !== roomOf(place)
      return above !== (where === 'above')
    })
    t.same(wrong, [], `${place}: what stands below its line, and only that, has a mark`)
  }
  for (const tree of ['shared', 'daemon', 'control', 'images']) {
    const found = pairs(lines, tree)
    const most = againstTheGrain[tree] ?? 0
    t.equal(
      found.size,
      most,
      `${tree}: ${most} arrows against the grain (${[...found].join(', ')}); fewer is a change of exceptions.ts`,
    )
  }
}

const packagesAtHome = (t: Test, sources: readonly Source[]): void => {
  const used = new Map<string, Set<string>>()
  const shipped = new Set<string>()
  for (const { file, imports } of sources)
    for (const { specifier, typeOnly } of imports) {
      if (/^(\.|node:)/.test(specifier)) continue
      const name = packageOf(specifier)
      const homes = packageHomes[name]
      if (!typeOnly && within(file, ['control', 'shared'])) shipped.add(name)
      t.ok(homes && within(file, homes), `${file} may import ${name}`)
      for (const home of homes ?? []) if (within(file, [home])) used.set(name, (used.get(name) ?? new Set()).add(home))
    }
  for (const [name, homes] of Object.entries(packageHomes))
    t.same(
      homes.filter(home => !used.get(name)?.has(home)),
      [],
      `${name} is imported in each of its homes`,
    )
  const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { dependencies: object }
  const idle = Object.keys(dependencies).filter(name => !used.has(name) && !notImported.includes(name))
  t.same(idle, [], 'every dependency is used')
  const missing = [...shipped].filter(name => !Object.hasOwn(dependencies, name))
  t.same(missing, [], 'what the package imports is installed with it')
}

const modulesAtHome = (t: Test, sources: readonly Source[]): void => {
  for (const [name, homes] of Object.entries(moduleHomes)) {
    const users = sources
      .filter(({ imports }) => imports.some(({ specifier, typeOnly }) => specifier === name && !typeOnly))
      .map(({ file }) => file)
    t.same(
      users.filter(file => !within(file, homes)),
      [],
      `${name} is imported at home`,
    )
    t.same(
      homes.filter(home => !users.some(file => within(file, [home]))),
      [],
      `${name} is imported in each of its homes`,
    )
  }
}

const reachesFor = ({ members, madeEmpty }: Source, what: string): boolean =>
  what === 'new Date()'
    ? madeEmpty.has('Date')
    : what === 'console'
      ? [...members].some(name => name.startsWith('console.'))
      : members.has(what)

const surroundingsAtHome = (t: Test, sources: readonly Source[]): void => {
  for (const [what, homes] of Object.entries(ambient)) {
    const users = sources.filter(source => reachesFor(source, what)).map(({ file }) => file)
    t.same(
      users.filter(file => !within(file, homes)),
      [],
      `${what} is read at home`,
    )
    t.same(
      homes.filter(home => !users.some(file => within(file, [home]))),
      [],
      `${what} is read in each of its homes`,
    )
  }
}

export const importRules = async (t: Test, sources: readonly Source[]): Promise<void> => {
  await t.test('every folder imports what its line allows', async t => listIsTrue(t, sources))
  await t.test('a package is imported at home', async t => packagesAtHome(t, sources))
  await t.test('what reaches out of the process is imported at home', async t => modulesAtHome(t, sources))
  await t.test('time, chance, environment and console are passed in', async t => surroundingsAtHome(t, sources))
}
