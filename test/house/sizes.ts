/** No file has two jobs and no function two thoughts: how long they may be. */
import { globSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { longFiles, longFunctions } from './exceptions.ts'
import { root, type Source } from './sources.ts'

const maxLines = 400
const maxLinesOfC = 400
const maxLinesOfFunction = 60
/** Nine files in ten are not longer. */
const maxLinesOfMost = 250

/** Fails what is longer than `max` and than its exception, and exceptions that are not needed. */
const hold = (
  t: Test,
  found: ReadonlyMap<string, number>,
  max: number,
  exceptions: Readonly<Record<string, number>>,
): void => {
  const long = [...found].filter(([name, lines]) => lines > Math.max(max, exceptions[name] ?? 0))
  t.same(long, [], `at most ${max} lines`)
}

const needed = (
  t: Test,
  found: ReadonlyMap<string, number>,
  maxOf: (name: string) => number,
  exceptions: Readonly<Record<string, number>>,
): void => {
  const idle = Object.keys(exceptions).filter(name => (found.get(name) ?? 0) <= maxOf(name))
  t.same(idle, [], 'every exception is needed; take the others out of exceptions.ts')
}

const isC = (file: string): boolean => /\.[ch]$/.test(file)

const files = (t: Test, sources: readonly Source[]): void => {
  const others = globSync('{daemon,control,images}/**/*.{c,h,sh}', { cwd: root, exclude: ['**/node_modules/**'] })
  const lines = new Map([
    ...sources.map(({ file, lines }) => [file, lines] as const),
    ...others.map(file => [file, readFileSync(root + file, 'utf8').split('\n').length - 1] as const),
  ])
  hold(t, new Map([...lines].filter(([file]) => !isC(file))), maxLines, longFiles)
  hold(t, new Map([...lines].filter(([file]) => isC(file))), maxLinesOfC, longFiles)
  needed(t, lines, file => (isC(file) ? maxLinesOfC : maxLines), longFiles)
  const sorted = sources.map(({ lines }) => lines).toSorted((a, b) => a - b)
  const share = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] as number
  const figures = `${sorted.length} files, median ${share(0.5)} lines, nine in ten at most ${share(0.9)}, the longest ${share(1)}`
  t.comment(figures)
  t.ok(share(0.9) <= maxLinesOfMost, `nine files in ten have at most ${maxLinesOfMost} lines: ${figures}`)
}

const functions = (t: Test, sources: readonly Source[]): void => {
  const longest = new Map<string, number>()
  for (const { name, lines } of sources.flatMap(({ functions }) => functions))
    longest.set(name, Math.max(longest.get(name) ?? 0, lines))
  hold(t, longest, maxLinesOfFunction, longFunctions)
  needed(t, longest, () => maxLinesOfFunction, longFunctions)
  t.comment(`${Object.keys(longFunctions).length} functions are longer than ${maxLinesOfFunction} lines`)
}

export const sizeRules = async (t: Test, sources: readonly Source[]): Promise<void> => {
  await t.test('files are short', async t => files(t, sources))
  await t.test('functions are short', async t => functions(t, sources))
}
