/** An export is for somebody: another source imports it. Tests do not count, or what nobody needs would live on in them. */
import type { Test } from 'tap'
import { openedForTests, usedByGeneratedCode } from './exceptions.ts'
import type { Source } from './sources.ts'

/** What `package.json` exports: everything there is for users of the package. */
const faces: readonly string[] = ['control/index.ts']

interface Idle {
  readonly file: string
  readonly name: string
  readonly typeOnly: boolean
}

/** Exports that no other source imports. */
const idleExports = (sources: readonly Source[]): Idle[] => {
  const used = new Map<string, Set<string>>()
  for (const { imports } of sources)
    for (const { target, names } of imports)
      if (target) used.set(target, new Set([...(used.get(target) ?? []), ...names]))
  return sources
    .filter(({ file }) => !faces.includes(file))
    .flatMap(({ file, exports }) => {
      const by = used.get(file)
      return exports.filter(({ name }) => !by?.has('*') && !by?.has(name)).map(one => ({ file, ...one }))
    })
}

export const exportRules = async (t: Test, sources: readonly Source[]): Promise<void> => {
  const idle = idleExports(sources)
  const text = (found: readonly Idle[]) => found.map(({ file, name }) => `${file}: ${name}`)

  await t.test('what is exported is imported by another source', async t => {
    const values = idle.filter(({ typeOnly }) => !typeOnly)
    const excused = [...openedForTests, ...usedByGeneratedCode]
    t.same(
      text(values.filter(({ name }) => !excused.includes(name))),
      [],
      'export nothing that only this file or a test uses',
    )
    t.same(
      excused.filter(name => !values.some(one => one.name === name)),
      [],
      'every exception is needed',
    )
  })

  // A type that says what an exported function takes or gives may be exported with it.
  await t.test('a type is mentioned somewhere', async t => {
    const mentioned = new Map(sources.map(({ file, mentions }) => [file, mentions]))
    const types = idle.filter(({ file, name, typeOnly }) => typeOnly && (mentioned.get(file)?.get(name) ?? 0) < 2)
    t.same(text(types), [])
  })
}
