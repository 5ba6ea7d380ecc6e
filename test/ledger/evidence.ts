/** Whether what a row names as its evidence is there: the file, the sub-test, and that the test drives real parts. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, type Row } from '../ledger.ts'

/** Modules that start a whole server, a whole host or hutchd. */
const starters = ['server.ts', 'whole-host.ts', 'host.ts', 'real-daemon.ts'].map(name => `test/support/${name}`)

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** `file` and the modules of test/ that it imports, directly or not; suites and tours stand in these. */
const modulesOf = (file: string, found = new Set<string>()): Set<string> => {
  if (found.has(file) || !existsSync(join(root, file))) return found
  found.add(file)
  for (const [, path = ''] of read(file).matchAll(/^(?:import|export) [^'"]*?from '(\.[^']+)'/gm)) {
    const target = join(dirname(file), path)
    if (target.startsWith('test/')) modulesOf(target, found)
  }
  return found
}

const literal = String.raw`(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|\`((?:[^\`\\]|\\.)*)\`)`

interface Named {
  /** Names of the sub-tests that are written out. */
  readonly tests: ReadonlySet<string>
  readonly todos: ReadonlySet<string>
  /** Every text of a file that gives its sub-tests names from a table. */
  readonly table: ReadonlySet<string>
}

const plain = (quoted: string): string => quoted.replaceAll(/\\(.)/g, '$1')

/** The names that the sub-tests in `text` have. */
export const namesIn = (text: string): Named => {
  const tests = new Set<string>()
  const todos = new Set<string>()
  for (const [, single, double, template, rest = ''] of text.matchAll(
    new RegExp(String.raw`\.test\(\s*${literal}(?=([^]{0,120}))`, 'g'),
  )) {
    const name = plain(single ?? double ?? template ?? '')
    if (/^\s*,\s*\{[^{}]*\btodo\b/.test(rest)) todos.add(name)
    else tests.add(name)
  }
  const isTable = /\.test\(\s*[\w.]+\s*,/.test(text)
  const texts = isTable ? [...text.matchAll(new RegExp(literal, 'g'))] : []
  return { tests, todos, table: new Set(texts.map(([, a, b, c]) => plain(a ?? b ?? c ?? ''))) }
}

/** Whether a test of this file counts as end-to-end. */
const drivesRealParts = (file: string, modules: ReadonlySet<string>): boolean =>
  file.startsWith('test/e2e/') || starters.some(starter => modules.has(starter))

/** What is wrong with the evidence of a row, or undefined. */
export const problemOf = ({ operation, seen, refusedBy }: Row): string | undefined => {
  if (refusedBy && !existsSync(join(root, refusedBy))) return `${operation}: there is no decision ${refusedBy}`
  if (!seen) return undefined
  const { file, name } = seen
  if (!existsSync(join(root, file))) return `${operation}: there is no file ${file}`
  if (!file.endsWith('.test.ts')) return `${operation}: ${file} is not part of make test`
  const modules = modulesOf(file)
  if (!drivesRealParts(file, modules)) return `${operation}: ${file} starts neither a server, a host nor hutchd`
  const named = [...modules].map(module => namesIn(read(module)))
  if (named.some(({ todos }) => todos.has(name))) return `${operation}: "${name}" is marked todo`
  // A table and the loop over it may stand in two modules.
  const fromTable =
    named.some(({ table }) => table.size > 0) && [...modules].some(one => read(one).includes(`'${name}'`))
  if (named.some(({ tests }) => tests.has(name)) || fromTable) return undefined
  return `${operation}: ${file} has no sub-test "${name}"`
}
