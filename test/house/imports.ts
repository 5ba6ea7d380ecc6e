/** Who may import whom, and what may be reached for only in one place. */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { ambient, moduleHomes, packageHomes, notImported } from './homes.ts'
import { roomOf, rooms } from './rooms.ts'
import { root, type Source } from './sources.ts'

const within = (file: string, homes: readonly string[]): boolean =>
  homes.some(home => file === home || file.startsWith(`${home}/`))

/** `zod/mini` is of `zod`, `@a/b/c` of `@a/b`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/** Whether the room `from` lists `to`, by its own name or by that of the tree it is in. */
const lists = (from: string, to: string): boolean =>
  (rooms[from] ?? []).some(name => name === to || (name === 'control' && to.startsWith('control/')))

const roomsAreKept = (t: Test, sources: readonly Source[]): void => {
  const order = Object.keys(rooms)
  for (const [room, may] of Object.entries(rooms)) {
    const later = may.filter(name => name !== 'control' && !(order.indexOf(name) < order.indexOf(room)))
    t.same(later, [], `${room} names only rooms above it`)
  }
  const used = new Set<string>()
  const wrong: string[] = []
  for (const { file, imports } of sources) {
    const from = roomOf(file)
    if (from === undefined) wrong.push(`${file} is in no room`)
    for (const { target } of imports) {
      const to = target && roomOf(target)
      if (from === undefined || !to || to === from) continue
      used.add(`${from}: ${to}`)
      if (!lists(from, to)) wrong.push(`${file} imports ${target}`)
    }
  }
  t.same(wrong, [], 'each import is one that rooms.ts lists')
  const idle = Object.entries(rooms).flatMap(([room, may]) =>
    may.filter(name => name !== 'control' && !used.has(`${room}: ${name}`)).map(name => `${room}: ${name}`),
  )
  t.same(idle, [], 'each line of rooms.ts is used')
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
  await t.test('rooms import the rooms that are listed', async t => roomsAreKept(t, sources))
  await t.test('a package is imported at home', async t => packagesAtHome(t, sources))
  await t.test('what reaches out of the process is imported at home', async t => modulesAtHome(t, sources))
  await t.test('time, chance, environment and console are passed in', async t => surroundingsAtHome(t, sources))
}
