import { globSync } from 'node:fs'
import { relative, resolve } from 'node:path'

/**
 * Paths from `root` of the test files that the arguments of test/run.ts choose: all of them, those with a part in their
 * path (`--only part`), or those that are named, from `cwd`.
 */
export const testFiles = (root: string, cwd: string, [flag, ...rest]: readonly string[]): string[] => {
  const all = globSync('test/**/*.test.ts', { cwd: root }).sort()
  if (flag === undefined) return all
  if (flag === '--only') return all.filter(file => file.includes(rest.join(' ')))
  return [flag, ...rest].map(file => relative(root, resolve(cwd, file)))
}
